// The coordinator on a store that fails: nothing is acknowledged that is not on disk, and when the
// store is back the work goes on from what it holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "proto/support/error.h"
#include "server/rpc/coordinator.h"
#include "server/store/sqlite.h"
#include "tests/server/rpc/flaky_store.h"
#include "tests/server/rpc/harness.h"

namespace kbench::server {
namespace {

class RecordingLink final : public WorkerLink {
 public:
  void Send(v1::CoordinatorMessage message) override {
    MutexLock lock(mutex_);
    sent_.push_back(std::move(message));
    changed_.NotifyAll();
  }
  void Close(const absl::Status& status) override {
    MutexLock lock(mutex_);
    if (!closed_) closed_ = status;
    changed_.NotifyAll();
  }
  // The first message that `is` accepts; fails the test after 10 s.
  template <typename Is>
  v1::CoordinatorMessage Wait(Is is) {
    MutexLock lock(mutex_);
    for (int i = 0; i < 100; ++i) {
      for (const auto& message : sent_) {
        if (is(message)) return message;
      }
      changed_.WaitFor(mutex_, 0.1);
    }
    ADD_FAILURE() << "the message did not come";
    return {};
  }
  absl::Status WaitClosed() {
    MutexLock lock(mutex_);
    for (int i = 0; i < 100 && !closed_; ++i) changed_.WaitFor(mutex_, 0.1);
    return closed_ ? *closed_ : absl::OkStatus();
  }
  bool HasAck() {
    MutexLock lock(mutex_);
    return std::any_of(sent_.begin(), sent_.end(), [](const auto& m) { return m.has_ack(); });
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<v1::CoordinatorMessage> sent_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> closed_ ABSL_GUARDED_BY(mutex_);
};

v1::WorkerMessage Hello(const std::vector<v1::HeldAttempt>& held = {}) {
  v1::WorkerMessage message;
  message.mutable_hello()->set_worker_id("w1");
  message.mutable_hello()->set_boot_id("boot1");
  *message.mutable_hello()->mutable_device() = FakeDevice("cpu", "cpu");
  for (const auto& item : held) *message.mutable_hello()->add_held() = item;
  return message;
}

TEST(Recovery, AResultThatCouldNotBeStoredIsSentAgainAndCountsOnce) {
  TempDir dir;
  FlakyStore store(std::move(*store::OpenSqliteStore({.data_dir = dir.path()})));
  metrics::Metrics metrics("1");
  Coordinator coordinator(store, metrics, SystemClock(), TestServer::DefaultOptions());
  ASSERT_TRUE(coordinator.Start().ok());
  auto link = std::make_shared<RecordingLink>();
  coordinator.OnWorkerMessage(link, Hello());
  const auto job = SubmitTo(coordinator, MatmulJob(2));
  ASSERT_TRUE(job.ok()) << job.status();
  const auto assign = link->Wait([](const auto& m) { return m.has_assign(); }).assign();

  store.down = true;
  v1::WorkerMessage result;
  *result.mutable_result() = FakeWorker::GoodResult(assign);
  coordinator.OnWorkerMessage(link, result);
  EXPECT_EQ(link->WaitClosed().code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(link->HasAck()) << "not acknowledged, so the worker keeps it";
  const auto refused = SubmitTo(coordinator, MatmulJob());
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(DetailsOf(refused.status()).reason, "STORE_DOWN");
  auto early = std::make_shared<RecordingLink>();
  coordinator.OnWorkerMessage(early, Hello());
  EXPECT_EQ(early->WaitClosed().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(coordinator.Get(job->name())->state(), v1::JOB_STATE_RUNNING) << "reading goes on";

  store.down = false;
  absl::StatusOr<v1::Job> again = refused;
  for (int i = 0; i < 100 && !again.ok(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    again = SubmitTo(coordinator, MatmulJob());
  }
  ASSERT_TRUE(again.ok()) << again.status();
  link = std::make_shared<RecordingLink>();
  coordinator.OnWorkerMessage(link, Hello({HeldOf(assign.id(), true)}));
  const auto welcome = link->Wait([](const auto& m) { return m.has_welcome(); }).welcome();
  ASSERT_EQ(welcome.held_size(), 1);
  EXPECT_EQ(welcome.held(0).action(), v1::HeldVerdict::RESEND);
  coordinator.OnWorkerMessage(link, result);
  EXPECT_FALSE(link->Wait([](const auto& m) { return m.has_ack(); }).ack().stale());
  EXPECT_EQ(link->Wait([](const auto& m) { return m.has_assign(); }).assign().id().case_index(), 1);
  EXPECT_EQ(coordinator.Get(job->name())->cases(0).results_size(), 2);
  coordinator.Drain();
  coordinator.Stop();
}

TEST(Recovery, ASubmitThatCannotBeStoredIsAnErrorAndLeavesNoJob) {
  TempDir dir;
  FlakyStore store(std::move(*store::OpenSqliteStore({.data_dir = dir.path()})));
  metrics::Metrics metrics("1");
  Coordinator coordinator(store, metrics, SystemClock(), TestServer::DefaultOptions());
  ASSERT_TRUE(coordinator.Start().ok());
  store.down = true;
  EXPECT_EQ(SubmitTo(coordinator, MatmulJob()).status().code(), absl::StatusCode::kUnavailable);
  store.down = false;
  EXPECT_EQ(coordinator.List({})->jobs_size(), 0);
  EXPECT_TRUE(SubmitTo(coordinator, MatmulJob()).ok()) << "one failed submit breaks nothing";
}

}  // namespace
}  // namespace kbench::server
