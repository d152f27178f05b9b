// Specifications that kill their workers.
#include "tests/server/scheduler/scheduler_fixture.h"

namespace kbench::scheduler {
namespace {

TEST_F(SchedulerTest, TwoDeathsOfTheWorkerMakeACasePoison) {
  world_.Hello(cpu_);
  world_.Add("jobs/a", 2, "cpu");
  OneAssign();
  cpu_.boot_id = "boot2";
  world_.Hello(cpu_);
  const AssignTo again = OneAssign();
  EXPECT_EQ(again.ref.index, 0) << "lost at once, without waiting for its lease";
  cpu_.boot_id = "boot3";
  world_.Hello(cpu_);
  EXPECT_EQ(world_.CaseOf("jobs/a", 0).state, State::kFailed);
  EXPECT_EQ(world_.CaseOf("jobs/a", 0).reason, "POISON");
  const AssignTo next = OneAssign();
  EXPECT_EQ(next.ref.index, 1) << "the next case of the job runs";
  world_.Result("w-cpu", HeldOf(next));
  EXPECT_EQ(world_.Job("jobs/a").state, State::kFailed);
  EXPECT_EQ(world_.Job("jobs/a").reason, "POISON");
}

JobEntry EntryOf(const std::string& name, const std::vector<std::uint64_t>& contents) {
  JobEntry job;
  job.name = name;
  job.owner = name;
  job.device = "cpu";
  for (std::size_t i = 0; i < contents.size(); ++i) {
    Case& item = job.cases.emplace_back();
    item.ref = {name, static_cast<int>(i)};
    item.content = contents[i];
  }
  return job;
}

TEST_F(SchedulerTest, DeathsCountForAllWhoAskForTheSame) {
  constexpr std::uint64_t kKiller = 7;
  world_.Hello(cpu_);
  world_.AddEntry(EntryOf("jobs/a", {1, kKiller}));
  EXPECT_TRUE(world_.Result("w-cpu", HeldOf(OneAssign())));
  EXPECT_EQ(OneAssign().ref.index, 1);
  world_.AddEntry(EntryOf("jobs/b", {kKiller}));
  world_.AddEntry(EntryOf("jobs/c", {2}));
  cpu_.boot_id = "boot2";
  world_.Hello(cpu_);
  EXPECT_FALSE(IsFinal(world_.CaseOf("jobs/a", 1).state)) << "one death is no proof";
  // Whoever of the two comes next kills the second worker.
  AssignTo next = OneAssign();
  while (next.ref.job == "jobs/c") {
    EXPECT_TRUE(world_.Result("w-cpu", HeldOf(next)));
    next = OneAssign();
  }
  cpu_.boot_id = "boot3";
  world_.Hello(cpu_);
  for (const CaseRef& ref : {CaseRef{"jobs/a", 1}, CaseRef{"jobs/b", 0}}) {
    EXPECT_EQ(world_.CaseOf(ref.job, ref.index).state, State::kFailed) << ref.job;
    EXPECT_EQ(world_.CaseOf(ref.job, ref.index).reason, "POISON") << ref.job;
  }
  EXPECT_THAT(world_.Job("jobs/a").message, ::testing::HasSubstr("case 2 of 2 killed its worker"));
  EXPECT_EQ(world_.CaseOf("jobs/a", 0).state, State::kSucceeded);
  for (const AssignTo& assign : world_.TakeAssigns()) EXPECT_EQ(assign.ref.job, "jobs/c");
}

TEST_F(SchedulerTest, ADeathIsForgottenAfterAnHourAndRememberedOverARestart) {
  constexpr std::uint64_t kKiller = 7;
  world_.scheduler().RememberDeath(world_.now() - 3601, kKiller, {"jobs/old", 0});
  world_.Hello(cpu_);
  world_.AddEntry(EntryOf("jobs/a", {kKiller}));
  OneAssign();
  cpu_.boot_id = "boot2";
  world_.Hello(cpu_);
  EXPECT_TRUE(world_.Result("w-cpu", HeldOf(OneAssign()))) << "the old one does not count";
  world_.Advance(3601);
  world_.Beat(cpu_);
  world_.scheduler().RememberDeath(world_.now() - 3000, kKiller, {"jobs/other", 0});
  world_.AddEntry(EntryOf("jobs/b", {kKiller}));
  OneAssign();
  cpu_.boot_id = "boot3";
  world_.Hello(cpu_);
  EXPECT_EQ(world_.CaseOf("jobs/b", 0).reason, "POISON");
  EXPECT_THAT(world_.CaseOf("jobs/b", 0).message, ::testing::HasSubstr("jobs/b, jobs/other"));
  // Of one that is not counted with others only its own deaths do.
  world_.AddEntry(EntryOf("jobs/fresh", {0}));
  OneAssign();
  cpu_.boot_id = "boot4";
  world_.Hello(cpu_);
  EXPECT_EQ(world_.CaseOf("jobs/fresh", 0).state, State::kRunning) << "tried again";
}

}  // namespace
}  // namespace kbench::scheduler
