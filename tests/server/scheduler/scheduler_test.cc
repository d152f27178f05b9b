// The scheduler's rules one by one, with a fake time.
#include "tests/server/scheduler/scheduler_fixture.h"

namespace kbench::scheduler {
namespace {

TEST_F(SchedulerTest, OfOneOwnerTheHigherPriorityThenTheShorterThenTheEarlier) {
  world_.Add("jobs/a", 2, "cpu");
  world_.Add("jobs/b", 1, "cpu");
  world_.Add("jobs/d", 1, "cpu");
  world_.Add("jobs/c", 2, "cpu", 900);
  world_.Hello(cpu_);
  EXPECT_THAT(RunAll(cpu_), ::testing::ElementsAre(CaseRef{"jobs/c", 0}, CaseRef{"jobs/c", 1},
                                                   CaseRef{"jobs/b", 0}, CaseRef{"jobs/d", 0},
                                                   CaseRef{"jobs/a", 0}, CaseRef{"jobs/a", 1}));
  EXPECT_EQ(world_.Job("jobs/a").state, State::kSucceeded);
}

TEST_F(SchedulerTest, OneCaseAtATimeOnADevice) {
  world_.Hello(cpu_);
  world_.Add("jobs/a", 3);
  const AssignTo first = OneAssign();
  EXPECT_TRUE(first.more_of_job);
  world_.Beat(cpu_, {HeldOf(first)});
  EXPECT_TRUE(world_.TakeAssigns().empty());
  EXPECT_TRUE(world_.Result("w-cpu", HeldOf(first)));
  EXPECT_EQ(OneAssign().ref.index, 1);
}

TEST_F(SchedulerTest, AnUnnamedDeviceMeansAGpuWhereThereIsOne) {
  world_.Hello(cpu_);
  world_.Hello(gpu_);
  world_.Add("jobs/a", 1);
  EXPECT_EQ(OneAssign().worker_id, "w-gpu");
  world_.Add("jobs/b", 1);
  EXPECT_TRUE(world_.TakeAssigns().empty()) << "a lab with a GPU does not fall back to the CPU";
  world_.Add("jobs/c", 1, "cpu");
  EXPECT_EQ(OneAssign().worker_id, "w-cpu");
}

TEST_F(SchedulerTest, AJobStaysOnTheDeviceItStartedOn) {
  const WorkerEntry other = world_.Worker("w-gpu1", "boot1", "gpu1", "cuda");
  world_.Hello(gpu_);
  world_.Add("jobs/a", 3, "gpu");
  const AssignTo first = OneAssign();
  world_.Hello(other);
  EXPECT_TRUE(world_.TakeAssigns().empty());
  world_.Result("w-gpu", HeldOf(first));
  const AssignTo second = OneAssign();
  EXPECT_EQ(second.worker_id, "w-gpu");
  world_.Result("w-gpu", HeldOf(second));
  OneAssign();
  world_.Apply(world_.scheduler().WorkerGone(world_.now(), "w-gpu", "boot1"));
  world_.Beat(other);
  EXPECT_TRUE(world_.TakeAssigns().empty()) << "the third case is leased still";
  for (int i = 0; i < 30; ++i) {
    world_.Pass(1);
    world_.Beat(other);
  }
  EXPECT_EQ(OneAssign().worker_id, "w-gpu1");
}

TEST_F(SchedulerTest, AnExpiredLeaseIsTriedAgainInItsPlace) {
  world_.Hello(cpu_);
  world_.Add("jobs/a", 2, "cpu");
  world_.Add("jobs/b", 2, "cpu");
  const AssignTo lost = OneAssign();
  world_.Pass(29);
  EXPECT_EQ(world_.Job("jobs/a").state, State::kRunning);
  world_.Pass(2);
  EXPECT_EQ(world_.CaseOf("jobs/a", 0).state, State::kQueued);
  EXPECT_EQ(world_.Job("jobs/a").state, State::kQueued);
  world_.Beat(cpu_);
  const AssignTo again = OneAssign();
  EXPECT_EQ(again.ref, lost.ref);
  EXPECT_EQ(again.attempt, 2);
  EXPECT_GT(again.epoch, lost.epoch);
  EXPECT_FALSE(world_.Result("w-cpu", HeldOf(lost))) << "fenced off by the newer attempt";
  EXPECT_TRUE(world_.Result("w-cpu", HeldOf(again)));
}

TEST_F(SchedulerTest, ALateResultCountsWhileNoNewerAttemptHasBegun) {
  world_.Hello(cpu_);
  world_.Add("jobs/a", 1, "cpu");
  const AssignTo assign = OneAssign();
  world_.Apply(world_.scheduler().WorkerGone(world_.now(), "w-cpu", "boot1"));
  world_.Pass(35);
  ASSERT_EQ(world_.CaseOf("jobs/a", 0).state, State::kQueued);
  EXPECT_TRUE(world_.Result("w-cpu", HeldOf(assign)));
  EXPECT_EQ(world_.Job("jobs/a").state, State::kSucceeded);
  EXPECT_FALSE(world_.Result("w-cpu", HeldOf(assign))) << "a duplicate";
}

TEST_F(SchedulerTest, HeartbeatsRenewALease) {
  world_.Hello(cpu_);
  world_.Add("jobs/a", 1, "cpu");
  const AssignTo assign = OneAssign();
  for (int i = 0; i < 30; ++i) {
    world_.Pass(5);
    world_.Beat(cpu_, {HeldOf(assign)});
  }
  EXPECT_EQ(world_.CaseOf("jobs/a", 0).attempts, 1);
  EXPECT_TRUE(world_.Result("w-cpu", HeldOf(assign)));
}

TEST_F(SchedulerTest, AHeartbeatSentBeforeTheAssignmentDoesNotLoseIt) {
  world_.Hello(cpu_);
  world_.Add("jobs/a", 1, "cpu");
  const AssignTo assign = OneAssign();
  world_.Beat(cpu_, {});
  EXPECT_EQ(world_.CaseOf("jobs/a", 0).state, State::kRunning);
  world_.Beat(cpu_, {HeldOf(assign)});
  world_.Beat(cpu_, {});
  EXPECT_EQ(OneAssign().attempt, 2) << "named once, then no longer: lost";
}

TEST_F(SchedulerTest, AWorkerThatComesBackHoldingItsAttemptKeepsIt) {
  world_.Hello(cpu_);
  world_.Add("jobs/a", 1, "cpu");
  const AssignTo assign = OneAssign();
  world_.Apply(world_.scheduler().WorkerGone(world_.now(), "w-cpu", "boot1"));
  const HelloAnswer answer = world_.Hello(cpu_, {HeldOf(assign)});
  ASSERT_EQ(answer.held.size(), 1u);
  EXPECT_EQ(answer.held[0].second, HeldAction::kKeep);
  EXPECT_TRUE(world_.TakeAssigns().empty());
}

TEST_F(SchedulerTest, AnExpiredAttemptStillRunningIsTakenUpAgain) {
  world_.Hello(cpu_);
  world_.Add("jobs/a", 1, "cpu");
  const AssignTo assign = OneAssign();
  world_.Pass(31);
  ASSERT_EQ(world_.CaseOf("jobs/a", 0).state, State::kQueued);
  EXPECT_EQ(world_.Hello(cpu_, {HeldOf(assign)}).held[0].second, HeldAction::kKeep);
  EXPECT_EQ(world_.CaseOf("jobs/a", 0).state, State::kRunning);
  EXPECT_EQ(world_.CaseOf("jobs/a", 0).attempts, 1);
  EXPECT_TRUE(world_.TakeAssigns().empty());
}

TEST_F(SchedulerTest, AFinishedAttemptIsSentAgainByANewBoot) {
  world_.Hello(cpu_);
  world_.Add("jobs/a", 1, "cpu");
  const AssignTo assign = OneAssign();
  cpu_.boot_id = "boot2";
  const HelloAnswer answer = world_.Hello(cpu_, {HeldOf(assign, true)});
  EXPECT_EQ(answer.held[0].second, HeldAction::kResend);
  EXPECT_EQ(world_.CaseOf("jobs/a", 0).worker_deaths, 0);
  EXPECT_TRUE(world_.TakeAssigns().empty()) << "it is not run twice";
  EXPECT_TRUE(world_.Result("w-cpu", HeldOf(assign)));
  EXPECT_EQ(world_.Hello(cpu_, {HeldOf(assign, true)}).held[0].second, HeldAction::kKill);
}

TEST_F(SchedulerTest, FaultsOfTheMachineAreTriedThreeTimes) {
  world_.Hello(cpu_);
  world_.Add("jobs/a", 1, "cpu");
  for (int attempt = 1; attempt <= 3; ++attempt) {
    const AssignTo assign = OneAssign();
    EXPECT_EQ(assign.attempt, attempt);
    EXPECT_TRUE(world_.Result("w-cpu", HeldOf(assign), Kind::kInfra));
    EXPECT_TRUE(world_.TakeAssigns().empty()) << "nothing before the worker says how it is";
    world_.Beat(cpu_);
  }
  EXPECT_EQ(world_.Job("jobs/a").state, State::kFailed);
  EXPECT_EQ(world_.Job("jobs/a").reason, "INFRA");
  EXPECT_THAT(world_.Job("jobs/a").message, ::testing::HasSubstr("fault"));
}

TEST_F(SchedulerTest, WhatAStoppingWorkerHandsBackIsNobodysFault) {
  world_.Hello(gpu_);
  world_.Add("jobs/a", 1, "gpu0");
  for (int i = 0; i < 5; ++i) {  // more often than a fault of the machine may happen
    const AssignTo assign = OneAssign();
    EXPECT_TRUE(world_.Result("w-gpu", HeldOf(assign), AttemptEnd::Kind::kCancelled));
    EXPECT_EQ(world_.CaseOf("jobs/a", 0).state, State::kQueued);
    EXPECT_EQ(world_.CaseOf("jobs/a", 0).infra_failures, 0);
    EXPECT_EQ(world_.CaseOf("jobs/a", 0).worker_deaths, 0);
    EXPECT_TRUE(world_.TakeAssigns().empty()) << "not before its worker says how it is";
    world_.Beat(gpu_, {}, true, true);
    EXPECT_TRUE(world_.TakeAssigns().empty()) << "it is stopping";
    world_.Beat(gpu_);
  }
  OneAssign();
}

TEST_F(SchedulerTest, EpochsStayAboveWhatWorkersHoldFromAfterABackup) {
  world_.Add("jobs/a", 1, "gpu0");
  const HelloAnswer answer = world_.Hello(gpu_, {{{"jobs/lost", 0}, 1, 700, false}});
  ASSERT_EQ(answer.held.size(), 1u);
  EXPECT_EQ(answer.held[0].second, HeldAction::kKill) << "a job that the store does not know";
  world_.Beat(gpu_);
  EXPECT_GT(OneAssign().epoch, 700);
}

TEST_F(SchedulerTest, ASecondLiveWorkerOnADeviceIsRefused) {
  world_.Hello(gpu_);
  WorkerEntry second = world_.Worker("w-other", "boot1", "gpu9", "cuda");
  second.device_key = gpu_.device_key;
  const HelloAnswer refused = world_.Hello(second);
  EXPECT_FALSE(refused.accepted);
  EXPECT_EQ(refused.refusal_reason, "DEVICE_HELD");
  EXPECT_THAT(refused.refusal, ::testing::HasSubstr("w-gpu"));
  second.device_key = "other-host/gpu0";
  second.device = "gpu0";
  EXPECT_EQ(world_.Hello(second).refusal_reason, "DEVICE_NAME_TAKEN");
  world_.Pass(31);  // the first one is silent
  EXPECT_TRUE(world_.Hello(second).accepted);
}

TEST_F(SchedulerTest, AnOldBootIsNotHeardAfterItsDisplacement) {
  world_.Hello(cpu_);
  WorkerEntry newer = cpu_;
  newer.boot_id = "boot2";
  world_.Hello(newer);
  world_.Apply(world_.scheduler().WorkerGone(world_.now(), "w-cpu", "boot1"));
  world_.Beat(cpu_, {}, false);
  world_.Add("jobs/a", 1, "cpu");
  EXPECT_EQ(OneAssign().worker_id, "w-cpu");
}

TEST_F(SchedulerTest, CancelEndsWaitingCasesAtOnceAndRunningOnesByTheirWorker) {
  world_.Hello(cpu_);
  world_.Add("jobs/a", 2, "cpu");
  const AssignTo assign = OneAssign();
  world_.Apply(world_.scheduler().CancelJob(world_.now(), "jobs/a"));
  EXPECT_EQ(world_.CaseOf("jobs/a", 1).state, State::kCancelled);
  EXPECT_EQ(world_.CaseOf("jobs/a", 0).state, State::kRunning);
  ASSERT_EQ(world_.TakeCancels().size(), 1u);
  world_.Beat(cpu_, {HeldOf(assign)});
  EXPECT_EQ(world_.TakeCancels().size(), 1u) << "said again until it is heard";
  world_.Apply(world_.scheduler().CancelJob(world_.now(), "jobs/a"));
  EXPECT_TRUE(world_.Result("w-cpu", HeldOf(assign), Kind::kCancelled));
  EXPECT_EQ(world_.Job("jobs/a").state, State::kCancelled);
}

TEST_F(SchedulerTest, ACancelledAttemptWhoseWorkerIsLostEndsWithItsLease) {
  world_.Hello(cpu_);
  world_.Add("jobs/a", 1, "cpu");
  OneAssign();
  world_.Apply(world_.scheduler().CancelJob(world_.now(), "jobs/a"));
  world_.Pass(31);
  EXPECT_EQ(world_.Job("jobs/a").state, State::kCancelled);
}

TEST_F(SchedulerTest, AResultThatWasFasterThanTheCancelCounts) {
  world_.Hello(cpu_);
  world_.Add("jobs/a", 1, "cpu");
  const AssignTo assign = OneAssign();
  world_.Apply(world_.scheduler().CancelJob(world_.now(), "jobs/a"));
  EXPECT_TRUE(world_.Result("w-cpu", HeldOf(assign)));
  EXPECT_EQ(world_.Job("jobs/a").state, State::kSucceeded);
}

TEST_F(SchedulerTest, AJobThatDoesNotStartInTimeExpires) {
  world_.Add("jobs/a", 2, "cpu", 500, world_.now() + 10);
  world_.Add("jobs/b", 2, "cpu", 500, world_.now() + 10);
  world_.Hello(cpu_);
  const AssignTo assign = OneAssign();
  world_.Pass(11);
  EXPECT_EQ(world_.Job("jobs/a").state, State::kRunning) << "it has started";
  EXPECT_EQ(world_.Job("jobs/b").state, State::kExpired);
  EXPECT_EQ(world_.Job("jobs/b").reason, "QUEUE_TIMEOUT");
  world_.Result("w-cpu", HeldOf(assign));
}

TEST_F(SchedulerTest, ARestartKeepsLeasesUntilTheGraceIsOver) {
  world_.Hello(cpu_);
  world_.Add("jobs/a", 2, "cpu");
  const AssignTo assign = OneAssign();
  world_.Restart();
  EXPECT_EQ(world_.Check(), "");
  world_.Pass(5);
  EXPECT_EQ(world_.Hello(cpu_, {HeldOf(assign)}).held[0].second, HeldAction::kKeep);
  world_.Restart();
  world_.Pass(31);
  EXPECT_EQ(world_.CaseOf("jobs/a", 0).state, State::kQueued);
  world_.Hello(cpu_);
  EXPECT_GT(OneAssign().epoch, assign.epoch);
}

TEST_F(SchedulerTest, AWorkerThatIsWedgedDrainingOrSilentGetsNothing) {
  world_.Hello(cpu_);
  world_.Beat(cpu_, {}, false);
  world_.Add("jobs/a", 1, "cpu");
  EXPECT_EQ(world_.scheduler().WaitReason(world_.now(), "jobs/a"), "DEVICE_NOT_READY");
  world_.Beat(cpu_, {}, true, true);
  EXPECT_TRUE(world_.TakeAssigns().empty());
  world_.Pass(35);
  EXPECT_EQ(world_.scheduler().WaitReason(world_.now(), "jobs/a"), "DEVICE_OFFLINE");
  world_.Beat(cpu_);
  OneAssign();
}

TEST_F(SchedulerTest, AFencedAttemptStillRunningIsKilledBeforeTheNextOneBegins) {
  world_.Hello(cpu_);
  world_.Add("jobs/a", 1, "cpu");
  const Held stray{{"jobs/gone", 0}, 1, 77, false};
  world_.Result("w-cpu", HeldOf(OneAssign()));
  world_.Beat(cpu_, {stray});
  ASSERT_EQ(world_.TakeCancels().size(), 1u);
  world_.Add("jobs/b", 1, "cpu");
  EXPECT_TRUE(world_.TakeAssigns().empty());
  world_.Beat(cpu_);
  OneAssign();
}

TEST_F(SchedulerTest, PositionsCountWhatRunsFirstOnTheSameDevice) {
  EXPECT_EQ(world_.scheduler().QueuePosition("jobs/none"), 0);
  world_.Hello(cpu_);
  world_.Add("jobs/a", 3, "cpu");
  world_.Add("jobs/b", 1, "cpu");
  world_.Add("jobs/c", 1, "gpu0");
  world_.Add("jobs/d", 1, "cpu", 900);
  world_.Add("jobs/e", 4, "cpu");
  EXPECT_EQ(world_.scheduler().QueuePosition("jobs/a"), 0);
  EXPECT_EQ(world_.scheduler().QueuePosition("jobs/d"), 1) << "the running case";
  EXPECT_EQ(world_.scheduler().QueuePosition("jobs/b"), 2) << "shorter than what is left of a";
  EXPECT_EQ(world_.scheduler().QueuePosition("jobs/e"), 5);
  EXPECT_EQ(world_.scheduler().QueuePosition("jobs/c"), 0);
  EXPECT_EQ(world_.scheduler().WaitReason(world_.now(), "jobs/c"), "NO_DEVICE");
}

TEST_F(SchedulerTest, ACaseGoesToADeviceThatCanRunItOnly) {
  WorkerEntry gpu1 = world_.Worker("w-gpu1", "boot1", "gpu1", "cuda");
  gpu_.capabilities = {"sum/fp32"};
  gpu1.capabilities = {"matmul/fp32"};
  world_.Hello(gpu_);
  world_.AddNeeding("jobs/a", {"matmul/fp32", "sum/fp32", "matmul/fp16"}, "gpu");
  EXPECT_EQ(OneAssign().ref.index, 1) << "gpu0 skips what it cannot run";
  EXPECT_EQ(world_.CaseOf("jobs/a", 1).device, "gpu0");
  world_.Hello(gpu1);
  EXPECT_EQ(OneAssign().ref.index, 0) << "its pinned device cannot run it";
  EXPECT_EQ(world_.CaseOf("jobs/a", 0).device, "gpu1");
  world_.Pass(5);
  EXPECT_EQ(world_.CaseOf("jobs/a", 2).state, State::kQueued);
}

TEST_F(SchedulerTest, ACaseNobodyCanRunWaitsForOneWhoCan) {
  gpu_.capabilities = {"sum/fp32"};
  world_.Hello(gpu_);
  world_.AddNeeding("jobs/a", {"matmul/fp32"}, "gpu");
  EXPECT_TRUE(world_.TakeAssigns().empty());
  EXPECT_EQ(world_.scheduler().WaitReason(world_.now(), "jobs/a"), "DEVICE_LACKS_KERNEL");
  gpu_.capabilities = {"sum/fp32", "matmul/fp32"};
  gpu_.boot_id = "boot2";
  world_.Hello(gpu_);
  OneAssign();
}

TEST_F(SchedulerTest, WithoutADeviceTheCpuRunsWhatNoGpuCan) {
  gpu_.capabilities = {"matmul/fp32"};
  cpu_.capabilities = {"matmul/fp32", "sum/fp32"};
  world_.Hello(gpu_);
  world_.Apply(world_.scheduler().WorkerGone(world_.now(), "w-gpu", "boot1"));
  world_.Hello(cpu_);
  world_.AddNeeding("jobs/a", {"matmul/fp32"}, "");
  EXPECT_TRUE(world_.TakeAssigns().empty()) << "the GPU may come back";
  EXPECT_EQ(world_.scheduler().WaitReason(world_.now(), "jobs/a"), "DEVICE_OFFLINE");
  world_.AddNeeding("jobs/b", {"sum/fp32"}, "");
  EXPECT_EQ(OneAssign().ref.job, "jobs/b");
}

TEST_F(SchedulerTest, AFinishedAttemptWaitsForItsResultForABoundedTime) {
  world_.Hello(cpu_);
  world_.Add("jobs/a", 1, "cpu");
  const AssignTo assign = OneAssign();
  const auto beat = [&](double seconds) {
    for (double t = 0; t < seconds; t += 5) {
      world_.Pass(5);
      world_.Beat(cpu_, {HeldOf(assign, true)});
    }
  };
  world_.Beat(cpu_, {HeldOf(assign, true)});
  beat(85);
  EXPECT_TRUE(world_.TakeAssigns().empty()) << "three leases are not over";
  beat(10);
  const AssignTo second = OneAssign();
  EXPECT_EQ(second.attempt, 2);
  EXPECT_FALSE(world_.Result("w-cpu", HeldOf(assign))) << "a newer attempt has begun";
}

TEST_F(SchedulerTest, ALateResultOfAFinishedAttemptIsTakenWhileNoNewerOneBegan) {
  world_.Hello(cpu_);
  world_.Add("jobs/a", 1, "cpu");
  const AssignTo assign = OneAssign();
  for (double t = 0; t < 110; t += 5) {
    world_.Beat(cpu_, {HeldOf(assign, true)}, true, true);  // draining: gets no new attempt
    world_.Pass(5);
  }
  EXPECT_EQ(world_.CaseOf("jobs/a", 0).state, State::kQueued);
  EXPECT_THAT(world_.CaseOf("jobs/a", 0).message, ::testing::HasSubstr("did not send its result"));
  EXPECT_TRUE(world_.Result("w-cpu", HeldOf(assign)));
  EXPECT_EQ(world_.Job("jobs/a").state, State::kSucceeded);
}

TEST_F(SchedulerTest, ACancelEndsWhatIsOnlyHeldAsFinished) {
  world_.Hello(cpu_);
  world_.Add("jobs/a", 1, "cpu");
  world_.Add("jobs/b", 1, "cpu");
  const AssignTo a = OneAssign();
  world_.Beat(cpu_, {HeldOf(a, true)});
  world_.Apply(world_.scheduler().CancelJob(world_.now(), "jobs/a"));
  EXPECT_EQ(world_.Job("jobs/a").state, State::kRunning);
  world_.Tick();
  EXPECT_EQ(world_.Job("jobs/a").state, State::kCancelled);
  const AssignTo b = OneAssign();
  world_.Apply(world_.scheduler().CancelJob(world_.now(), "jobs/b"));
  world_.Beat(cpu_, {HeldOf(b)});
  world_.Tick();
  EXPECT_EQ(world_.Job("jobs/b").state, State::kRunning) << "it still runs";
  world_.Beat(cpu_, {HeldOf(b, true)});
  world_.Tick();
  EXPECT_EQ(world_.Job("jobs/b").state, State::kCancelled);
}

TEST_F(SchedulerTest, ACaseThatCannotBeTriedFailsAlone) {
  world_.Hello(cpu_);
  world_.Add("jobs/a", 2, "cpu");
  const AssignTo assign = OneAssign();
  world_.Apply(world_.scheduler().FailCase(world_.now(), assign.ref, assign.epoch,
                                           "NO_IMPLEMENTATION", "none for fp8e4m3"));
  EXPECT_EQ(world_.CaseOf("jobs/a", 0).reason, "NO_IMPLEMENTATION");
  EXPECT_EQ(OneAssign().ref.index, 1);
}

}  // namespace
}  // namespace kbench::scheduler
