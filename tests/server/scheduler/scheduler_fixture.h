// The scheduler with a fake time and two workers, for the tests of its rules.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/scheduler/scheduler.h"
#include "tests/server/scheduler/world.h"

namespace kbench::scheduler {

using Kind = AttemptEnd::Kind;

class SchedulerTest : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(world_.Check(), ""); }

  AssignTo OneAssign() {
    const std::vector<AssignTo> assigns = world_.TakeAssigns();
    EXPECT_EQ(assigns.size(), 1u);
    return assigns.empty() ? AssignTo{} : assigns.front();
  }
  // Runs everything there is on one well-behaved worker; the cases in the order they ran.
  std::vector<CaseRef> RunAll(const WorkerEntry& worker) {
    std::vector<CaseRef> order;
    for (auto assigns = world_.TakeAssigns(); !assigns.empty(); assigns = world_.TakeAssigns()) {
      EXPECT_EQ(assigns.size(), 1u);
      order.push_back(assigns.front().ref);
      EXPECT_TRUE(world_.Result(worker.worker_id, HeldOf(assigns.front())));
    }
    return order;
  }

  World world_;
  WorkerEntry cpu_ = world_.Worker("w-cpu", "boot1", "cpu", "cpu");
  WorkerEntry gpu_ = world_.Worker("w-gpu", "boot1", "gpu0", "cuda");
};

}  // namespace kbench::scheduler
