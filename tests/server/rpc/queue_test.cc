// GetQueue over a coordinator with make-believe workers, and what jobs carry of their place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "proto/support/clock.h"
#include "tests/server/rpc/queue_helpers.h"

namespace kbench::server {
namespace {

using namespace kbench::v1;     // NOLINT: the messages
using namespace queue_testing;  // NOLINT: its own helpers
using ::testing::HasSubstr;

TEST(Queue, ShowsWhoRunsHowFarAndWhoIsNext) {
  TestServer server(Quick());
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  ASSERT_TRUE(worker.Welcome().has_value());
  const Job first = server.MustSubmit(JobOf("ana", 3));
  const auto assign = worker.Assign();
  ASSERT_TRUE(assign.has_value());
  const Job second = server.MustSubmit(JobOf("ben"));
  worker.Send(ProgressOf(assign->id(), "measure", 7));
  const QueueSnapshot queue = Until(server, [](const QueueSnapshot& q) {
    return q.devices_size() == 1 && q.devices(0).running().progress().round() == 7;
  });
  const DeviceQueue& device = queue.devices(0);
  EXPECT_EQ(device.device(), "cpu");
  EXPECT_EQ(device.model(), "Fake cpu");
  EXPECT_EQ(device.running().job(), first.name());
  EXPECT_EQ(device.running().owner(), "ana");
  EXPECT_EQ(device.running().priority_class(), "interactive");
  EXPECT_EQ(device.running().text(), "matmul fp32 64");
  EXPECT_EQ(device.running().cases(), 3);
  ASSERT_TRUE(device.running().has_yields());
  EXPECT_GE(ToMicros(device.running().yields().latest()),
            ToMicros(device.running().yields().earliest()));
  EXPECT_EQ(device.utilization(), 0);
  EXPECT_EQ(queue.waiting_jobs(), 2) << "the rest of ana's, and ben's";
  EXPECT_EQ(queue.waiting_cases(), 3);
  ASSERT_EQ(queue.waiting_size(), 2);
  bool seen = false;
  for (const QueuedJob& job : queue.waiting()) {
    if (job.job() != second.name()) continue;
    seen = true;
    EXPECT_EQ(job.owner(), "ben");
    EXPECT_EQ(job.text(), "matmul fp32 64");
    EXPECT_EQ(job.waiting_cases(), 1);
    EXPECT_GT(job.estimated_seconds(), 0);
    EXPECT_GT(job.create_time().seconds(), 0);
  }
  EXPECT_TRUE(seen);
}

TEST(Queue, AHeartbeatsForeignProcessesStandInItAndInTheDevice) {
  TestServer server(Quick());
  FakeWorker worker(server, "w1", FakeDevice("gpu0", "cuda"));
  ASSERT_TRUE(worker.Welcome().has_value());
  worker.Beat(BusyBeat());
  const QueueSnapshot queue = Until(server, [](const QueueSnapshot& q) {
    return q.devices_size() == 1 && q.devices(0).foreign_size() == 1;
  });
  EXPECT_EQ(queue.devices(0).foreign(0).user(), "bob");
  EXPECT_EQ(queue.devices(0).foreign(0).memory_bytes(), std::int64_t{12} << 30);
  EXPECT_NEAR(queue.devices(0).utilization(), 0.37, 1e-9);
  grpc::ClientContext context;
  ListDevicesResponse devices;
  ASSERT_TRUE(server.devices().ListDevices(&context, {}, &devices).ok());
  EXPECT_EQ(devices.devices(0).foreign(0).command(), "python");
  worker.Beat();
  Until(server, [](const QueueSnapshot& q) { return q.devices(0).foreign().empty(); });
}

TEST(Queue, FiltersKeepThePositionsOfTheWholeQueue) {
  TestServer server(Quick());
  FakeWorker cpu(server, "w1", FakeDevice("cpu", "cpu"));
  FakeWorker gpu(server, "w2", FakeDevice("gpu0", "cuda"));
  ASSERT_TRUE(cpu.Welcome().has_value());
  ASSERT_TRUE(gpu.Welcome().has_value());
  for (const char* device : {"cpu", "gpu0"}) server.MustSubmit(JobOf("ana", 1, device));
  ASSERT_TRUE(cpu.Assign().has_value());
  ASSERT_TRUE(gpu.Assign().has_value());
  server.MustSubmit(JobOf("ana", 1, "cpu"));
  const Job ben = server.MustSubmit(JobOf("ben", 1, "cpu"));
  server.MustSubmit(JobOf("ana", 1, "gpu0"));
  const QueueSnapshot all =
      Until(server, [](const QueueSnapshot& q) { return q.waiting_size() == 3; });
  std::map<std::string, int> positions;
  for (const QueuedJob& job : all.waiting()) positions[job.job()] = job.position();

  GetQueueRequest request;
  request.set_owner("ben");
  auto queue = GetQueue(server, request);
  ASSERT_TRUE(queue.ok()) << queue.status();
  ASSERT_EQ(queue->waiting_size(), 1);
  EXPECT_EQ(queue->waiting(0).job(), ben.name());
  EXPECT_EQ(queue->waiting(0).position(), positions[ben.name()]);
  EXPECT_EQ(queue->waiting_jobs(), 3) << "of all";
  EXPECT_EQ(queue->devices_size(), 2);

  request.Clear();
  request.set_device("gpu0");
  queue = GetQueue(server, request);
  ASSERT_TRUE(queue.ok());
  ASSERT_EQ(queue->devices_size(), 1);
  EXPECT_EQ(queue->devices(0).device(), "gpu0");
  EXPECT_EQ(queue->waiting_size(), 1);

  request.set_owner("nobody");
  queue = GetQueue(server, request);
  ASSERT_TRUE(queue.ok()) << "a filter that nothing passes is no error";
  EXPECT_EQ(queue->waiting_size(), 0);

  request.Clear();
  request.set_most_waiting(2);
  EXPECT_EQ(GetQueue(server, request)->waiting_size(), 2);
}

TEST(Queue, BadInputIsNamed) {
  TestServer server(Quick());
  FakeWorker worker(server, "w1", FakeDevice("gpu0", "cuda"));
  ASSERT_TRUE(worker.Welcome().has_value());
  GetQueueRequest request;
  request.set_most_waiting(-1);
  const absl::Status negative = GetQueue(server, request).status();
  EXPECT_EQ(negative.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(DetailsOf(negative).violations.at(0).field, "most_waiting");
  request.Clear();
  request.set_device("gpu1");
  const absl::Status unknown = GetQueue(server, request).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(DetailsOf(unknown).metadata.at("nearest"), "gpu0");
  request.set_device(std::string(1 << 20, 'x'));
  EXPECT_EQ(GetQueue(server, request).status().code(), absl::StatusCode::kInvalidArgument);
  request.Clear();
  request.set_most_waiting(1 << 30);
  EXPECT_TRUE(GetQueue(server, request).ok()) << "taken as 1000";

  request.set_device("gpu1");
  grpc::ClientContext context;
  auto reader = server.jobs().WatchQueue(&context, request);
  QueueSnapshot snapshot;
  EXPECT_FALSE(reader->Read(&snapshot));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::NOT_FOUND);

  const absl::Status job = Explain(server, "jobs/none").status();
  EXPECT_EQ(job.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(MessageOf(job), HasSubstr("none"));
}

TEST(Queue, ProgressOfAnAttemptThatIsNotTheRunningOneIsNoProgress) {
  TestServer server(Quick());
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  const Job job = server.MustSubmit(JobOf("ana"));
  const auto assign = worker.Assign();
  ASSERT_TRUE(assign.has_value());
  AttemptId forged = assign->id();
  forged.set_epoch(assign->id().epoch() + 7);
  worker.Send(ProgressOf(forged, "measure", 50));
  forged = assign->id();
  forged.set_case_index(9);
  worker.Send(ProgressOf(forged, "measure", 51));
  forged.set_job("jobs/other");
  worker.Send(ProgressOf(forged, "measure", 52));
  worker.Send(ProgressOf(assign->id(), "measure", 3));
  const QueueSnapshot queue = Until(
      server, [](const QueueSnapshot& q) { return q.devices(0).running().progress().round() > 0; });
  EXPECT_EQ(queue.devices(0).running().progress().round(), 3);
}

TEST(Queue, AJobCarriesItsPlaceAndItsWatcherHearsOfIt) {
  TestServer server(Quick());
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  ASSERT_TRUE(worker.Welcome().has_value());
  server.MustSubmit(JobOf("ana"));
  const auto assign = worker.Assign();
  ASSERT_TRUE(assign.has_value());
  const Job job = server.MustSubmit(JobOf("ben", 2));
  EXPECT_EQ(job.queue_position(), 1);
  EXPECT_TRUE(job.start_estimate().has_latest());
  EXPECT_GT(job.estimated_seconds(), 0);
  grpc::ClientContext context;
  WatchJobRequest request;
  request.set_name(job.name());
  auto reader = server.jobs().WatchJob(&context, request);
  JobEvent event;
  do {
    ASSERT_TRUE(reader->Read(&event));
  } while (!event.has_queue());
  EXPECT_EQ(event.queue().position(), 1);
  EXPECT_TRUE(event.queue().start_estimate().has_latest());
  EXPECT_GT(event.time().seconds(), 0) << "what the estimate is relative to";
  context.TryCancel();
  reader->Finish();
}

}  // namespace
}  // namespace kbench::server
