// Backups, restores, checks and retention of the SQLite store.
#include "server/store/upkeep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "proto/support/error.h"
#include "server/store/backup.h"
#include "server/store/sqlite.h"
#include "tests/server/store/conformance.h"
#include "tests/server/store/temp_dir.h"

namespace kbench::store {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kNow = 1'800'000'000;

std::unique_ptr<Store> MustOpen(const std::string& dir) {
  auto store = OpenSqliteStore({.data_dir = dir});
  EXPECT_TRUE(store.ok()) << store.status();
  return store.ok() ? *std::move(store) : nullptr;
}

void Sql(const std::string& path, const std::string& sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  char* error = nullptr;
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error;
  sqlite3_close(db);
}

void AddArtifact(Batch& batch, const std::string& name, std::size_t bytes,
                 const std::string& type = "application/json") {
  kbench::v1::Artifact& artifact = batch.artifacts.emplace_back();
  artifact.set_name("artifacts/" + name);
  artifact.set_media_type(type);
  artifact.set_content(std::string(bytes, name.back()));
}

// A job of one case that ended at `ended`, with a result of `implementation`, samples, a log and
// two events.
void AddEndedJob(Store& store, const std::string& id, double ended,
                 const std::string& implementation) {
  static int order = 0;
  const std::string name = "jobs/" + id;
  Batch batch = JobBatch(MakeJob(name, 1, ++order));
  scheduler::Case item;
  item.ref = {name, 0};
  item.state = scheduler::State::kSucceeded;
  item.attempts = 1;
  item.ended_at = ended;
  batch.cases.push_back({item});
  scheduler::JobTransition end;
  end.job = name;
  end.state = scheduler::State::kSucceeded;
  end.started_at = ended - 1;
  end.ended_at = ended;
  batch.jobs.push_back(end);
  batch.results.push_back(MakeResult(name, 0, 0, implementation, 1e-3));
  AddArtifact(batch, id + "-0-samples-" + implementation + ".json", 10'000);
  AddArtifact(batch, id + "-0-log-" + implementation + ".txt", 1000, "text/plain");
  NewEvent event;
  event.job = name;
  event.event.mutable_case_changed()->set_state(kbench::v1::JOB_STATE_SUCCEEDED);
  batch.events.push_back(event);
  event.event.mutable_final();
  batch.events.push_back(event);
  ASSERT_TRUE(CommitNow(store, std::move(batch)).first.ok());
}

int Prune(Store& store, const Retention& retention) {
  auto bytes = store.upkeep().Bytes();
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  for (int steps = 0;; ++steps) {
    const auto more = store.upkeep().Prune(retention, kNow, *bytes);
    EXPECT_TRUE(more.ok()) << more.status();
    if (!more.ok() || !*more || steps > 1000) return steps;
  }
}

Retention KeepAll() {
  Retention retention;
  for (Keep& keep : retention.keep) keep = {};
  return retention;
}

TEST(Retention, TheOldestGoAndWhatTheNewestResultOfACellNeedsStays) {
  TempDir dir;
  const auto store = MustOpen(dir.path());
  AddEndedJob(*store, "old", kNow - 100 * Retention::kDay, "cublas");
  AddEndedJob(*store, "only", kNow - 99 * Retention::kDay, "triton");  // nothing newer of it
  AddEndedJob(*store, "new", kNow - 1, "cublas");
  ASSERT_TRUE(CommitNow(*store, JobBatch(MakeJob("jobs/waits", 1, 100))).first.ok());
  EXPECT_EQ(Prune(*store, KeepAll()), 0) << "without bounds everything stays";
  Retention retention = KeepAll();
  retention.Of(Kind::kSamples).seconds = 90 * Retention::kDay;
  EXPECT_GT(Prune(*store, retention), 0);
  EXPECT_FALSE(store->GetArtifact("artifacts/old-0-samples-cublas.json").ok());
  EXPECT_TRUE(store->GetArtifact("artifacts/old-0-log-cublas.txt").ok()) << "another kind";
  EXPECT_TRUE(store->GetArtifact("artifacts/only-0-samples-triton.json").ok());
  EXPECT_TRUE(store->GetArtifact("artifacts/new-0-samples-cublas.json").ok());
  EXPECT_TRUE(store->GetResult("results/old-0-0").ok()) << "results are kept";
  EXPECT_THAT(*store->upkeep().Check(), IsEmpty());
}

TEST(Retention, ACapDropsTheOldestUntilTheRestFits) {
  TempDir dir;
  const auto store = MustOpen(dir.path());
  for (int i = 0; i < 10; ++i) {
    AddEndedJob(*store, "j" + std::to_string(i), kNow - 100 + i, "cublas");
  }
  Retention retention = KeepAll();
  retention.Of(Kind::kSamples).bytes = 1;  // less than one
  retention.Of(Kind::kLogs).bytes = 1 << 30;
  EXPECT_GT(Prune(*store, retention), 0);
  const auto bytes = store->upkeep().Bytes();
  EXPECT_EQ(bytes->at("samples"), 10'000) << "that of the newest result stays all the same";
  EXPECT_EQ(bytes->at("logs"), 10 * 1000);
  EXPECT_TRUE(store->GetArtifact("artifacts/j9-0-samples-cublas.json").ok());
}

TEST(Retention, EventsOfEndedJobsGoAndTheRestIsWithoutAGap) {
  TempDir dir;
  const auto store = MustOpen(dir.path());
  AddEndedJob(*store, "old", kNow - 100 * Retention::kDay, "cublas");
  AddEndedJob(*store, "new", kNow - 1, "cublas");
  Retention retention = KeepAll();
  retention.Of(Kind::kEvents).seconds = Retention::kDay;
  EXPECT_GT(Prune(*store, retention), 0);
  EXPECT_THAT(*store->ReadEvents("jobs/old", 0, 100), IsEmpty());
  EXPECT_EQ(store->ReadEvents("jobs/new", 0, 100)->size(), 2u);
  EXPECT_EQ(store->GetJob("jobs/old", true)->last_sequence(), 2);
  EXPECT_THAT(*store->upkeep().Check(), IsEmpty());
}

TEST(Retention, CodeGoesWithItsLastArtifactAndTheFileShrinks) {
  TempDir dir;
  const auto store = MustOpen(dir.path());
  for (const char* id : {"a", "b"}) {
    AddEndedJob(*store, id, kNow - 100 * Retention::kDay, "cublas");
    Batch batch;
    AddArtifact(batch, std::string(id) + "-0-x.cubin", 8 << 20, "application/x-cubin");
    batch.artifacts.back().set_content(std::string(8 << 20, 'c'));  // the same in both
    ASSERT_TRUE(CommitNow(*store, std::move(batch)).first.ok());
  }
  AddEndedJob(*store, "c", kNow - 1, "cublas");
  EXPECT_EQ(store->upkeep().Bytes()->at("artifacts"), 8 << 20);
  Retention retention = KeepAll();
  retention.Of(Kind::kArtifacts).seconds = Retention::kDay;
  EXPECT_GT(Prune(*store, retention), 0);
  EXPECT_EQ(store->upkeep().Bytes()->at("artifacts"), 0);
  // The freed pages leave the file with the next checkpoint.
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open((dir / "kbench.db").c_str(), &db), SQLITE_OK);
  sqlite3_wal_checkpoint_v2(db, nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  sqlite3_close(db);
  EXPECT_LT(store->upkeep().Bytes()->at("database"), 6 << 20);
}

TEST(Retention, TheGrammarOfBounds) {
  EXPECT_EQ(ParseKeep("30d")->seconds, 30 * Retention::kDay);
  EXPECT_EQ(ParseKeep("4GiB")->bytes, 4 * Retention::kGiB);
  EXPECT_EQ(KeepText(*ParseKeep("12h,512MiB")), "12h,512MiB");
  EXPECT_EQ(KeepText(*ParseKeep("forever")), "forever");
  for (const char* bad : {"", "30", "d", "-1d", "0d", "30d,", "30d,2h", "1e3d", "4GB", " 30d",
                          "99999999999999999999d", "9999999999TiB"}) {
    const auto keep = ParseKeep(bad);
    EXPECT_EQ(keep.status().code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_THAT(MessageOf(keep.status()), HasSubstr("30d,4GiB")) << bad;
  }
}

TEST(Backup, IsConsistentWhileOthersWrite) {
  TempDir dir;
  const auto store = MustOpen(dir / "data");
  std::atomic<bool> stop = false;
  std::atomic<int> written = 0;
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) {
      AddEndedJob(*store, "w" + std::to_string(i), kNow, "cublas");
      ++written;
    }
  });
  while (written < 20) std::this_thread::yield();
  const int before = written;
  const auto size = store->upkeep().Backup(dir / "copy");
  const int after = written;
  stop = true;
  writer.join();
  ASSERT_TRUE(size.ok()) << size.status();
  EXPECT_EQ(static_cast<std::uintmax_t>(*size), std::filesystem::file_size(dir / "copy/kbench.db"));
  EXPECT_FALSE(std::filesystem::exists(dir / "copy.partial"));
  EXPECT_EQ(store->upkeep().Backup(dir / "copy").status().code(), absl::StatusCode::kAlreadyExists);

  const auto line = RestoreBackup(dir / "copy", dir / "other", false, 5);
  ASSERT_TRUE(line.ok()) << line.status();
  const auto restored = MustOpen(dir / "other");
  EXPECT_THAT(*restored->upkeep().Check(), IsEmpty());
  EXPECT_TRUE(restored->GetJob("jobs/w" + std::to_string(before - 1), true).ok());
  EXPECT_FALSE(restored->GetJob("jobs/w" + std::to_string(after + 1), true).ok());
}

TEST(Backup, ARestoreRaisesEpochsAndRefusesWhatItWouldHarm) {
  TempDir dir;
  {
    const auto store = MustOpen(dir / "data");
    AddEndedJob(*store, "a", kNow, "cublas");
    ASSERT_TRUE(store->upkeep().Backup(dir / "copy").ok());
    const auto running = RestoreBackup(dir / "copy", dir / "data", true, 5);
    EXPECT_EQ(DetailsOf(running.status()).reason, "DATA_DIR_IN_USE");
    AddEndedJob(*store, "b", kNow, "cublas");
  }
  const auto there = RestoreBackup(dir / "copy", dir / "data", false, 5);
  EXPECT_EQ(DetailsOf(there.status()).reason, "STORE_EXISTS");
  EXPECT_THAT(MessageOf(there.status()), HasSubstr("--force"));
  EXPECT_EQ(DetailsOf(RestoreBackup(dir / "none", dir / "data", true, 5).status()).reason,
            "NO_BACKUP");
  ASSERT_TRUE(RestoreBackup(dir / "copy", dir / "data", true, 1'000'000).ok());
  EXPECT_TRUE(std::filesystem::exists(dir / "data/kbench.db.replaced"));
  const auto store = MustOpen(dir / "data");
  EXPECT_TRUE(store->GetJob("jobs/a", true).ok());
  EXPECT_FALSE(store->GetJob("jobs/b", true).ok());
  EXPECT_EQ(store->Restore()->next_epoch, 1'000'000);
  Batch batch;
  batch.next_epoch = 2'000'000;
  ASSERT_TRUE(CommitNow(*store, std::move(batch)).first.ok());
  EXPECT_EQ(store->Restore()->next_epoch, 2'000'000);
}

TEST(Backup, ADamagedOneIsNotRestored) {
  TempDir dir;
  {
    const auto store = MustOpen(dir / "data");
    AddEndedJob(*store, "a", kNow, "cublas");
    ASSERT_TRUE(store->upkeep().Backup(dir / "copy").ok());
  }
  Sql(dir / "copy/kbench.db", "DELETE FROM events WHERE sequence = 1; UPDATE jobs SET state = 0");
  const auto line = RestoreBackup(dir / "copy", dir / "other", false, 5);
  EXPECT_EQ(DetailsOf(line.status()).reason, "BACKUP_DAMAGED");
  EXPECT_FALSE(std::filesystem::exists(dir / "other/kbench.db"));
}

TEST(Check, FindsWhatCannotBe) {
  const struct {
    const char* sql;
    const char* says;
  } harms[] = {
      {"DELETE FROM cases", "jobs/a has 0 cases instead of 1"},
      {"DELETE FROM cases WHERE 0; INSERT INTO cases (job, case_index, state) VALUES (1, 1, 2)",
       "jobs/a has 2 cases instead of 1"},
      {"UPDATE jobs SET state = 1", "jobs/a has an end"},
      {"UPDATE cases SET state = 0", "jobs/a has ended though a case has not"},
      {"UPDATE cases SET state = 1", "jobs/a case 0 has a lease and does not run"},
      {"UPDATE cases SET open_epoch = 99", "an epoch that was never given"},
      {"UPDATE results SET case_index = 7", "results/a-0-0 belongs to no case"},
      {"DELETE FROM events WHERE sequence = 2", "jobs/a has a gap in its events"},
      {"UPDATE jobs SET spec = x'ff'", "jobs/a cannot be read"},
      {"UPDATE jobs SET state = 9", "jobs/a has no known state"},
  };
  for (const auto& harm : harms) {
    TempDir dir;
    {
      const auto store = MustOpen(dir.path());
      AddEndedJob(*store, "a", kNow, "cublas");
      ASSERT_THAT(*store->upkeep().Check(), IsEmpty());
    }
    Sql(dir / "kbench.db", std::string("PRAGMA foreign_keys=OFF;") + harm.sql);
    const auto store = MustOpen(dir.path());
    const auto problems = store->upkeep().Check();
    ASSERT_TRUE(problems.ok()) << problems.status();
    EXPECT_THAT(*problems, ::testing::Contains(HasSubstr(harm.says))) << harm.sql;
  }
}

TEST(Check, ADamagedFileIsRefusedAtTheStart) {
  TempDir dir;
  {
    const auto store = MustOpen(dir.path());
    for (int i = 0; i < 50; ++i) AddEndedJob(*store, "j" + std::to_string(i), kNow, "cublas");
  }
  {
    std::fstream file(dir / "kbench.db", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(20 * 4096);
    file << std::string(4096, '\xa5');
  }
  const auto store = OpenSqliteStore({.data_dir = dir.path()});
  EXPECT_EQ(store.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(MessageOf(store.status()), HasSubstr("kbench-server restore"));
}

TEST(Check, AJobThatLacksACaseIsNotForgotten) {
  TempDir dir;
  {
    const auto store = MustOpen(dir.path());
    ASSERT_TRUE(CommitNow(*store, JobBatch(MakeJob("jobs/a", 3, 1))).first.ok());
  }
  Sql(dir / "kbench.db", "DELETE FROM cases WHERE case_index = 1");
  const auto restored = MustOpen(dir.path())->Restore();
  EXPECT_EQ(restored.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(MessageOf(restored.status()), HasSubstr("jobs/a"));
}

TEST(Restore, JobsThatAreTheSameShareTheirSpecification) {
  TempDir dir;
  const auto store = MustOpen(dir.path());
  for (int i = 0; i < 3; ++i) {
    NewJob job = MakeJob("jobs/" + std::to_string(i), i == 2 ? 2 : 1, i + 1);
    ASSERT_TRUE(CommitNow(*store, JobBatch(std::move(job))).first.ok());
  }
  const auto restored = store->Restore();
  ASSERT_TRUE(restored.ok());
  ASSERT_EQ(restored->specs.size(), 3u);
  EXPECT_EQ(restored->specs[0], restored->specs[1]);
  EXPECT_NE(restored->specs[0], restored->specs[2]);
  EXPECT_EQ(restored->jobs[0].owner, "ada");
  EXPECT_GT(restored->jobs[0].submitted_at, 1e9);
}

}  // namespace
}  // namespace kbench::store
