// Devices beside their sessions: blocked ones, those of before a restart, one model a job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/scheduler/world.h"

namespace kbench::scheduler {
namespace {

class DevicesTest : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(world_.Check(), ""); }

  WorkerEntry Gpu(const std::string& name, const std::string& model) const {
    WorkerEntry entry = world_.Worker("w-" + name, "boot1", name, "cuda");
    entry.model = model;
    return entry;
  }
  void Block(const std::string& device, const std::string& reason) {
    world_.Apply(world_.scheduler().BlockDevice(world_.now(), device, reason));
  }
  std::string WaitReason(const std::string& job) {
    return world_.scheduler().WaitReason(world_.now(), job);
  }
  AssignTo OneAssign() {
    const std::vector<AssignTo> assigns = world_.TakeAssigns();
    EXPECT_EQ(assigns.size(), 1u);
    return assigns.empty() ? AssignTo{} : assigns.front();
  }

  World world_;
  WorkerEntry first_ = Gpu("gpu0", "NVIDIA H200");
  WorkerEntry twin_ = Gpu("gpu1", "NVIDIA H200");
  WorkerEntry other_ = Gpu("gpu2", "NVIDIA L4");
};

TEST_F(DevicesTest, ABlockedDeviceEndsItsCaseAndTakesNothingNew) {
  world_.Hello(first_);
  world_.Add("jobs/a", 2, "gpu0");
  const AssignTo running = OneAssign();
  Block("gpu0", "DRAINING");
  EXPECT_TRUE(world_.TakeCancels().empty()) << "what runs is not disturbed";
  world_.Add("jobs/b", 1, "gpu0");
  EXPECT_TRUE(world_.Result("w-gpu0", HeldOf(running)));
  world_.Beat(first_);
  EXPECT_TRUE(world_.TakeAssigns().empty());
  EXPECT_EQ(WaitReason("jobs/a"), "DRAINING");
  EXPECT_EQ(WaitReason("jobs/b"), "DRAINING");
  EXPECT_EQ(world_.scheduler().PlaceOf(world_.now(), "jobs/a").reason, "DRAINING");
  Block("gpu0", "");
  EXPECT_EQ(OneAssign().worker_id, "w-gpu0") << "at once, not at the next heartbeat";
}

TEST_F(DevicesTest, AJobOfABlockedDeviceGoesOnOnItsTwinAndNeverOnAnotherModel) {
  world_.Hello(first_);
  world_.Add("jobs/a", 3, "gpu");
  const AssignTo running = OneAssign();
  world_.Hello(other_);
  Block("gpu0", "QUARANTINED");
  EXPECT_TRUE(world_.Result("w-gpu0", HeldOf(running)));
  EXPECT_TRUE(world_.TakeAssigns().empty()) << "an L4 does not take what an H200 began";
  world_.Hello(twin_);
  EXPECT_EQ(OneAssign().worker_id, "w-gpu1");
}

TEST_F(DevicesTest, AfterARestartJobsKeepTheirModelThoughOnlyAnotherHasComeBack) {
  world_.Hello(first_);
  world_.Add("jobs/a", 2, "gpu");
  const AssignTo running = OneAssign();
  EXPECT_TRUE(world_.Result("w-gpu0", HeldOf(running)));
  const AssignTo second = OneAssign();
  EXPECT_TRUE(world_.Result("w-gpu0", HeldOf(second), AttemptEnd::Kind::kInfra));
  world_.TakeAssigns();
  world_.Restart();
  world_.scheduler().KnowWorker(world_.now(), first_);
  world_.Pass(60);  // no lease is left
  world_.Hello(other_);
  EXPECT_TRUE(world_.TakeAssigns().empty());
  world_.Hello(first_);
  EXPECT_EQ(OneAssign().worker_id, "w-gpu0");
}

TEST_F(DevicesTest, AKnownDeviceThatIsAwayIsWaitedForAndGoesBeforeTheCpu) {
  world_.scheduler().KnowWorker(world_.now(), first_);
  const WorkerEntry cpu = world_.Worker("w-cpu", "boot1", "cpu", "cpu");
  world_.Hello(cpu);
  world_.Add("jobs/a", 1);
  EXPECT_TRUE(world_.TakeAssigns().empty());
  EXPECT_EQ(WaitReason("jobs/a"), "DEVICE_OFFLINE");
}

TEST_F(DevicesTest, TheReasonIsOfADeviceThatWouldTakeTheJobSoonest) {
  world_.scheduler().KnowWorker(world_.now(), first_);
  world_.Hello(twin_);
  Block("gpu1", "QUARANTINED");
  world_.Add("jobs/a", 1, "gpu");
  EXPECT_EQ(WaitReason("jobs/a"), "DEVICE_OFFLINE") << "gpu0 needs nobody's word to take it";
  Block("gpu0", "DRAINING");
  EXPECT_THAT(WaitReason("jobs/a"), ::testing::AnyOf("DRAINING", "QUARANTINED"));
}

}  // namespace
}  // namespace kbench::scheduler
