// Which devices a job may run on, and the view of a part of the queue.
#include "server/scheduler/fit.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "server/scheduler/scheduler.h"

namespace kbench::scheduler {
namespace {

WorkerEntry Worker(const std::string& device, const std::string& kind) {
  WorkerEntry worker;
  worker.worker_id = "host/" + device;
  worker.boot_id = "boot1";
  worker.device = device;
  worker.device_kind = kind;
  worker.device_key = device;
  worker.capabilities = {"matmul"};
  return worker;
}

JobEntry Job(const std::string& name, const std::string& owner, const std::string& device,
             int cases = 1) {
  JobEntry job;
  job.name = "jobs/" + name;
  job.owner = owner;
  job.device = device;
  for (int i = 0; i < cases; ++i) {
    Case item;
    item.ref = {job.name, i};
    item.need = "matmul";
    job.cases.push_back(item);
  }
  return job;
}

std::map<std::string, std::string> Reasons(const Scheduler& scheduler, double now,
                                           const std::string& job) {
  std::map<std::string, std::string> reasons;
  for (const Fit& fit : scheduler.Fits(now, job)) reasons[fit.device] = fit.reason;
  return reasons;
}

TEST(Fits, EveryReasonWhyADeviceTakesNothing) {
  Scheduler scheduler{Options()};
  WorkerEntry lame = Worker("gpu1", "cuda");
  lame.capabilities = {"sum"};
  WorkerEntry blocked = Worker("gpu2", "cuda");
  blocked.blocked = "QUARANTINED";
  WorkerEntry ill = Worker("gpu3", "cuda");
  ill.ready = false;
  for (const WorkerEntry& worker :
       {Worker("gpu0", "cuda"), lame, blocked, ill, Worker("gpu4", "cuda"), Worker("cpu", "cpu")}) {
    ASSERT_TRUE(scheduler.WorkerHello(1, worker, {}).accepted);
  }
  scheduler.WorkerGone(2, "host/gpu4", "boot1");
  scheduler.AddJob(3, Job("busy", "ana", "gpu0"));  // takes gpu0
  scheduler.AddJob(3, Job("a", "ana", ""));
  std::map<std::string, std::string> reasons = Reasons(scheduler, 3, "jobs/a");
  EXPECT_EQ(reasons["gpu0"], "") << "taken, but it would";
  EXPECT_EQ(reasons["gpu1"], "DEVICE_LACKS_KERNEL");
  EXPECT_EQ(reasons["gpu2"], "QUARANTINED");
  EXPECT_EQ(reasons["gpu3"], "DEVICE_NOT_READY");
  EXPECT_EQ(reasons["gpu4"], "DEVICE_OFFLINE");
  EXPECT_EQ(reasons["cpu"], "GPU_FIRST");
  scheduler.AddJob(3, Job("b", "ana", "cpu"));
  reasons = Reasons(scheduler, 3, "jobs/b");
  EXPECT_EQ(reasons["gpu0"], "NOT_SELECTED");
  scheduler.WorkerHeartbeat(4, "host/cpu", "boot1", true, true, {});
  EXPECT_EQ(Reasons(scheduler, 4, "jobs/b")["cpu"], "WORKER_STOPPING");
  EXPECT_TRUE(scheduler.Fits(3, "jobs/none").empty());
}

TEST(Fits, AJobStaysWhereItBegan) {
  Scheduler scheduler{Options()};
  ASSERT_TRUE(scheduler.WorkerHello(1, Worker("gpu0", "cuda"), {}).accepted);
  scheduler.AddJob(2, Job("a", "ana", "gpu", 2));
  ASSERT_TRUE(scheduler.WorkerHello(3, Worker("gpu1", "cuda"), {}).accepted);
  EXPECT_EQ(Reasons(scheduler, 3, "jobs/a")["gpu1"], "OTHER_DEVICE");
  EXPECT_EQ(Reasons(scheduler, 3, "jobs/a")["gpu0"], "");
}

TEST(View, AFilterKeepsPlacesAndCountsOfTheWholeQueue) {
  Scheduler scheduler{Options()};
  ASSERT_TRUE(scheduler.WorkerHello(1, Worker("gpu0", "cuda"), {}).accepted);
  ASSERT_TRUE(scheduler.WorkerHello(1, Worker("gpu1", "cuda"), {}).accepted);
  for (int i = 0; i < 6; ++i) {
    const std::string number = std::to_string(i);
    scheduler.AddJob(2 + i, Job(number, i % 2 == 0 ? "ana" : "ben", "gpu" + std::to_string(i / 3)));
  }
  const QueueView all = scheduler.View(10, 50);
  ASSERT_EQ(all.waiting.size(), 4u) << "two run";
  std::map<std::string, int> positions;
  for (const WaitingJob& job : all.waiting) positions[job.job] = job.position;
  int seen = 0;
  for (const char* owner : {"ana", "ben"}) {
    const QueueView part = scheduler.View(10, 50, {owner, {}});
    EXPECT_EQ(part.waiting_jobs, 4);
    for (const WaitingJob& job : part.waiting) {
      EXPECT_EQ(job.owner, owner);
      EXPECT_EQ(job.position, positions[job.job]);
      ++seen;
    }
  }
  EXPECT_EQ(seen, 4);
  for (const WaitingJob& job : scheduler.View(10, 50, {"", {"gpu1"}}).waiting) {
    EXPECT_EQ(scheduler.FindJob(job.job)->device, "gpu1");
    ++seen;
  }
  EXPECT_EQ(seen, 6);
  EXPECT_TRUE(scheduler.View(10, 50, {"nobody", {}}).waiting.empty());
  EXPECT_TRUE(scheduler.View(10, 50, {"", {"gpu7"}}).waiting.empty());
  EXPECT_EQ(scheduler.View(10, 1, {"", {"gpu1"}}).waiting.size(), 1u);
}

}  // namespace
}  // namespace kbench::scheduler
