// The coordinator on a disk that is slow and now and then refuses, and under a clock that jumps:
// every acknowledged job ends, every case has one result, no lease is lost to a wrong clock.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <map>
#include <random>
#include <thread>

#include "proto/support/rpc_status.h"
#include "server/rpc/coordinator.h"
#include "server/store/sqlite.h"
#include "tests/server/rpc/flaky_store.h"
#include "tests/server/rpc/harness.h"

namespace kbench::server {
namespace {

// A worker without a network: answers what it is given on its own thread, keeps its results until
// they are acknowledged, and comes back whenever its session ends.
class LoopWorker {
 public:
  LoopWorker(Coordinator& coordinator, const std::string& device)
      : coordinator_(coordinator), device_(device), thread_([this] { Loop(); }) {}
  ~LoopWorker() {
    {
      MutexLock lock(mutex_);
      stop_ = true;
    }
    thread_.join();
  }
  int stale() const { return stale_; }

 private:
  class Link final : public WorkerLink {
   public:
    explicit Link(LoopWorker& worker) : worker_(worker) {}
    void Send(v1::CoordinatorMessage message) override {
      MutexLock lock(worker_.mutex_);
      worker_.inbox_.push_back(std::move(message));
    }
    void Close(const absl::Status&) override { closed = true; }
    std::atomic<bool> closed = false;

   private:
    LoopWorker& worker_;
  };

  void Loop() {
    while (true) {
      auto link = std::make_shared<Link>(*this);
      coordinator_.OnWorkerMessage(link, Hello());
      while (!link->closed) {
        {
          MutexLock lock(mutex_);
          if (stop_) {
            coordinator_.OnWorkerGone(link);
            return;
          }
        }
        for (const v1::CoordinatorMessage& message : Take()) Handle(link, message);
        v1::WorkerMessage beat;
        for (const auto& item : Held()) *beat.mutable_heartbeat()->add_held() = item;
        beat.mutable_heartbeat()->set_device_state("READY");
        coordinator_.OnWorkerMessage(link, beat);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      coordinator_.OnWorkerGone(link);
      Take();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      MutexLock lock(mutex_);
      if (stop_) return;
    }
  }

  std::deque<v1::CoordinatorMessage> Take() {
    MutexLock lock(mutex_);
    return std::exchange(inbox_, {});
  }
  std::vector<v1::HeldAttempt> Held() const {
    std::vector<v1::HeldAttempt> held;
    for (const auto& [epoch, result] : spool_) held.push_back(HeldOf(result.id(), true));
    return held;
  }
  v1::WorkerMessage Hello() const {
    v1::WorkerMessage message;
    message.mutable_hello()->set_worker_id("w-" + device_);
    message.mutable_hello()->set_boot_id("boot1");
    *message.mutable_hello()->mutable_device() = FakeDevice(device_, "cpu");
    for (const auto& item : Held()) *message.mutable_hello()->add_held() = item;
    return message;
  }
  void Handle(const std::shared_ptr<Link>& link, const v1::CoordinatorMessage& message) {
    if (message.has_ack()) {
      spool_.erase(message.ack().id().epoch());
      stale_ += message.ack().stale() ? 1 : 0;
    }
    if (message.has_assign()) {
      v1::AttemptResult& result = spool_[message.assign().id().epoch()];
      *result.mutable_id() = message.assign().id();
      result.add_results()->set_outcome(v1::OUTCOME_OK);
      SendResult(link, result);
    }
    if (message.has_welcome()) {
      for (const auto& [epoch, result] : spool_) SendResult(link, result);
    }
  }
  void SendResult(const std::shared_ptr<Link>& link, const v1::AttemptResult& result) {
    v1::WorkerMessage message;
    *message.mutable_result() = result;
    coordinator_.OnWorkerMessage(link, std::move(message));
  }

  Coordinator& coordinator_;
  const std::string device_;
  std::map<std::int64_t, v1::AttemptResult> spool_;  // by epoch
  std::atomic<int> stale_ = 0;
  Mutex mutex_;
  std::deque<v1::CoordinatorMessage> inbox_ ABSL_GUARDED_BY(mutex_);
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

v1::Job WaitForEnd(Coordinator& coordinator, const std::string& name) {
  absl::StatusOr<v1::Job> job;
  for (int i = 0; i < 3000; ++i) {
    job = coordinator.Get(name);
    if (job.ok() && job->state() > v1::JOB_STATE_RUNNING) return *job;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ADD_FAILURE() << name << " did not end: " << (job.ok() ? job->ShortDebugString() : "no job");
  return {};
}

TEST(Storm, ADiskThatIsSlowAndRefusesLosesNothing) {
  TempDir dir;
  FlakyStore store(std::move(*store::OpenSqliteStore({.data_dir = dir.path()})));
  metrics::Metrics metrics("1");
  Coordinator coordinator(store, metrics, SystemClock(), TestServer::DefaultOptions());
  ASSERT_TRUE(coordinator.Start().ok());
  std::vector<std::string> acknowledged;
  {
    LoopWorker first(coordinator, "cpu0");
    LoopWorker second(coordinator, "cpu1");
    std::mt19937 random(7);
    for (int i = 0; i < 150; ++i) {
      store.delay_seconds = i % 3 == 0 ? 0.03 : 0;
      // Full for a moment, in which also what the workers have sent cannot be written.
      store.down = i == 20 || i == 100;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      const auto job = SubmitTo(coordinator, MatmulJob(1 + static_cast<int>(random() % 4)));
      if (job.ok()) acknowledged.push_back(job->name());
    }
    store.down = false;
    ASSERT_GE(acknowledged.size(), 10u);
    for (const std::string& name : acknowledged) {
      const v1::Job job = WaitForEnd(coordinator, name);
      EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.ShortDebugString();
      for (const v1::CaseStatus& item : job.cases()) {
        EXPECT_EQ(item.results_size(), 1);
        EXPECT_EQ(item.results(0).attempt(), item.attempt());
      }
    }
  }
  coordinator.Drain();
  coordinator.Stop();
}

// The machine's steady clock, and a wall clock that anybody may set.
class JumpyClock final : public Clock {
 public:
  std::atomic<double> wall_offset = 0;
  int64_t WallMicros() const override {
    return SystemClock().WallMicros() + static_cast<int64_t>(wall_offset.load() * 1e6);
  }
  double SteadySeconds() const override { return SystemClock().SteadySeconds(); }
};

constexpr double kDay = 86'400;

class Inbox final : public WorkerLink {
 public:
  void Send(v1::CoordinatorMessage message) override {
    MutexLock lock(mutex_);
    messages_.push_back(std::move(message));
  }
  void Close(const absl::Status&) override {}
  template <typename Is>
  std::optional<v1::CoordinatorMessage> Find(Is is) {
    for (int i = 0; i < 500; ++i) {
      {
        MutexLock lock(mutex_);
        for (const auto& message : messages_) {
          if (is(message)) return message;
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return std::nullopt;
  }

 private:
  Mutex mutex_;
  std::vector<v1::CoordinatorMessage> messages_ ABSL_GUARDED_BY(mutex_);
};

v1::WorkerMessage HelloOf(const std::vector<v1::HeldAttempt>& held = {}) {
  v1::WorkerMessage message;
  message.mutable_hello()->set_worker_id("w1");
  message.mutable_hello()->set_boot_id("boot1");
  *message.mutable_hello()->mutable_device() = FakeDevice("cpu", "cpu");
  for (const auto& item : held) *message.mutable_hello()->add_held() = item;
  return message;
}

TEST(Storm, JumpsOfTheWallClockEndNoLeaseAndNoWait) {
  TempDir dir;
  auto store = std::move(*store::OpenSqliteStore({.data_dir = dir.path()}));
  metrics::Metrics metrics("1");
  JumpyClock clock;
  v1::Job running;
  v1::Job waiting;
  v1::Assign assign;
  v1::SubmitJobRequest timed = MatmulJob();
  timed.mutable_spec()->mutable_queue_timeout()->set_seconds(3600);
  {
    Coordinator coordinator(*store, metrics, clock, TestServer::DefaultOptions());
    ASSERT_TRUE(coordinator.Start().ok());
    auto link = std::make_shared<Inbox>();
    coordinator.OnWorkerMessage(link, HelloOf());
    running = *SubmitTo(coordinator, MatmulJob());
    waiting = *SubmitTo(coordinator, timed);
    const auto message = link->Find([](const auto& m) { return m.has_assign(); });
    ASSERT_TRUE(message.has_value());
    assign = message->assign();
    for (const double offset : {2 * kDay, -2 * kDay, 0.0, -kDay}) {
      clock.wall_offset = offset;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // five ticks
      EXPECT_EQ(coordinator.Get(running.name())->state(), v1::JOB_STATE_RUNNING);
      EXPECT_EQ(coordinator.Get(waiting.name())->state(), v1::JOB_STATE_QUEUED);
    }
    coordinator.Drain();
    coordinator.Stop();
  }
  // Started again while the clock is a day behind: the lease waits for its worker all the same.
  Coordinator coordinator(*store, metrics, clock, TestServer::DefaultOptions());
  ASSERT_TRUE(coordinator.Start().ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(coordinator.Get(running.name())->state(), v1::JOB_STATE_RUNNING);
  auto link = std::make_shared<Inbox>();
  coordinator.OnWorkerMessage(link, HelloOf({HeldOf(assign.id(), true)}));
  v1::WorkerMessage result;
  *result.mutable_result() = FakeWorker::GoodResult(assign);
  coordinator.OnWorkerMessage(link, result);
  const auto ack = link->Find([](const auto& m) { return m.has_ack(); });
  ASSERT_TRUE(ack.has_value());
  EXPECT_FALSE(ack->ack().stale());
  EXPECT_EQ(WaitForEnd(coordinator, running.name()).state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_TRUE(link->Find([](const auto& m) { return m.has_assign(); }).has_value());
  coordinator.Drain();
  coordinator.Stop();
}

}  // namespace
}  // namespace kbench::server
