// A store that fails and dawdles when a test tells it to. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/store/store.h"

namespace kbench::server {

// Passes everything on, except that commits fail while `down`, take `delay_seconds` more, and wait
// while `stuck`.
class FlakyStore final : public store::Store {
 public:
  explicit FlakyStore(std::unique_ptr<store::Store> inner) : inner_(std::move(inner)) {}
  std::atomic<bool> down = false;
  std::atomic<double> delay_seconds = 0;
  std::atomic<bool> stuck = false;
  std::atomic<int> waiting = 0;  // commits that wait because of that

  void Commit(store::Batch batch, store::Committed done) override {
    if (down) {
      // On the writer's thread and in order, as a real failure would come.
      inner_->Commit({}, [done](const absl::Status&, const auto&) {
        done(absl::UnavailableError("the disk is full"), {});
      });
      return;
    }
    if (delay_seconds > 0) {
      // On the writer's thread, before this one is written.
      inner_->Commit({}, [seconds = delay_seconds.load()](const absl::Status&, const auto&) {
        std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
      });
    }
    if (stuck) {
      inner_->Commit({}, [this](const absl::Status&, const auto&) {
        for (++waiting; stuck;) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        --waiting;
      });
    }
    inner_->Commit(std::move(batch), std::move(done));
  }
  absl::StatusOr<std::optional<store::Request>> FindRequest(const std::string& id) override {
    return inner_->FindRequest(id);
  }
  absl::StatusOr<v1::Job> GetJob(const std::string& name, bool with_results) override {
    return inner_->GetJob(name, with_results);
  }
  absl::StatusOr<store::JobPage> ListJobs(const store::JobFilter& filter) override {
    return inner_->ListJobs(filter);
  }
  absl::StatusOr<std::vector<v1::JobEvent>> ReadEvents(const std::string& job, std::int64_t after,
                                                       int most) override {
    return inner_->ReadEvents(job, after, most);
  }
  absl::StatusOr<v1::Result> GetResult(const std::string& name) override {
    return inner_->GetResult(name);
  }
  absl::StatusOr<store::ResultPage> ListResults(const store::ResultFilter& filter) override {
    return inner_->ListResults(filter);
  }
  absl::StatusOr<std::vector<v1::Result>> LatestResults(int most) override {
    return inner_->LatestResults(most);
  }
  absl::StatusOr<std::vector<store::Measured>> FindMeasured(
      const store::MeasuredFilter& filter) override {
    return inner_->FindMeasured(filter);
  }
  absl::StatusOr<std::vector<store::Deaths>> DeathsSince(double since) override {
    return inner_->DeathsSince(since);
  }
  absl::StatusOr<std::vector<v1::Artifact>> ListArtifacts(const std::string& job) override {
    return inner_->ListArtifacts(job);
  }
  absl::StatusOr<v1::Artifact> GetArtifact(const std::string& name) override {
    return inner_->GetArtifact(name);
  }
  absl::StatusOr<store::Restored> Restore() override { return inner_->Restore(); }
  absl::StatusOr<std::vector<store::CaseDuration>> RecentDurations(int most_results) override {
    return inner_->RecentDurations(most_results);
  }
  absl::StatusOr<store::StoredDevices> ReadDevices() override { return inner_->ReadDevices(); }
  absl::StatusOr<std::vector<store::Record>> ReadRecords(const std::string& kind) override {
    return inner_->ReadRecords(kind);
  }
  store::Upkeep& upkeep() override { return inner_->upkeep(); }

 private:
  std::unique_ptr<store::Store> inner_;
};

}  // namespace kbench::server
