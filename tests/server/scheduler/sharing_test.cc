// Cases that end with the results of others.
#include "tests/server/scheduler/scheduler_fixture.h"

namespace kbench::scheduler {
namespace {

class SharingTest : public SchedulerTest {
 protected:
  void AddOne(const std::string& name, const std::string& device) {
    JobEntry job;
    job.name = name;
    job.device = device;
    Case item;
    item.ref = {name, 0};
    job.cases.push_back(item);
    world_.AddEntry(std::move(job));
  }
  WorkerEntry gpu0_ = world_.Worker("w-gpu0", "boot1", "gpu0", "cuda");
  WorkerEntry gpu1_ = world_.Worker("w-gpu1", "boot1", "gpu1", "cuda");
};

TEST_F(SharingTest, AWaitingCaseIsFinishedByTheRunOfAnother) {
  world_.Hello(gpu0_);
  AddOne("jobs/a", "gpu");
  EXPECT_EQ(OneAssign().ref.job, "jobs/a");
  AddOne("jobs/b", "gpu");
  EXPECT_TRUE(world_.scheduler().WaitsFor({"jobs/b", 0}, gpu0_.worker_id));
  world_.Reused({"jobs/b", 0});
  world_.Apply(world_.scheduler().FinishCase(world_.now(), {"jobs/b", 0}, {"jobs/a", 0}, "gpu0"));
  EXPECT_EQ(world_.Job("jobs/b").state, State::kSucceeded);
  EXPECT_EQ(world_.CaseOf("jobs/b", 0).results_of, "jobs/a");
  EXPECT_EQ(world_.CaseOf("jobs/b", 0).attempts, 0);
}

TEST_F(SharingTest, OnlyAWaitingCaseIsFinishedByAnother) {
  world_.Hello(gpu0_);
  AddOne("jobs/a", "gpu");
  const AssignTo assign = OneAssign();
  EXPECT_TRUE(
      world_.scheduler().FinishCase(world_.now(), {"jobs/a", 0}, {"jobs/x", 0}, "gpu0").empty())
      << "it runs";
  EXPECT_TRUE(world_.scheduler().IsOpen(gpu0_.worker_id, HeldOf(assign)));
  EXPECT_FALSE(world_.scheduler().IsOpen(gpu1_.worker_id, HeldOf(assign)));
  EXPECT_FALSE(world_.scheduler().WaitsFor({"jobs/a", 0}, gpu0_.worker_id));
}

TEST_F(SharingTest, CasesThatEndedBeforeTheJobBeganAreTakenAsTheyAre) {
  world_.Hello(gpu0_);
  world_.Hello(gpu1_);
  for (const bool all : {false, true}) {
    JobEntry job;
    job.name = all ? "jobs/all" : "jobs/some";
    job.device = "gpu";
    for (int i = 0; i < 2; ++i) {
      Case item;
      item.ref = {job.name, i};
      if (i == 0 || all) {
        item.state = State::kSucceeded;
        item.results_of = "jobs/old";
        item.device = "gpu1";
        world_.Reused(item.ref);
      }
      job.cases.push_back(item);
    }
    world_.AddEntry(std::move(job));
    EXPECT_EQ(world_.Check(), "");
  }
  EXPECT_EQ(world_.Job("jobs/all").state, State::kSucceeded);
  const AssignTo assign = OneAssign();
  EXPECT_EQ(assign.ref, (CaseRef{"jobs/some", 1}));
  EXPECT_EQ(assign.worker_id, gpu1_.worker_id) << "where the others were measured";
}

}  // namespace
}  // namespace kbench::scheduler
