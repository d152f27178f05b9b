// GetQueue, WatchQueue and ExplainJob over a coordinator with make-believe workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "proto/support/clock.h"
#include "proto/support/rpc_status.h"
#include "tests/server/rpc/harness.h"

namespace kbench::server {
namespace {

using namespace kbench::v1;  // NOLINT: the messages
using ::testing::HasSubstr;

CoordinatorOptions Quick() {
  CoordinatorOptions options = TestServer::DefaultOptions();
  options.queue_seconds = 0.02;
  return options;
}

absl::StatusOr<QueueSnapshot> GetQueue(TestServer& server, const GetQueueRequest& request = {}) {
  grpc::ClientContext context;
  QueueSnapshot snapshot;
  const grpc::Status status = server.jobs().GetQueue(&context, request, &snapshot);
  if (!status.ok()) return FromGrpc(status);
  return snapshot;
}

absl::StatusOr<Explanation> Explain(TestServer& server, const std::string& job) {
  grpc::ClientContext context;
  ExplainJobRequest request;
  request.set_name(job);
  Explanation why;
  const grpc::Status status = server.jobs().ExplainJob(&context, request, &why);
  if (!status.ok()) return FromGrpc(status);
  return why;
}

SubmitJobRequest JobOf(const std::string& owner, int cases = 1, const std::string& device = "") {
  SubmitJobRequest request = MatmulJob(cases, device);
  request.set_owner(owner);
  return request;
}

WorkerMessage ProgressOf(const AttemptId& id, const std::string& phase, int round,
                         const std::string& message = "") {
  WorkerMessage out;
  *out.mutable_progress()->mutable_id() = id;
  Progress& progress = *out.mutable_progress()->mutable_progress();
  progress.set_phase(phase);
  progress.set_round(round);
  progress.set_max_rounds(60);
  progress.set_message(message);
  return out;
}

Heartbeat BusyBeat(const std::vector<HeldAttempt>& held = {}) {
  Heartbeat beat;
  beat.set_device_state(held.empty() ? "READY" : "BUSY");
  for (const HeldAttempt& item : held) *beat.add_held() = item;
  ForeignProcess& other = *beat.add_foreign();
  other.set_pid(4711);
  other.set_user("bob");
  other.set_command("python");
  other.set_memory_bytes(std::int64_t{12} << 30);
  other.set_utilization(0.37);
  return beat;
}

// Looks until the condition holds, at most 10 s.
QueueSnapshot Until(TestServer& server, const std::function<bool(const QueueSnapshot&)>& holds,
                    const GetQueueRequest& request = {}) {
  QueueSnapshot last;
  for (int i = 0; i < 1000; ++i) {
    const auto snapshot = GetQueue(server, request);
    if (snapshot.ok()) last = *snapshot;
    if (snapshot.ok() && holds(last)) return last;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ADD_FAILURE() << "the queue stayed " << last.ShortDebugString();
  return last;
}

Explanation ExplainUntil(TestServer& server, const std::string& job, const std::string& rule) {
  absl::StatusOr<Explanation> why;
  for (int i = 0; i < 1000; ++i) {
    why = Explain(server, job);
    if (why.ok() && why->rule() == rule) return *why;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ADD_FAILURE() << "not " << rule << ": "
                << (why.ok() ? why->ShortDebugString() : why.status().ToString());
  return Explanation();
}

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
