// Drains, quarantines, defaults and selectors over gRPC, with workers that say what a test tells
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "grpcpp/channel.h"
#include "kbench/v1/admin_service.grpc.pb.h"
#include "proto/support/rpc_status.h"
#include "tests/server/rpc/harness.h"

namespace kbench::server {
namespace {

using namespace kbench::v1;  // NOLINT: the states
using ::testing::AllOf;
using ::testing::HasSubstr;

Device Gpu(const std::string& name, const std::string& model) {
  Device device = FakeDevice(name, "cuda");
  device.set_model(model);
  device.set_architecture("sm_90");
  return device;
}

class DevicesTest : public ::testing::Test {
 protected:
  std::unique_ptr<AdminService::Stub> admin() { return AdminService::NewStub(server_.channel()); }

  absl::StatusOr<Device> Drain(const std::string& device, const std::string& reason) {
    grpc::ClientContext context;
    DrainDeviceRequest request;
    request.set_device(device);
    request.set_reason(reason);
    request.set_owner("ana");
    Device reply;
    const grpc::Status status = admin()->DrainDevice(&context, request, &reply);
    if (!status.ok()) return FromGrpc(status);
    return reply;
  }
  absl::StatusOr<Device> Quarantine(const std::string& device, const std::string& reason) {
    grpc::ClientContext context;
    QuarantineDeviceRequest request;
    request.set_device(device);
    request.set_reason(reason);
    Device reply;
    const grpc::Status status = admin()->QuarantineDevice(&context, request, &reply);
    if (!status.ok()) return FromGrpc(status);
    return reply;
  }
  absl::StatusOr<Device> Resume(const std::string& device, const std::string& kind = "") {
    grpc::ClientContext context;
    ResumeDeviceRequest request;
    request.set_device(device);
    request.set_kind(kind);
    Device reply;
    const grpc::Status status = admin()->ResumeDevice(&context, request, &reply);
    if (!status.ok()) return FromGrpc(status);
    return reply;
  }
  absl::Status SetDefault(const std::string& device, const std::string& owner) {
    grpc::ClientContext context;
    SetDefaultDeviceRequest request;
    request.set_device(device);
    request.set_owner(owner);
    SetDefaultDeviceResponse reply;
    return FromGrpc(admin()->SetDefaultDevice(&context, request, &reply));
  }
  ListDevicesResponse List(const std::string& owner = "") {
    grpc::ClientContext context;
    ListDevicesRequest request;
    request.set_owner(owner);
    ListDevicesResponse reply;
    EXPECT_TRUE(server_.devices().ListDevices(&context, request, &reply).ok());
    return reply;
  }
  Device Named(const std::string& name) {
    const ListDevicesResponse all = List();
    for (const Device& device : all.devices()) {
      if (device.name() == name) return device;
    }
    return {};
  }
  // Heartbeats are taken up in their time.
  Device WaitForState(const std::string& name, const std::string& state) {
    for (int i = 0; i < 500 && Named(name).state() != state; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(Named(name).state(), state);
    return Named(name);
  }
  Job WaitForReason(const std::string& job, const std::string& reason) {
    absl::StatusOr<Job> now = server_.Get(job);
    for (int i = 0; i < 500 && now.ok() && now->reason() != reason; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      now = server_.Get(job);
    }
    EXPECT_EQ(now->reason(), reason);
    return *now;
  }

  TestServer server_;
};

TEST_F(DevicesTest, ADrainShowsAlsoWhileTheWorkerIsAway) {
  FakeWorker worker(server_, "w", FakeDevice("cpu0", "cpu"));
  ASSERT_TRUE(worker.Welcome());
  ASSERT_TRUE(Drain("cpu0", "new fans").ok());
  EXPECT_EQ(WaitForState("cpu0", "DRAINED").state_message().rfind("new fans", 0), 0u);
  worker.Disconnect();
  const Device away = WaitForState("cpu0", "OFFLINE");
  EXPECT_THAT(away.state_message(), HasSubstr("; being drained: new fans"));
  EXPECT_EQ(away.state_reason(), "NO_WORKER") << "which is its own";
}

TEST_F(DevicesTest, ADrainedDeviceEndsItsCaseAndJobsWaitWithTheReason) {
  FakeWorker worker(server_, "w", FakeDevice("cpu0", "cpu"));
  ASSERT_TRUE(worker.Welcome());
  const Job running = server_.MustSubmit(MatmulJob(2));
  const auto assign = worker.Assign();
  ASSERT_TRUE(assign.has_value());
  const auto drained = Drain("cpu0", "new fans");
  ASSERT_TRUE(drained.ok()) << drained.status();
  EXPECT_EQ(drained->state(), "DRAINING");
  EXPECT_EQ(drained->maintenance().kind(), "drain");
  EXPECT_EQ(drained->maintenance().by(), "ana");
  worker.Beat({HeldOf(assign->id(), false)}, "BUSY");
  EXPECT_FALSE(worker.CancelRequest(0.2).has_value()) << "what runs is not disturbed";
  worker.SendResult(FakeWorker::GoodResult(*assign));
  EXPECT_FALSE(worker.Ack()->stale());
  worker.Beat();
  EXPECT_FALSE(worker.Assign(0.3).has_value());
  EXPECT_THAT(WaitForState("cpu0", "DRAINED").state_message(),
              AllOf(HasSubstr("new fans"), HasSubstr("by ana"), HasSubstr("since 20")));
  const Job waiting = server_.MustSubmit(MatmulJob(1, "cpu0"));
  EXPECT_EQ(waiting.reason(), "DRAINING");
  EXPECT_THAT(waiting.message(), AllOf(HasSubstr("cpu0 is being drained: new fans"),
                                       HasSubstr("since 20"), HasSubstr("by ana")));
  ASSERT_TRUE(Resume("cpu0").ok());
  EXPECT_EQ(Named("cpu0").state(), "READY");
  EXPECT_FALSE(Named("cpu0").has_maintenance());
  worker.RunOne();
  worker.RunOne();
  server_.WaitFor(waiting.name(), JOB_STATE_SUCCEEDED);
  server_.WaitFor(running.name(), JOB_STATE_SUCCEEDED);
}

TEST_F(DevicesTest, ADrainOutlivesARestartAndAnAbsentWorker) {
  {
    FakeWorker worker(server_, "w", FakeDevice("cpu0", "cpu"));
    ASSERT_TRUE(worker.Welcome());
    ASSERT_TRUE(Quarantine("cpu0", "numbers look odd").ok());
  }
  server_.Restart();
  const Device away = Named("cpu0");
  EXPECT_EQ(away.state(), "OFFLINE");
  EXPECT_EQ(away.maintenance().reason(), "numbers look odd");
  EXPECT_GT(away.implementations_size(), 0);
  const Job waiting = server_.MustSubmit(MatmulJob(1, "cpu0"));
  EXPECT_EQ(waiting.reason(), "QUARANTINED");
  FakeWorker back(server_, "w", FakeDevice("cpu0", "cpu"), "boot2");
  ASSERT_TRUE(back.Welcome());
  EXPECT_EQ(WaitForState("cpu0", "QUARANTINED").maintenance().reason(), "numbers look odd");
  EXPECT_FALSE(back.Assign(0.3).has_value());
  ASSERT_TRUE(Resume("devices/cpu0").ok());
  back.RunOne();
}

TEST_F(DevicesTest, TheEndOfADrainLeavesAQuarantineAlsoAcrossARestart) {
  FakeWorker worker(server_, "w", FakeDevice("cpu0", "cpu"));
  ASSERT_TRUE(worker.Welcome());
  ASSERT_TRUE(Quarantine("cpu0", "numbers look odd").ok());
  const auto drained = Drain("cpu0", "new fans");
  ASSERT_TRUE(drained.ok());
  EXPECT_EQ(drained->state(), "QUARANTINED");
  EXPECT_THAT(drained->state_message(),
              AllOf(HasSubstr("numbers look odd"), HasSubstr("drained too: new fans")));
  const Job waiting = server_.MustSubmit(MatmulJob(1, "cpu0"));
  EXPECT_EQ(waiting.reason(), "QUARANTINED");
  EXPECT_EQ(DetailsOf(Resume("cpu0", "everything").status()).reason, "UNKNOWN_KIND");
  const auto resumed = Resume("cpu0");
  ASSERT_TRUE(resumed.ok());
  EXPECT_EQ(resumed->state(), "QUARANTINED");
  EXPECT_EQ(resumed->maintenance().kind(), "quarantine");
  EXPECT_EQ(resumed->state_message().find("new fans"), std::string::npos);
  server_.Restart();
  FakeWorker back(server_, "w", FakeDevice("cpu0", "cpu"), "boot2");
  ASSERT_TRUE(back.Welcome());
  EXPECT_EQ(WaitForState("cpu0", "QUARANTINED").maintenance().reason(), "numbers look odd");
  EXPECT_FALSE(back.Assign(0.3).has_value());
  ASSERT_TRUE(Resume("cpu0", "quarantine").ok());
  back.RunOne();
  server_.WaitFor(waiting.name(), JOB_STATE_SUCCEEDED);
}

TEST_F(DevicesTest, AJobWaitsForADeviceThatIsAwayAcrossARestart) {
  {
    FakeWorker worker(server_, "w", Gpu("gpu0", "NVIDIA H200"));
    ASSERT_TRUE(worker.Welcome());
  }
  server_.Restart();
  const Job job = server_.MustSubmit(MatmulJob(1, "model=H200"));
  EXPECT_EQ(job.reason(), "DEVICE_OFFLINE");
  FakeWorker worker(server_, "w", Gpu("gpu0", "NVIDIA H200"), "boot2");
  worker.RunOne();
}

TEST_F(DevicesTest, WhatCannotBeDrainedIsToldWithWhatCan) {
  FakeWorker worker(server_, "w", FakeDevice("cpu0", "cpu"));
  ASSERT_TRUE(worker.Welcome());
  EXPECT_EQ(Drain("cpu1", "x").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(MessageOf(Drain("cpu1", "x").status()), HasSubstr("known devices: cpu0"));
  EXPECT_EQ(DetailsOf(Resume("gpu").status()).reason, "UNKNOWN_DEVICE");
  const std::vector<std::string> reasons = {"", "  ", "a\nb", std::string(300, 'x')};
  for (const std::string& reason : reasons) {
    EXPECT_EQ(Drain("cpu0", reason).status().code(), absl::StatusCode::kInvalidArgument) << reason;
  }
  EXPECT_EQ(Named("cpu0").state(), "READY");
  EXPECT_TRUE(Resume("cpu0").ok()) << "nothing to end is no error";
}

Heartbeat Beat(int canaries, bool drifting = false) {
  Heartbeat heartbeat;
  heartbeat.set_device_state("READY");
  heartbeat.mutable_canary()->set_count(canaries);
  heartbeat.mutable_canary()->set_drifting(drifting);
  heartbeat.mutable_canary()->set_ratio(drifting ? 1.2 : 1.0);
  return heartbeat;
}

TEST_F(DevicesTest, AFaultQuarantinesOnceAndThreeGoodCanariesRelease) {
  FakeWorker worker(server_, "w", FakeDevice("gpu0", "cuda"));
  ASSERT_TRUE(worker.Welcome());
  Heartbeat fault = Beat(5);
  DeviceFault* xid = fault.add_faults();
  xid->set_kind("XID");
  xid->set_number(1);
  xid->set_message("Xid 79: the GPU has fallen off the bus");
  worker.Beat(fault);
  const Device device = WaitForState("gpu0", "QUARANTINED");
  EXPECT_EQ(device.state_reason(), "XID");
  EXPECT_EQ(device.maintenance().by(), "kbench");
  EXPECT_THAT(server_.server().metrics().Text(),
              AllOf(HasSubstr("kbench_device_quarantines_total{device=\"gpu0\",reason=\"XID\"} 1"),
                    HasSubstr("kbench_device_state{device=\"gpu0\",state=\"QUARANTINED\"} 1")));
  const Job job = server_.MustSubmit(MatmulJob(1));
  EXPECT_EQ(job.reason(), "QUARANTINED");
  EXPECT_THAT(job.message(), HasSubstr("fallen off the bus"));
  // Every heartbeat carries the fault again.
  for (const int count : {6, 7}) {
    Heartbeat beat = Beat(count);
    *beat.add_faults() = *xid;
    worker.Beat(beat);
  }
  EXPECT_FALSE(worker.Assign(0.3).has_value()) << "two are not three";
  Heartbeat third = Beat(8);
  *third.add_faults() = *xid;
  worker.Beat(third);
  worker.RunOne();
  EXPECT_EQ(Named("gpu0").state(), "READY");
  // The old fault is no news for a restarted coordinator either.
  server_.Restart();
  FakeWorker back(server_, "w", FakeDevice("gpu0", "cuda"));
  ASSERT_TRUE(back.Welcome());
  back.Beat(third);
  const Job next = server_.MustSubmit(MatmulJob(1));
  EXPECT_TRUE(back.Assign().has_value()) << server_.Get(next.name())->message();
}

TEST_F(DevicesTest, ADriftingCanaryOnlyWarns) {
  FakeWorker worker(server_, "w", FakeDevice("gpu0", "cuda"));
  ASSERT_TRUE(worker.Welcome());
  worker.Beat(Beat(3, true));
  worker.Beat(Beat(4, true));
  server_.MustSubmit(MatmulJob(1));
  worker.RunOne();
  const Device device = Named("gpu0");
  EXPECT_EQ(device.state(), "READY");
  EXPECT_TRUE(device.canary().drifting());
  EXPECT_THAT(server_.server().metrics().Text(),
              HasSubstr("kbench_device_canary_ratio{device=\"gpu0\"} 1.2"));
}

TEST_F(DevicesTest, ADriverMismatchKeepsTheDeviceAndItsJobs) {
  auto worker = std::make_unique<FakeWorker>(server_, "w", Gpu("gpu0", "NVIDIA H200"));
  ASSERT_TRUE(worker->Welcome());
  Heartbeat mismatch;
  mismatch.set_device_state("OFFLINE");
  mismatch.set_device_reason("DRIVER_MISMATCH");
  mismatch.set_device_message("the kernel has driver 570.1, the library is 580.2");
  worker->Beat(mismatch);
  EXPECT_EQ(WaitForState("gpu0", "OFFLINE").state_reason(), "DRIVER_MISMATCH");
  const Job job = server_.MustSubmit(MatmulJob(1, "gpu0"));
  EXPECT_EQ(job.reason(), "DRIVER_MISMATCH");
  EXPECT_THAT(job.message(), HasSubstr("gpu0: the kernel has driver 570.1"));
  // The worker is started again before the machine is: it knows its device by name only.
  worker = nullptr;
  Device blind;
  blind.set_name("gpu0");
  blind.set_kind("cuda");
  blind.set_uuid("GPU-gpu0");
  blind.set_hostname("host");
  blind.set_state("OFFLINE");
  blind.set_state_reason("DRIVER_MISMATCH");
  blind.set_state_message("the kernel has driver 570.1, the library is 580.2");
  worker = std::make_unique<FakeWorker>(server_, "w", blind, "boot2");
  ASSERT_TRUE(worker->Welcome());
  EXPECT_EQ(Named("gpu0").model(), "NVIDIA H200");
  EXPECT_GT(Named("gpu0").implementations_size(), 0);
  WaitForReason(job.name(), "DRIVER_MISMATCH");
  EXPECT_TRUE(server_.Submit(MatmulJob(1, "model=H200")).ok()) << "it can be submitted to";
  worker = std::make_unique<FakeWorker>(server_, "w", Gpu("gpu0", "NVIDIA H200"), "boot3");
  worker->RunOne();
  server_.WaitFor(job.name(), JOB_STATE_SUCCEEDED);
}

TEST_F(DevicesTest, NothingIsChosenAcrossModels) {
  FakeWorker first(server_, "w0", Gpu("gpu0", "NVIDIA H200"));
  FakeWorker second(server_, "w1", Gpu("gpu1", "NVIDIA L4"));
  ASSERT_TRUE(first.Welcome());
  ASSERT_TRUE(second.Welcome());
  const auto refused = server_.Submit(MatmulJob(1));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(DetailsOf(refused.status()).reason, "SEVERAL_MODELS");
  EXPECT_THAT(MessageOf(refused.status()), AllOf(HasSubstr("gpu0 (NVIDIA H200), gpu1 (NVIDIA L4)"),
                                                 HasSubstr("--device gpu0 or --device model=H200"),
                                                 HasSubstr("kbench-client default gpu0")));
  EXPECT_EQ(DetailsOf(server_.Submit(MatmulJob(1, "cc=9.0")).status()).reason, "SEVERAL_MODELS");
  EXPECT_TRUE(server_.Submit(MatmulJob(1, "gpu")).ok()) << "any GPU, as typed";
  EXPECT_TRUE(server_.Submit(MatmulJob(1, "model=L4")).ok());
  EXPECT_TRUE(server_.Submit(MatmulJob(1, "GPU-gpu1")).ok());
}

TEST_F(DevicesTest, TheDefaultIsTheOwnersThenEverybodys) {
  FakeWorker first(server_, "w0", Gpu("gpu0", "NVIDIA H200"));
  FakeWorker second(server_, "w1", Gpu("gpu1", "NVIDIA L4"));
  ASSERT_TRUE(first.Welcome());
  ASSERT_TRUE(second.Welcome());
  ASSERT_TRUE(SetDefault("model=L4", "").ok());
  ASSERT_TRUE(SetDefault("GPU-gpu0", "ada").ok());
  EXPECT_EQ(server_.MustSubmit(MatmulJob(1)).spec().device(), "gpu0") << "ada's own, by its name";
  SubmitJobRequest other = MatmulJob(1);
  other.set_owner("bob");
  EXPECT_EQ(server_.MustSubmit(other).spec().device(), "model=L4");
  EXPECT_EQ(server_.MustSubmit(MatmulJob(1, "gpu1")).spec().device(), "gpu1");
  server_.Restart();
  EXPECT_EQ(List("ada").default_device(), "gpu0");
  EXPECT_EQ(List("ada").everybodys_default(), "model=L4");
  EXPECT_TRUE(List("ada").default_is_owners());
  EXPECT_EQ(List("bob").default_device(), "model=L4");
  EXPECT_FALSE(List("bob").default_is_owners());
  ASSERT_TRUE(SetDefault("", "ada").ok());
  EXPECT_EQ(List("ada").default_device(), "model=L4");
  ASSERT_TRUE(SetDefault("", "").ok());
  EXPECT_EQ(List("ada").default_device(), "");
  for (const char* wrong : {"gpu", "cc=9.0", "gpu7", "cc=x"}) {
    const ErrorDetails details = DetailsOf(SetDefault(wrong, "ada"));
    ASSERT_EQ(details.violations.size(), 1u) << wrong;
    EXPECT_EQ(details.violations[0].field, "device") << "there is no spec in this request";
  }
}

struct BadSelector {
  const char* text;
  absl::StatusCode code;
  const char* part;
};

TEST_F(DevicesTest, ASelectorThatFitsNothingSaysWhatThereIs) {
  Device device = Gpu("gpu0", "NVIDIA H200");
  (*device.mutable_labels())["rack"] = "a";
  FakeWorker worker(server_, "w", device);
  ASSERT_TRUE(worker.Welcome());
  const BadSelector selectors[] = {
      {"gpu1", absl::StatusCode::kFailedPrecondition, "known devices: gpu0"},
      {"cpu", absl::StatusCode::kFailedPrecondition, "known devices: gpu0"},
      {"model=H20", absl::StatusCode::kFailedPrecondition, "models: NVIDIA H200"},
      {"cc=8.9", absl::StatusCode::kFailedPrecondition, "architectures: sm_90"},
      {"label:rack=b", absl::StatusCode::kFailedPrecondition, "labels: rack=a"},
      {"gpu0,model=L4", absl::StatusCode::kFailedPrecondition, "no device has model=L4"},
      {"cc=nine", absl::StatusCode::kInvalidArgument, "cc=9.0"},
      {"rack=a", absl::StatusCode::kInvalidArgument, "label:rack=a"},
      {"gpu0,", absl::StatusCode::kInvalidArgument, "empty term"},
  };
  for (const BadSelector& one : selectors) {
    const auto job = server_.Submit(MatmulJob(1, one.text));
    EXPECT_EQ(job.status().code(), one.code) << one.text;
    EXPECT_THAT(MessageOf(job.status()), HasSubstr(one.part)) << one.text;
    const ErrorDetails details = DetailsOf(job.status());
    ASSERT_EQ(details.violations.size(), 1u) << one.text;
    EXPECT_EQ(details.violations[0].field, "spec.device");
  }
  EXPECT_TRUE(server_.Submit(MatmulJob(1, "gpu,label:rack=a,cc>=8.0")).ok());
}

TEST_F(DevicesTest, BadLabelsOfAWorkerAreRefused) {
  Device device = FakeDevice("cpu0", "cpu");
  (*device.mutable_labels())["rack,row"] = "a";
  FakeWorker worker(server_, "w", device);
  EXPECT_EQ(DetailsOf(worker.End()).reason, "BAD_LABEL");
  Device many = FakeDevice("cpu0", "cpu");
  for (int i = 0; i < 1000; ++i) (*many.mutable_labels())["k" + std::to_string(i)] = "v";
  FakeWorker second(server_, "w", many);
  EXPECT_EQ(DetailsOf(second.End()).reason, "TOO_MANY_LABELS");
}

}  // namespace
}  // namespace kbench::server
