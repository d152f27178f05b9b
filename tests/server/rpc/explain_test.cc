// ExplainJob over a coordinator with make-believe workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "proto/support/clock.h"
#include "tests/server/rpc/queue_helpers.h"

namespace kbench::server {
namespace {

using namespace kbench::v1;     // NOLINT: the messages
using namespace queue_testing;  // NOLINT: its own helpers
using ::testing::HasSubstr;

TEST(Explain, WaitingRunningAndEnded) {
  TestServer server(Quick());
  const Job job = server.MustSubmit(JobOf("ana"));
  Explanation why = ExplainUntil(server, job.name(), "NO_DEVICE");
  EXPECT_THAT(why.sentence(), HasSubstr("no device"));
  EXPECT_EQ(why.job().name(), job.name());
  EXPECT_EQ(why.job().cases_size(), 0);

  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  const auto assign = worker.Assign();
  ASSERT_TRUE(assign.has_value());
  worker.Send(ProgressOf(assign->id(), "measure", 12));
  for (int i = 0; i < 500 && why.sentence().find("round 12") == std::string::npos; ++i) {
    why = ExplainUntil(server, job.name(), "RUNNING");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(why.sentence(),
            "it runs on cpu: case 1 of 1, matmul fp32 64, measuring, round 12 of at most 60");

  const Job next = server.MustSubmit(JobOf("ben"));
  why = *Explain(server, next.name());
  EXPECT_THAT(why.rule(), ::testing::AnyOf("NEXT", "DEVICE_BUSY"));
  ASSERT_EQ(why.devices_size(), 1);
  EXPECT_TRUE(why.devices(0).suitable());
  EXPECT_EQ(why.devices(0).reason(), "DEVICE_BUSY");
  EXPECT_THAT(why.devices(0).message(), HasSubstr("matmul fp32 64"));

  worker.SendResult(FakeWorker::GoodResult(*assign));
  server.WaitFor(job.name(), JOB_STATE_SUCCEEDED);
  why = *Explain(server, job.name());
  EXPECT_EQ(why.rule(), "SUCCEEDED");
  EXPECT_EQ(why.sentence(), "it has ended: SUCCEEDED");
  EXPECT_TRUE(why.devices().empty());
}

TEST(Explain, ThoseAheadAreNamed) {
  TestServer server(Quick());
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  ASSERT_TRUE(worker.Welcome().has_value());
  server.MustSubmit(JobOf("ana"));
  ASSERT_TRUE(worker.Assign().has_value());
  const Job ahead = server.MustSubmit(JobOf("ana", 2));
  const Job last = server.MustSubmit(JobOf("ana", 30));
  const auto why = Explain(server, last.name());
  ASSERT_TRUE(why.ok());
  EXPECT_EQ(why->rule(), "OWN_ORDER");
  EXPECT_EQ(why->ahead_jobs(), 1);
  ASSERT_EQ(why->ahead_size(), 1);
  EXPECT_EQ(why->ahead(0).job(), ahead.name());
  EXPECT_EQ(why->ahead(0).owner(), "ana");
  EXPECT_EQ(why->ahead(0).text(), "matmul fp32 64");
  EXPECT_THAT(why->sentence(), HasSubstr(ahead.name().substr(5) + " of ana (matmul fp32 64)"));
  EXPECT_THAT(why->sentence(), HasSubstr("it goes before all who have not waited as long"));
}

TEST(Explain, OthersOnTheDeviceAreSaidWithTheirNames) {
  TestServer server(Quick());
  FakeWorker worker(server, "w1", FakeDevice("gpu0", "cuda"));
  ASSERT_TRUE(worker.Welcome().has_value());
  const Job job = server.MustSubmit(JobOf("ana", 1, "gpu0"));
  const auto assign = worker.Assign();
  ASSERT_TRUE(assign.has_value());
  const Job next = server.MustSubmit(JobOf("ben", 1, "gpu0"));
  worker.Send(ProgressOf(assign->id(), "wait", 0,
                         "waiting for the device: process 4711 (python, user bob) uses 37 % of the "
                         "device"));
  Explanation why = ExplainUntil(server, job.name(), "FOREIGN_BUSY");
  EXPECT_THAT(why.sentence(), HasSubstr("it has its turn on gpu0 and waits for others there: "
                                        "process 4711 (python, user bob)"));
  why = ExplainUntil(server, next.name(), "FOREIGN_BUSY");
  EXPECT_THAT(why.sentence(), HasSubstr("user bob"));
  EXPECT_EQ(why.devices(0).reason(), "FOREIGN_BUSY");
  const QueueSnapshot queue = *GetQueue(server);
  EXPECT_FALSE(queue.devices(0).running().has_yields()) << "nobody knows when the others stop";

  // The others have gone: the case goes on.
  worker.Send(ProgressOf(assign->id(), "prepare", 0));
  ExplainUntil(server, job.name(), "RUNNING");
}

std::map<std::string, DeviceReason> DevicesOf(TestServer& server, const std::string& job) {
  std::map<std::string, DeviceReason> devices;
  const auto why = Explain(server, job);
  if (!why.ok()) return devices;
  for (const DeviceReason& one : why->devices()) devices[one.device()] = one;
  return devices;
}

TEST(Explain, EveryDeviceSaysWhyNot) {
  TestServer server(Quick());
  FakeWorker gpu0(server, "w0", FakeDevice("gpu0", "cuda"));
  ASSERT_TRUE(gpu0.Welcome().has_value());
  Device lame = FakeDevice("gpu1", "cuda");
  lame.clear_implementations();
  FakeWorker gpu1(server, "w1", lame);
  ASSERT_TRUE(gpu1.Welcome().has_value());
  FakeWorker cpu(server, "w2", FakeDevice("cpu", "cpu"));
  ASSERT_TRUE(cpu.Welcome().has_value());
  {
    FakeWorker gpu2(server, "w3", FakeDevice("gpu2", "cuda"));
    ASSERT_TRUE(gpu2.Welcome().has_value());
  }
  Until(server, [](const QueueSnapshot& q) {
    return std::count_if(q.devices().begin(), q.devices().end(),
                         [](const auto& d) { return d.state() == "OFFLINE"; }) == 1;
  });
  server.MustSubmit(JobOf("ana", 1, "gpu0"));
  ASSERT_TRUE(gpu0.Assign().has_value());
  const Job job = server.MustSubmit(JobOf("ana"));
  auto devices = DevicesOf(server, job.name());
  EXPECT_EQ(devices["gpu0"].reason(), "DEVICE_BUSY");
  EXPECT_TRUE(devices["gpu0"].suitable());
  EXPECT_EQ(devices["gpu1"].reason(), "DEVICE_LACKS_KERNEL");
  EXPECT_FALSE(devices["gpu1"].suitable());
  EXPECT_EQ(devices["gpu2"].reason(), "DEVICE_OFFLINE");
  EXPECT_THAT(devices["gpu2"].message(), HasSubstr("not connected"));
  EXPECT_EQ(devices["cpu"].reason(), "GPU_FIRST");
  const Job named = server.MustSubmit(JobOf("ana", 1, "gpu0"));
  devices = DevicesOf(server, named.name());
  EXPECT_EQ(devices["gpu1"].reason(), "NOT_SELECTED") << "its name is near";
  EXPECT_FALSE(devices["gpu1"].suitable());
}

}  // namespace
}  // namespace kbench::server
