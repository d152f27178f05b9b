#include "server/store/sqlite.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <utility>

#include "proto/support/error.h"
#include "proto/support/paths.h"
#include "server/store/backup.h"
#include "server/store/check.h"
#include "server/store/data_dir_lock.h"
#include "server/store/devices.h"
#include "server/store/migrations.h"
#include "server/store/prune.h"
#include "server/store/read_durations.h"
#include "server/store/read_jobs.h"
#include "server/store/read_results.h"
#include "server/store/readers.h"
#include "server/store/writer.h"

namespace kbench::store {
namespace {

// Each look at the whole store has a connection of its own: the pool's are for quick questions.
class SqliteUpkeep final : public Upkeep {
 public:
  SqliteUpkeep(std::string path, const char* vfs, Writer& writer)
      : path_(std::move(path)), vfs_(vfs), writer_(writer) {}

  absl::StatusOr<std::int64_t> Backup(const std::string& dir) override {
    KB_ASSIGN_OR_RETURN(const auto db, Database::Open(path_, Database::Access::kReadOnly, vfs_));
    return BackUpDatabase(*db, dir);
  }
  absl::StatusOr<std::vector<std::string>> Check() override {
    return Look([](Database& db) { return FindProblems(db); });
  }
  absl::StatusOr<std::map<std::string, std::int64_t>> Bytes() override {
    KB_ASSIGN_OR_RETURN(KeptBytes bytes, Look([](Database& db) { return ReadKeptBytes(db); }));
    std::error_code error;
    const auto size = [&](const std::string& path) {
      const auto bytes_of = std::filesystem::file_size(path, error);
      return error ? 0 : static_cast<std::int64_t>(bytes_of);
    };
    bytes["database"] = size(path_);
    bytes["wal"] = size(path_ + "-wal");
    return bytes;
  }
  absl::StatusOr<bool> Prune(const Retention& retention, double now,
                             std::map<std::string, std::int64_t>& bytes) override {
    KB_ASSIGN_OR_RETURN(const Drops drops, Look([&](Database& db) {
                          return finder_.Find(db, retention, now, bytes);
                        }));
    if (drops.empty()) return false;
    std::promise<absl::Status> promise;
    writer_.EnqueueUpkeep([&](Database& db) { return Drop(db, drops, bytes); },
                          [&](const absl::Status& status) { promise.set_value(status); });
    KB_RETURN_IF_ERROR(promise.get_future().get());
    return true;
  }

 private:
  template <typename F>
  auto Look(F look) -> decltype(look(std::declval<Database&>())) {
    KB_ASSIGN_OR_RETURN(const auto db, Database::Open(path_, Database::Access::kReadOnly, vfs_));
    KB_RETURN_IF_ERROR(db->Execute("BEGIN"));
    return look(*db);
  }

  const std::string path_;
  const char* const vfs_;
  Writer& writer_;
  DropFinder finder_;  // Prune is called from one thread
};

class SqliteStore final : public Store {
 public:
  SqliteStore(std::unique_ptr<DataDirLock> lock, std::unique_ptr<ReaderPool> readers,
              std::unique_ptr<Database> db, std::unique_ptr<Database> checkpoints,
              const SqliteOptions& options)
      : lock_(std::move(lock)),
        path_(db->path()),
        writer_(std::move(db), std::make_unique<Checkpointer>(std::move(checkpoints)),
                options.observe_commit),
        readers_(std::move(readers)),
        upkeep_(path_, options.vfs, writer_) {}

  void Commit(Batch batch, Committed done) override {
    writer_.Enqueue(std::move(batch), std::move(done));
  }
  absl::StatusOr<std::optional<Request>> FindRequest(const std::string& request_id) override {
    return Read([&](Database& db) { return ReadRequest(db, request_id); });
  }
  absl::StatusOr<kbench::v1::Job> GetJob(const std::string& name, bool with_results) override {
    return Read([&](Database& db) { return ReadJob(db, name, with_results); });
  }
  absl::StatusOr<JobPage> ListJobs(const JobFilter& filter) override {
    return Read([&](Database& db) { return ReadJobs(db, filter); });
  }
  absl::StatusOr<std::vector<kbench::v1::JobEvent>> ReadEvents(const std::string& job,
                                                               std::int64_t after_sequence,
                                                               int most) override {
    return Read([&](Database& db) { return ReadJobEvents(db, job, after_sequence, most); });
  }
  absl::StatusOr<kbench::v1::Result> GetResult(const std::string& name) override {
    return Read([&](Database& db) { return ReadResult(db, name); });
  }
  absl::StatusOr<ResultPage> ListResults(const ResultFilter& filter) override {
    return Read([&](Database& db) { return ReadResults(db, filter); });
  }
  absl::StatusOr<std::vector<kbench::v1::Result>> LatestResults(int most) override {
    return Read([&](Database& db) { return ReadLatestResults(db, most); });
  }
  absl::StatusOr<std::vector<Measured>> FindMeasured(const MeasuredFilter& filter) override {
    return Read([&](Database& db) { return ReadMeasured(db, filter); });
  }
  absl::StatusOr<std::vector<Deaths>> DeathsSince(double since) override {
    return Read([&](Database& db) { return ReadDeaths(db, since); });
  }
  absl::StatusOr<std::vector<CaseDuration>> RecentDurations(int most_results) override {
    return Read([&](Database& db) { return ReadRecentDurations(db, most_results); });
  }
  absl::StatusOr<std::vector<kbench::v1::Artifact>> ListArtifacts(const std::string& job) override {
    return Read([&](Database& db) { return ReadArtifacts(db, job); });
  }
  absl::StatusOr<kbench::v1::Artifact> GetArtifact(const std::string& name) override {
    return Read([&](Database& db) { return ReadArtifact(db, name); });
  }
  absl::StatusOr<Restored> Restore() override {
    return Read([](Database& db) { return ReadForRestore(db); });
  }
  absl::StatusOr<StoredDevices> ReadDevices() override {
    return Read([](Database& db) { return store::ReadDevices(db); });
  }
  absl::StatusOr<std::vector<Record>> ReadRecords(const std::string& kind) override {
    return Read([&](Database& db) { return store::ReadRecords(db, kind); });
  }
  Upkeep& upkeep() override { return upkeep_; }

 private:
  template <typename F>
  auto Read(F read) -> decltype(read(std::declval<Database&>())) {
    KB_ASSIGN_OR_RETURN(ReaderPool::Lease lease, readers_->Borrow());
    return read(*lease);
  }

  std::unique_ptr<DataDirLock> lock_;
  const std::string path_;
  Writer writer_;
  // Closed before the writer's connection: the last one to close moves the log into the file, which
  // a reader cannot.
  std::unique_ptr<ReaderPool> readers_;
  SqliteUpkeep upkeep_;
};

// Zeros behind what the log holds: no frame, so that SQLite overwrites them. The log has no locks,
// which closing it here could drop. Where this fails, the log grows as usual.
void ExtendLog(const std::string& path, std::int64_t bytes) {
  const int fd = open((path + "-wal").c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  struct stat info = {};
  const std::string zeros(1 << 20, '\0');
  std::int64_t size = fstat(fd, &info) == 0 ? info.st_size : bytes;
  while (size < bytes) {
    const auto part = std::min<std::int64_t>(bytes - size, static_cast<std::int64_t>(zeros.size()));
    const ssize_t written = pwrite(fd, zeros.data(), static_cast<std::size_t>(part), size);
    if (written <= 0) break;
    size += written;
  }
  fdatasync(fd);
  close(fd);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> OpenSqliteStore(const SqliteOptions& options) {
  KB_RETURN_IF_ERROR(EnsureWritableDir(options.data_dir));
  KB_ASSIGN_OR_RETURN(auto lock, DataDirLock::Take(options.data_dir));
  const std::string path = options.data_dir + "/kbench.db";
  constexpr auto kReadWrite = Database::Access::kReadWrite;
  KB_ASSIGN_OR_RETURN(auto db, Database::Open(path, kReadWrite, options.vfs));
  KB_RETURN_IF_ERROR(QuickCheck(*db));
  KB_RETURN_IF_ERROR(Migrate(*db));
  ExtendLog(path, options.log_bytes);
  KB_ASSIGN_OR_RETURN(auto checkpoints, Database::Open(path, kReadWrite, options.vfs));
  KB_ASSIGN_OR_RETURN(auto readers, ReaderPool::Open(path, options.readers, options.vfs));
  return std::make_unique<SqliteStore>(std::move(lock), std::move(readers), std::move(db),
                                       std::move(checkpoints), options);
}

}  // namespace kbench::store
