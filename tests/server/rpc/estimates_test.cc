// How long cases take and who has used how much, through the coordinator and its store.
#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "tests/server/rpc/harness.h"
#include "tests/server/rpc/queue_helpers.h"

namespace kbench::server {
namespace {

using kbench::v1::Job;
using kbench::v1::QueueSnapshot;
using queue_testing::GetQueue;
using queue_testing::JobOf;

double UsedBy(const QueueSnapshot& queue, const std::string& owner) {
  for (const auto& share : queue.owners()) {
    if (share.owner() == owner) return share.used_seconds();
  }
  return -1;
}

// One case of the owner that holds its device for so long.
void RunFor(TestServer& server, FakeWorker& worker, const std::string& owner, double seconds) {
  const Job job = server.MustSubmit(JobOf(owner));
  const auto assign = worker.Assign();
  ASSERT_TRUE(assign.has_value());
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  worker.SendResult(FakeWorker::GoodResult(*assign));
  server.WaitFor(job.name(), kbench::v1::JOB_STATE_SUCCEEDED);
}

TEST(Estimates, HistoryTellsHowLongTheNextOneTakesAlsoAfterARestart) {
  TestServer server;
  auto worker = std::make_unique<FakeWorker>(server, "w1", FakeDevice("cpu", "cpu"));
  ASSERT_TRUE(worker->Welcome().has_value());
  RunFor(server, *worker, "ana", 0.3);
  const Job second = server.MustSubmit(JobOf("ana"));
  // The default is 10 s; this one ran for a third of a second, on a machine that may be slow.
  EXPECT_GE(second.estimated_seconds(), 0.29);
  EXPECT_LT(second.estimated_seconds(), 9);
  worker.reset();
  server.Restart();
  const Job third = server.MustSubmit(JobOf("ana"));
  EXPECT_GE(third.estimated_seconds(), 0.29);
  EXPECT_LT(third.estimated_seconds(), 9);
}

TEST(Estimates, WhatAnOwnerUsedSurvivesARestart) {
  TestServer server;
  auto worker = std::make_unique<FakeWorker>(server, "w1", FakeDevice("cpu", "cpu"));
  ASSERT_TRUE(worker->Welcome().has_value());
  RunFor(server, *worker, "ana", 0.3);
  RunFor(server, *worker, "ben", 0);
  worker.reset();
  server.Restart();
  for (const char* owner : {"ana", "ben"}) server.MustSubmit(JobOf(owner));
  const auto queue = GetQueue(server);
  ASSERT_TRUE(queue.ok()) << queue.status();
  EXPECT_GE(UsedBy(*queue, "ana"), 0.29);
  EXPECT_GT(UsedBy(*queue, "ana"), UsedBy(*queue, "ben"));
  EXPECT_GE(UsedBy(*queue, "ben"), 0);
}

TEST(Estimates, TheClassIsStoredInFull) {
  TestServer server;
  kbench::v1::SubmitJobRequest request = MatmulJob();
  EXPECT_EQ(server.MustSubmit(request).spec().priority_class(), "interactive");
  request.mutable_spec()->set_priority_class("batch");
  const Job job = server.MustSubmit(request);
  EXPECT_EQ(server.Get(job.name())->spec().priority_class(), "batch");
}

}  // namespace
}  // namespace kbench::server
