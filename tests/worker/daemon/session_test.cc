#include "worker/daemon/session.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "proto/support/channel.h"
#include "tests/worker/daemon/fake_coordinator.h"
#include "tests/worker/daemon/quiet_monitor.h"

namespace kbench {
namespace {

using Messages = std::vector<v1::WorkerMessage>;

// Runs until it is released or cancelled.
class ScriptedRunner final : public AttemptRunner {
 public:
  AttemptOutcome Run(const v1::Assign& assign, const CancelToken& cancel,
                     const CaseDriver::ProgressFn& progress) override {
    v1::Progress first;
    first.set_phase(assign.has_hold() ? "hold" : "measure");
    progress(first);
    MutexLock lock(mutex_);
    ++started_;
    while (!released_ && !cancel.cancelled()) changed_.WaitFor(mutex_, 0.01);
    AttemptOutcome outcome;
    *outcome.result.mutable_id() = assign.id();
    outcome.result.add_results()->set_implementation("fake/fast");
    if (cancel.why() == CancelToken::Why::kShutdown) {
      outcome.result.clear_results();
    }
    outcome.result.set_cancelled(cancel.cancelled());
    outcome.device = device_;
    return outcome;
  }
  void Settle() override {}
  void Release() {
    MutexLock lock(mutex_);
    released_ = true;
    changed_.NotifyAll();
  }
  int started() {
    MutexLock lock(mutex_);
    return started_;
  }
  absl::Status device_ = absl::OkStatus();

 private:
  Mutex mutex_;
  CondVar changed_;
  bool released_ = false;
  int started_ = 0;
};

v1::AttemptId Id(std::int64_t epoch) {
  v1::AttemptId id;
  id.set_job("jobs/j" + std::to_string(epoch));
  id.set_attempt(1);
  id.set_epoch(epoch);
  return id;
}

v1::CoordinatorMessage AssignMessage(std::int64_t epoch) {
  v1::CoordinatorMessage message;
  *message.mutable_assign()->mutable_id() = Id(epoch);
  return message;
}

int Count(const Messages& messages, bool (v1::WorkerMessage::*has)() const) {
  return static_cast<int>(std::count_if(messages.begin(), messages.end(),
                                        [&](const auto& message) { return (message.*has)(); }));
}

class SessionTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = testing::TempDir() + "/session-" + std::to_string(getpid());
    std::filesystem::create_directories(dir_);
    v1::Calibration calibration;
    calibration.set_passed(true);
    if (calibrated_) condition_.Set(calibration);
    coordinator_ = std::make_unique<FakeCoordinator>(dir_ + "/c.sock");
  }
  void TearDown() override {
    if (session_ != nullptr) EndWorker();
    coordinator_.reset();
    std::filesystem::remove_all(dir_);
  }

  void StartWorker() {
    auto spool = Spool::Open(dir_ + "/spool");
    ASSERT_TRUE(spool.ok());
    spool_ = *std::move(spool);
    runner_ = std::make_unique<ScriptedRunner>();
    attempts_ = std::make_unique<Attempts>(runner_.get(), spool_.get());
    Session::Options options;
    options.connect = [this] { return MakeChannel("unix:" + dir_ + "/c.sock"); };
    options.address = "test";
    options.hello.set_worker_id("host/cpu");
    options.start_again = [this] { ++started_again_; };
    options.kept = KeptBytes({{"spool", dir_ + "/spool"}});
    options.first_retry_seconds = 0.02;
    options.last_retry_seconds = 0.1;
    session_ = std::make_unique<Session>(options, attempts_.get(), &monitor_, &condition_);
    thread_ = std::thread([this] { status_ = session_->Run(); });
  }
  void EndWorker() {
    session_->Shutdown();
    thread_.join();
    session_.reset();
    attempts_.reset();
  }
  bool WaitForCount(bool (v1::WorkerMessage::*has)() const, int count) {
    return coordinator_->WaitFor(
        [&](const Messages& messages) { return Count(messages, has) >= count; });
  }
  v1::AttemptResult LastResult() {
    v1::AttemptResult last;
    for (const auto& message : coordinator_->received()) {
      if (message.has_result()) last = message.result();
    }
    return last;
  }
  // A heartbeat that says it holds `count` attempts.
  bool WaitForHeld(int count) {
    return coordinator_->WaitFor([&](const Messages& messages) {
      return std::any_of(messages.rbegin(), messages.rend(), [&](const auto& message) {
        return message.has_heartbeat() && message.heartbeat().held_size() == count;
      });
    });
  }

  std::string dir_;
  std::unique_ptr<FakeCoordinator> coordinator_;
  QuietMonitor monitor_;
  std::atomic<int> started_again_ = 0;
  bool calibrated_ = true;
  DeviceCondition condition_;
  std::unique_ptr<Spool> spool_;
  std::unique_ptr<ScriptedRunner> runner_;
  std::unique_ptr<Attempts> attempts_;
  std::unique_ptr<Session> session_;
  std::thread thread_;
  absl::Status status_;
};

TEST_F(SessionTest, HelloHeartbeatAssignResultAck) {
  StartWorker();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_heartbeat, 2));
  EXPECT_TRUE(coordinator_->received()[0].has_hello());
  ASSERT_TRUE(coordinator_->Send(AssignMessage(1)));
  ASSERT_TRUE(WaitForHeld(1));
  EXPECT_TRUE(WaitForCount(&v1::WorkerMessage::has_progress, 1));
  runner_->Release();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_result, 1));
  EXPECT_EQ(LastResult().id().epoch(), 1);
  coordinator_->Forget();
  ASSERT_TRUE(WaitForHeld(0)) << "acknowledged results are no longer held";
  EXPECT_TRUE(spool_->List().empty());
  for (const auto& message : coordinator_->received()) {
    EXPECT_EQ(message.heartbeat().device_state(), "READY");
    EXPECT_EQ(message.heartbeat().telemetry().temperature_celsius(), 40);
    EXPECT_EQ(message.heartbeat().foreign_size(), 0);
  }
}

TEST_F(SessionTest, HeartbeatsNameForeignProcessesWithoutAskingTheDevice) {
  monitor_.foreign_ = {{4711, "bob", "python", 0.37, std::int64_t{12} << 30}, {}};
  StartWorker();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_heartbeat, 1));
  const v1::Heartbeat heartbeat = coordinator_->received()[1].heartbeat();
  EndWorker();
  ASSERT_EQ(heartbeat.foreign_size(), 2);
  EXPECT_EQ(heartbeat.foreign(0).pid(), 4711);
  EXPECT_EQ(heartbeat.foreign(0).user(), "bob");
  EXPECT_EQ(heartbeat.foreign(0).command(), "python");
  EXPECT_EQ(heartbeat.foreign(0).memory_bytes(), std::int64_t{12} << 30);
  EXPECT_EQ(heartbeat.foreign(0).utilization(), 0.37);
  EXPECT_EQ(heartbeat.foreign(1).utilization(), -1) << "the driver does not tell";
  EXPECT_EQ(monitor_.looks_, 0) << "a heartbeat may come in the middle of a burst";
}

TEST_F(SessionTest, HeartbeatsSayWhatIsKeptOnTheDisk) {
  std::filesystem::create_directories(dir_ + "/spool");
  std::ofstream(dir_ + "/spool/old.damaged") << std::string(77, 'x');
  StartWorker();
  EXPECT_TRUE(coordinator_->WaitFor([](const Messages& messages) {
    return std::any_of(messages.begin(), messages.end(), [](const auto& message) {
      const auto& kept = message.heartbeat().kept_bytes();
      return message.has_heartbeat() && kept.count("logs") == 1 && kept.count("spool") == 1 &&
             kept.at("spool") == 77;
    });
  }));
}

TEST_F(SessionTest, WhatRunnersOfferIsToldInTheHelloAndAgainWhenItChanges) {
  v1::Offer offer;
  offer.add_implementations()->set_name("cpu/naive");
  offer.add_absent()->set_framework("torch");
  offer.mutable_absent(0)->set_starting(true);
  condition_.SetOffer(offer);
  StartWorker();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_heartbeat, 1));
  const auto hello = coordinator_->received()[0].hello();
  EXPECT_EQ(hello.device().implementations_size(), 1);
  EXPECT_TRUE(hello.device().absent(0).starting());
  EXPECT_FALSE(coordinator_->received()[1].heartbeat().has_offer()) << "told already";
  offer.clear_absent();
  offer.add_implementations()->set_name("torch");
  condition_.SetOffer(offer);
  ASSERT_TRUE(coordinator_->WaitFor([](const Messages& messages) {
    return messages.back().has_heartbeat() && messages.back().heartbeat().has_offer();
  }));
  EXPECT_EQ(coordinator_->received().back().heartbeat().offer().implementations_size(), 2);
}

TEST_F(SessionTest, ABrokenStreamLosesNeitherTheRunningCaseNorItsResult) {
  StartWorker();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_heartbeat, 1));
  ASSERT_TRUE(coordinator_->Send(AssignMessage(1)));
  ASSERT_TRUE(WaitForHeld(1));
  coordinator_->Stop();
  coordinator_->Forget();
  runner_->Release();  // it ends while nobody listens
  while (attempts_->busy()) std::this_thread::yield();
  EXPECT_EQ(spool_->List().size(), 1u);
  coordinator_->Start();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_result, 1));
  const auto hello = coordinator_->received()[0].hello();
  ASSERT_EQ(hello.held_size(), 1);
  EXPECT_TRUE(hello.held(0).finished());
  EXPECT_EQ(LastResult().id().epoch(), 1);
  EXPECT_EQ(runner_->started(), 1) << "nothing may run twice";
}

TEST_F(SessionTest, ResultsAreSentAgainUntilAcknowledgedAlsoByTheNextProcess) {
  coordinator_->AcknowledgeResults(false);
  StartWorker();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_heartbeat, 1));
  runner_->Release();
  ASSERT_TRUE(coordinator_->Send(AssignMessage(1)));
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_result, 1));
  coordinator_->Stop();
  coordinator_->Start();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_result, 2)) << "after a reconnect";
  EndWorker();
  coordinator_->Forget();
  coordinator_->AcknowledgeResults(true);
  StartWorker();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_result, 1)) << "after a restart";
  EXPECT_EQ(LastResult().results(0).implementation(), "fake/fast");
  coordinator_->Forget();
  ASSERT_TRUE(WaitForHeld(0));
  EXPECT_TRUE(spool_->List().empty());
}

TEST_F(SessionTest, AResultThatTheDiskRefusesIsSentAgainFromMemory) {
  coordinator_->AcknowledgeResults(false);
  StartWorker();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_heartbeat, 1));
  std::filesystem::remove_all(dir_ + "/spool");  // stands for a full disk
  runner_->Release();
  ASSERT_TRUE(coordinator_->Send(AssignMessage(1)));
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_result, 1));
  coordinator_->Stop();
  coordinator_->Forget();
  coordinator_->AcknowledgeResults(true);
  coordinator_->Start();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_result, 1)) << "after a reconnect";
  EXPECT_EQ(LastResult().id().epoch(), 1);
  coordinator_->Forget();
  EXPECT_TRUE(WaitForHeld(0));
}

TEST_F(SessionTest, KillFencesTheRunningAttemptOff) {
  StartWorker();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_heartbeat, 1));
  ASSERT_TRUE(coordinator_->Send(AssignMessage(1)));
  ASSERT_TRUE(WaitForHeld(1));
  coordinator_->Stop();
  coordinator_->Forget();
  coordinator_->OnHello([](const v1::WorkerHello& hello) {
    v1::Welcome welcome;
    *welcome.mutable_heartbeat_interval() = ToDuration(0.05);
    for (const auto& held : hello.held()) {
      auto& verdict = *welcome.add_held();
      *verdict.mutable_id() = held.id();
      verdict.set_action(v1::HeldVerdict::KILL);
    }
    return welcome;
  });
  coordinator_->Start();
  ASSERT_TRUE(WaitForHeld(0));
  EXPECT_EQ(Count(coordinator_->received(), &v1::WorkerMessage::has_result), 0)
      << "a fenced attempt has nothing to say";
  EXPECT_TRUE(spool_->List().empty());
  coordinator_->Forget();
  runner_->Release();
  ASSERT_TRUE(coordinator_->Send(AssignMessage(2))) << "and the next case runs";
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_result, 1));
  EXPECT_EQ(LastResult().id().epoch(), 2);
}

TEST_F(SessionTest, CancelStopsTheAttempt) {
  StartWorker();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_heartbeat, 1));
  ASSERT_TRUE(coordinator_->Send(AssignMessage(1)));
  ASSERT_TRUE(WaitForHeld(1));
  v1::CoordinatorMessage other;
  *other.mutable_cancel()->mutable_id() = Id(99);
  ASSERT_TRUE(coordinator_->Send(other)) << "another attempt's cancel changes nothing";
  v1::CoordinatorMessage cancel;
  *cancel.mutable_cancel()->mutable_id() = Id(1);
  ASSERT_TRUE(coordinator_->Send(cancel));
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_result, 1));
  EXPECT_TRUE(LastResult().cancelled());
}

TEST_F(SessionTest, ASecondAssignmentWhileBusyIsRefusedNotLost) {
  StartWorker();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_heartbeat, 1));
  ASSERT_TRUE(coordinator_->Send(AssignMessage(1)));
  ASSERT_TRUE(WaitForHeld(1));
  ASSERT_TRUE(coordinator_->Send(AssignMessage(1))) << "the same one again is no news";
  ASSERT_TRUE(coordinator_->Send(AssignMessage(2)));
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_result, 1));
  EXPECT_EQ(LastResult().id().epoch(), 2);
  EXPECT_EQ(LastResult().infra_error(), "worker is busy with another case");
  runner_->Release();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_result, 2));
  EXPECT_EQ(LastResult().id().epoch(), 1);
  EXPECT_EQ(runner_->started(), 1);
}

TEST_F(SessionTest, ShutdownHandsTheCaseBack) {
  StartWorker();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_heartbeat, 1));
  ASSERT_TRUE(coordinator_->Send(AssignMessage(1)));
  ASSERT_TRUE(WaitForHeld(1));
  const double begin = SystemClock().SteadySeconds();
  EndWorker();
  EXPECT_LT(SystemClock().SteadySeconds() - begin, 1.4);
  EXPECT_TRUE(status_.ok());
  EXPECT_TRUE(LastResult().cancelled()) << "nobody asked: it is handed back";
  EXPECT_EQ(LastResult().infra_error(), "");
}

TEST_F(SessionTest, ADrainFinishesTheCaseAndHandsBackWhatComesAfter) {
  StartWorker();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_heartbeat, 1));
  ASSERT_TRUE(coordinator_->Send(AssignMessage(1)));
  ASSERT_TRUE(WaitForHeld(1));
  session_->Drain();
  ASSERT_TRUE(coordinator_->WaitFor([](const Messages& messages) {
    return std::any_of(messages.begin(), messages.end(), [](const auto& message) {
      return message.has_heartbeat() && message.heartbeat().draining();
    });
  })) << "told at once, not with the next heartbeat";
  EXPECT_TRUE(session_->busy());
  ASSERT_TRUE(coordinator_->Send(AssignMessage(2)));  // was on its way
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_result, 1));
  EXPECT_EQ(LastResult().id().epoch(), 2);
  EXPECT_TRUE(LastResult().cancelled());
  runner_->Release();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_result, 2));
  EXPECT_EQ(LastResult().id().epoch(), 1);
  EXPECT_FALSE(LastResult().cancelled());
  EXPECT_EQ(LastResult().results_size(), 1);
}

TEST_F(SessionTest, DisplacedEndsWithTheReason) {
  coordinator_->RefuseWith({grpc::StatusCode::ALREADY_EXISTS, "worker b holds this device"});
  StartWorker();
  thread_.join();
  EXPECT_EQ(status_.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(std::string(status_.message()), "worker b holds this device");
  thread_ = std::thread([] {});
}

TEST_F(SessionTest, OtherRefusalsAreTriedAgainForEver) {
  coordinator_->RefuseWith({grpc::StatusCode::UNAVAILABLE, "starting"});
  StartWorker();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_hello, 3));
  coordinator_->RefuseWith(grpc::Status::OK);
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_heartbeat, 1));
}

TEST_F(SessionTest, AWedgedDeviceIsReportedUntilItRecovers) {
  StartWorker();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_heartbeat, 1));
  runner_->device_ = absl::UnavailableError("the GPU does not answer");
  monitor_.check_ = runner_->device_;
  runner_->Release();
  ASSERT_TRUE(coordinator_->Send(AssignMessage(1)));
  const auto state = [&](const std::string& wanted) {
    return coordinator_->WaitFor([&](const Messages& messages) {
      return !messages.empty() && messages.back().has_heartbeat() &&
             messages.back().heartbeat().device_state() == wanted;
    });
  };
  EXPECT_TRUE(state("WEDGED"));
  monitor_.check_ = absl::OkStatus();
  EXPECT_TRUE(state("READY"));
}

class UncalibratedSessionTest : public SessionTest {
 protected:
  UncalibratedSessionTest() { calibrated_ = false; }
  // The latest heartbeat in the state.
  v1::Heartbeat WaitForState(const std::string& state) {
    v1::Heartbeat found;
    EXPECT_TRUE(coordinator_->WaitFor([&](const Messages& messages) {
      for (const auto& message : messages) {
        if (message.heartbeat().device_state() == state) found = message.heartbeat();
      }
      return found.device_state() == state;
    })) << state;
    return found;
  }
};

TEST_F(UncalibratedSessionTest, ConnectsAtOnceAndSaysWhenItIsReady) {
  StartWorker();
  EXPECT_FALSE(WaitForState("CALIBRATING").has_calibration());
  EXPECT_EQ(coordinator_->received()[0].hello().device().state(), "CALIBRATING");
  v1::Calibration calibration;
  calibration.set_passed(true);
  calibration.set_flush_bytes(7);
  condition_.Set(calibration);
  EXPECT_EQ(WaitForState("READY").calibration().flush_bytes(), 7);
  // A stream that broke hears of it in the next hello.
  coordinator_->Stop();
  coordinator_->Forget();
  coordinator_->Start();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_heartbeat, 2));
  const auto messages = coordinator_->received();
  EXPECT_EQ(messages[0].hello().device().state(), "READY");
  EXPECT_EQ(messages[0].hello().device().calibration().flush_bytes(), 7);
  EXPECT_FALSE(messages.back().heartbeat().has_calibration()) << "not again and again";
}

TEST_F(UncalibratedSessionTest, ADeviceThatFailedSaysWhy) {
  StartWorker();
  v1::Calibration calibration;
  calibration.set_failed_step("flush");
  calibration.set_message("a cold read was as fast as a hot one");
  condition_.Set(calibration);
  EXPECT_EQ(WaitForState("FAILED").device_message(),
            "calibration failed at flush: a cold read was as fast as a hot one");
}

// The states of the device in the heartbeats so far, each once.
std::vector<std::string> States(const Messages& messages) {
  std::vector<std::string> states;
  for (const auto& message : messages) {
    if (!message.has_heartbeat()) continue;
    const std::string& state = message.heartbeat().device_state();
    if (states.empty() || states.back() != state) states.push_back(state);
  }
  return states;
}

TEST_F(SessionTest, AHoldIsToldAndEndsWithoutAResult) {
  StartWorker();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_heartbeat, 1));
  v1::CoordinatorMessage assign = AssignMessage(1);
  *assign.mutable_assign()->mutable_hold()->mutable_duration() = ToDuration(60);
  ASSERT_TRUE(coordinator_->Send(assign));
  ASSERT_TRUE(coordinator_->WaitFor([](const Messages& messages) {
    const auto states = States(messages);
    return !states.empty() && states.back() == "HELD";
  }));
  v1::CoordinatorMessage cancel;
  *cancel.mutable_cancel()->mutable_id() = Id(1);
  cancel.mutable_cancel()->set_finished(true);
  ASSERT_TRUE(coordinator_->Send(cancel));
  ASSERT_TRUE(coordinator_->WaitFor([](const Messages& messages) {
    return States(messages).back() == "READY" && messages.back().has_heartbeat() &&
           messages.back().heartbeat().held().empty();
  }));
  EXPECT_EQ(Count(coordinator_->received(), &v1::WorkerMessage::has_result), 0)
      << "the coordinator has ended it already";
}

TEST_F(SessionTest, AHoldSurvivesABrokenStream) {
  StartWorker();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_heartbeat, 1));
  v1::CoordinatorMessage assign = AssignMessage(1);
  *assign.mutable_assign()->mutable_hold()->mutable_duration() = ToDuration(60);
  ASSERT_TRUE(coordinator_->Send(assign));
  ASSERT_TRUE(coordinator_->WaitFor([](const Messages& messages) {
    return !States(messages).empty() && States(messages).back() == "HELD";
  }));
  coordinator_->Stop();
  coordinator_->Forget();
  coordinator_->Start();
  ASSERT_TRUE(coordinator_->WaitFor([](const Messages& messages) {
    return !messages.empty() && messages[0].has_hello() && messages[0].hello().held_size() == 1 &&
           messages[0].hello().device().state() == "HELD";
  }));
  EXPECT_EQ(runner_->started(), 1);
}

bool HasBeat(const Messages& messages, const std::function<bool(const v1::Heartbeat&)>& is) {
  return std::any_of(messages.begin(), messages.end(), [&](const auto& message) {
    return message.has_heartbeat() && is(message.heartbeat());
  });
}

TEST_F(SessionTest, FaultsAndCanariesStandInEveryHeartbeat) {
  v1::CanaryState canary;
  canary.set_count(4);
  canary.set_ratio(1.01);
  condition_.SetCanary(canary);
  StartWorker();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_heartbeat, 2));
  monitor_.Break("XID", "Xid 79: the GPU has fallen off the bus");
  const auto told = [&](const v1::Heartbeat& beat) {
    return beat.faults_size() == 1 && beat.faults(0).kind() == "XID" &&
           beat.faults(0).number() == 1 && beat.canary().count() == 4;
  };
  ASSERT_TRUE(coordinator_->WaitFor([&](const Messages& m) { return HasBeat(m, told); }));
  coordinator_->Forget();
  ASSERT_TRUE(coordinator_->WaitFor([&](const Messages& m) { return HasBeat(m, told); }))
      << "again: a lost message heals";
}

TEST_F(SessionTest, ADriverThatDoesNotFitIsToldAndTheProcessStartsAgainWhenItDoes) {
  StartWorker();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_heartbeat, 1));
  monitor_.SetDriver(DriverState::kMismatch);
  ASSERT_TRUE(coordinator_->WaitFor([&](const Messages& messages) {
    return HasBeat(messages, [](const v1::Heartbeat& beat) {
      return beat.device_state() == "OFFLINE" && beat.device_reason() == "DRIVER_MISMATCH" &&
             beat.device_message() == "570.1 and 580.2";
    });
  }));
  EXPECT_EQ(started_again_, 0);
  // What runs is not disturbed by the start.
  ASSERT_TRUE(coordinator_->Send(AssignMessage(1)));
  ASSERT_TRUE(WaitForHeld(1));
  monitor_.SetDriver(DriverState::kFine);
  coordinator_->Forget();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_heartbeat, 3));
  EXPECT_EQ(started_again_, 0);
  runner_->Release();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_result, 1));
  coordinator_->Forget();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_heartbeat, 3));
  EXPECT_EQ(started_again_, 1);
}

TEST_F(SessionTest, AHelloSaysThatTheDeviceIsAway) {
  condition_.SetMismatch("570.1 and 580.2");
  monitor_.SetDriver(DriverState::kMismatch);
  StartWorker();
  ASSERT_TRUE(WaitForCount(&v1::WorkerMessage::has_hello, 1));
  const v1::Device device = coordinator_->received()[0].hello().device();
  EXPECT_EQ(device.state(), "OFFLINE");
  EXPECT_EQ(device.state_reason(), "DRIVER_MISMATCH");
  EXPECT_EQ(device.state_message(), "570.1 and 580.2");
}

}  // namespace
}  // namespace kbench
