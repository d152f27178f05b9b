// The SQLite back end: the conformance suite, and what is its own: durability across kill -9, group
// commit, data directories that cannot be used.
#include "server/store/sqlite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "proto/support/error.h"
#include "server/store/migrations.h"
#include "tests/server/store/conformance.h"
#include "tests/server/store/temp_dir.h"

namespace kbench::store {
namespace {

class SqliteBackend final : public Backend {
 public:
  absl::StatusOr<std::unique_ptr<Store>> Open() override {
    return OpenSqliteStore({.data_dir = dir_.path()});
  }

 private:
  TempDir dir_;
};

std::unique_ptr<Backend> MakeSqliteBackend() { return std::make_unique<SqliteBackend>(); }

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreConformance, ::testing::Values(&MakeSqliteBackend));

std::string OpenError(const std::string& data_dir) {
  const auto store = OpenSqliteStore({.data_dir = data_dir});
  EXPECT_FALSE(store.ok());
  const std::string message = MessageOf(store.status());
  EXPECT_EQ(message.find('\n'), std::string::npos) << "one line";
  return message;
}

void Sql(const std::string& path, const std::string& sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  char* error = nullptr;
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error;
  sqlite3_close(db);
}

// Commits without end and writes the number of each acknowledged job to `acknowledged`.
[[noreturn]] void CommitForEver(const std::string& data_dir, int acknowledged) {
  auto store = OpenSqliteStore({.data_dir = data_dir});
  if (!store.ok()) _exit(1);
  std::atomic<int> waiting = 0;
  for (int i = 0;; ++i) {
    while (waiting > 8) std::this_thread::yield();
    ++waiting;
    (*store)->Commit(JobBatch(MakeJob("jobs/" + std::to_string(i), 3, i + 1)),
                     [&waiting, acknowledged, i](const absl::Status& status, const auto&) {
                       if (!status.ok()) _exit(2);
                       if (write(acknowledged, &i, sizeof(i)) != sizeof(i)) _exit(3);
                       --waiting;
                     });
  }
}

TEST(SqliteStore, WhatWasAcknowledgedSurvivesKill9) {
  TempDir dir;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();  // no thread runs yet in this process
  if (child == 0) CommitForEver(dir.path(), ends[1]);
  close(ends[1]);
  int last = -1;
  while (last < 40 && read(ends[0], &last, sizeof(last)) == sizeof(last)) {
  }
  ASSERT_GE(last, 40);
  kill(child, SIGKILL);
  while (read(ends[0], &last, sizeof(last)) == sizeof(last)) {  // acknowledged before the end
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));

  const auto store = OpenSqliteStore({.data_dir = dir.path()});
  ASSERT_TRUE(store.ok()) << store.status();
  for (int i = 0; i <= last; ++i) {
    const auto job = (*store)->GetJob("jobs/" + std::to_string(i), false);
    ASSERT_TRUE(job.ok()) << job.status();
    EXPECT_EQ(job->cases_size(), 3);
  }
  const auto restored = (*store)->Restore();
  ASSERT_TRUE(restored.ok());
  EXPECT_GE(static_cast<int>(restored->jobs.size()), last + 1);
}

TEST(SqliteStore, BatchesThatWaitTogetherShareACommit) {
  TempDir dir;
  std::atomic<int> commits = 0;
  std::atomic<int> batches = 0;
  std::atomic<int> done = 0;
  {
    auto store =
        OpenSqliteStore({.data_dir = dir.path(), .observe_commit = [&](double seconds, int n) {
                           EXPECT_GE(seconds, 0);
                           ++commits;
                           batches += n;
                         }});
    ASSERT_TRUE(store.ok()) << store.status();
    constexpr int kBatches = 300;
    for (int i = 0; i < kBatches; ++i) {
      (*store)->Commit(JobBatch(MakeJob("jobs/" + std::to_string(i), 1, i + 1)),
                       [&](const absl::Status& status, const auto&) {
                         EXPECT_TRUE(status.ok()) << status;
                         ++done;
                       });
    }
  }  // writes what waits
  EXPECT_EQ(done, 300);
  EXPECT_EQ(batches, 300);
  EXPECT_LT(commits, 150) << "far fewer commits than batches";
}

TEST(SqliteStore, ADataDirectoryBelongsToOneProcess) {
  TempDir dir;
  const auto first = OpenSqliteStore({.data_dir = dir.path()});
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(OpenError(dir.path()),
              ::testing::AllOf(::testing::HasSubstr("another kbench-server (pid " +
                                                    std::to_string(getpid()) + ")"),
                               ::testing::HasSubstr(dir.path())));
}

TEST(SqliteStore, AFolderThatCannotBeWrittenIsOneLine) {
  TempDir dir;
  std::ofstream(dir / "file") << "x";
  EXPECT_THAT(OpenError(dir / "file/data"), ::testing::HasSubstr("file"));
  EXPECT_THAT(OpenError("/proc/kbench"), ::testing::HasSubstr("/proc/kbench"));
  if (geteuid() == 0) GTEST_SKIP() << "root may write to a read-only folder";
  ASSERT_EQ(chmod(dir.path().c_str(), 0500), 0);
  EXPECT_THAT(OpenError(dir.path()), ::testing::HasSubstr(dir.path()));
  ASSERT_EQ(chmod(dir.path().c_str(), 0700), 0);
}

TEST(SqliteStore, AFileThatIsNoDatabaseIsOneLine) {
  TempDir dir;
  std::ofstream(dir / "kbench.db") << std::string(10000, 'x');
  EXPECT_THAT(OpenError(dir.path()), ::testing::HasSubstr("not a kbench database"));
}

TEST(SqliteStore, ADamagedDatabaseIsAnErrorNotACrash) {
  TempDir dir;
  {
    auto store = OpenSqliteStore({.data_dir = dir.path()});
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE(
          CommitNow(**store, JobBatch(MakeJob("jobs/" + std::to_string(i), 9, i + 1))).first.ok());
    }
  }
  {
    std::fstream file(dir / "kbench.db", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(0, std::ios::end);
    const auto size = static_cast<std::streamoff>(file.tellp());
    ASSERT_GT(size, 3 * 4096);
    for (std::streamoff page = 2 * 4096; page + 4096 <= size; page += 4096) {
      file.seekp(page);
      file << std::string(4096, '\xa5');
    }
  }
  const auto store = OpenSqliteStore({.data_dir = dir.path()});
  const absl::Status status = store.ok() ? (*store)->Restore().status() : store.status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
}

TEST(SqliteStore, TheSameCodeIsKeptOnce) {
  TempDir dir;
  {
    auto store = OpenSqliteStore({.data_dir = dir.path()});
    Batch batch = JobBatch(MakeJob("jobs/a", 1, 1));
    for (const char* name : {"artifacts/a-0-x.cubin", "artifacts/a-1-x.cubin"}) {
      kbench::v1::Artifact& artifact = batch.artifacts.emplace_back();
      artifact.set_name(name);
      artifact.set_media_type("application/x-cubin");
      artifact.set_content("code");
    }
    ASSERT_TRUE(CommitNow(**store, std::move(batch)).first.ok());
  }
  // The constraint is the check.
  Sql(dir / "kbench.db",
      "CREATE TABLE one (n INTEGER CHECK (n = 1)); INSERT INTO one SELECT count(*) FROM contents; "
      "INSERT INTO one SELECT count(*) = 2 FROM artifacts WHERE length(content) = 0");
}

// A database as the first `steps` migrations made it, with a job and an artifact.
void MakeOldDatabase(const std::string& path, std::size_t steps) {
  std::string sql;
  for (std::size_t i = 0; i < steps; ++i) sql += Migrations()[i] + ";";
  Sql(path, sql +
                "INSERT INTO jobs (name, owner, request_digest, spec, created_at, priority, "
                "line_order, device, queue_deadline) VALUES ('jobs/a', 'ada', '', x'', 1, 500, 1, "
                "'', 0); INSERT INTO cases (job, case_index) VALUES (1, 0);"
                "INSERT INTO artifacts (name, job, media_type, size_bytes, content) VALUES "
                "('artifacts/a-0-x', 1, 'text/plain', 3, x'616263');"
                "PRAGMA application_id=1801610606; PRAGMA user_version=" +
                std::to_string(steps));
}

TEST(SqliteStore, EveryOlderSchemaIsBroughtUpToDate) {
  for (std::size_t steps = 1; steps <= Migrations().size(); ++steps) {
    TempDir dir;
    MakeOldDatabase(dir / "kbench.db", steps);
    auto store = OpenSqliteStore({.data_dir = dir.path()});
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_EQ((*store)->GetArtifact("artifacts/a-0-x")->content(), "abc");
    EXPECT_EQ((*store)->GetJob("jobs/a", true)->cases_size(), 1);
    EXPECT_EQ((*store)->Restore()->jobs.size(), 1u);
  }
}

TEST(SqliteStore, ANewerSchemaOrAForeignDatabaseIsRefused) {
  TempDir dir;
  { ASSERT_TRUE(OpenSqliteStore({.data_dir = dir.path()}).ok()); }
  Sql(dir / "kbench.db", "PRAGMA user_version=999");
  EXPECT_THAT(OpenError(dir.path()), ::testing::HasSubstr("newer kbench (schema 999"));
  TempDir foreign;
  Sql(foreign / "kbench.db", "CREATE TABLE cookies (id INTEGER)");
  EXPECT_THAT(OpenError(foreign.path()), ::testing::HasSubstr("another program's database"));
}

}  // namespace
}  // namespace kbench::store
