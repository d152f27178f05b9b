#include "server/store/sqlite.h"

#include <utility>

#include "proto/support/error.h"
#include "proto/support/paths.h"
#include "server/store/data_dir_lock.h"
#include "server/store/migrations.h"
#include "server/store/read_jobs.h"
#include "server/store/read_results.h"
#include "server/store/readers.h"
#include "server/store/writer.h"

namespace kbench::store {
namespace {

class SqliteStore final : public Store {
 public:
  SqliteStore(std::unique_ptr<DataDirLock> lock, std::unique_ptr<ReaderPool> readers,
              std::unique_ptr<Database> db, Writer::Observe observe)
      : lock_(std::move(lock)),
        writer_(std::move(db), std::move(observe)),
        readers_(std::move(readers)) {}

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
  absl::StatusOr<std::vector<Poisoned>> PoisonedSince(double since) override {
    return Read([&](Database& db) { return ReadPoisoned(db, since); });
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

 private:
  template <typename F>
  auto Read(F read) -> decltype(read(std::declval<Database&>())) {
    KB_ASSIGN_OR_RETURN(ReaderPool::Lease lease, readers_->Borrow());
    return read(*lease);
  }

  std::unique_ptr<DataDirLock> lock_;
  Writer writer_;
  // Closed before the writer's connection: the last one to close moves the log into the file, which
  // a reader cannot.
  std::unique_ptr<ReaderPool> readers_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> OpenSqliteStore(const SqliteOptions& options) {
  KB_RETURN_IF_ERROR(EnsureWritableDir(options.data_dir));
  KB_ASSIGN_OR_RETURN(auto lock, DataDirLock::Take(options.data_dir));
  const std::string path = options.data_dir + "/kbench.db";
  KB_ASSIGN_OR_RETURN(auto db, Database::Open(path, Database::Access::kReadWrite));
  KB_RETURN_IF_ERROR(Migrate(*db));
  KB_ASSIGN_OR_RETURN(auto readers, ReaderPool::Open(path, options.readers));
  return std::make_unique<SqliteStore>(std::move(lock), std::move(readers), std::move(db),
                                       options.observe_commit);
}

}  // namespace kbench::store
