// Workers' sessions over gRPC: devices, displacement, refusal, leases, deaths.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/support/rpc_status.h"
#include "tests/server/rpc/harness.h"

namespace kbench::server {
namespace {

using namespace kbench::v1;  // NOLINT: the states

std::vector<Device> Devices(TestServer& server) {
  grpc::ClientContext context;
  ListDevicesResponse response;
  EXPECT_TRUE(server.devices().ListDevices(&context, {}, &response).ok());
  return {response.devices().begin(), response.devices().end()};
}

void WaitForDeviceState(TestServer& server, const std::string& state) {
  for (int i = 0; i < 500; ++i) {
    const std::vector<Device> devices = Devices(server);
    if (!devices.empty() && devices[0].state() == state) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ADD_FAILURE() << "the device did not become " << state;
}

TEST(Devices, HiddenImplementationsAreListedNowhere) {
  TestServer server;
  Device device = FakeDevice("cpu", "cpu");
  const int shown = device.implementations_size();
  auto* hidden = device.add_implementations();
  hidden->set_name("selftest/a");
  hidden->set_family("selftest");
  hidden->set_kernel("copy");
  hidden->add_dtypes("fp32");
  hidden->set_hidden(true);
  FakeWorker worker(server, "w", device);
  ASSERT_TRUE(worker.Welcome());
  const std::vector<Device> devices = Devices(server);
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].implementations_size(), shown);
  grpc::ClientContext context;
  kbench::v1::GetDeviceRequest request;
  request.set_name("devices/cpu");
  Device one;
  ASSERT_TRUE(server.devices().GetDevice(&context, request, &one).ok());
  EXPECT_EQ(one.implementations_size(), shown);
}

kbench::v1::ImplementationInfo Python(const std::string& name, const std::string& environment) {
  kbench::v1::ImplementationInfo info;
  info.set_name(name);
  info.set_family("torch");
  info.set_kernel("copy");
  info.add_dtypes("fp32");
  info.set_environment(environment);
  return info;
}

TEST(Workers, WhatTheirRunnersOfferMayComeLater) {
  TestServer server;
  Device device = FakeDevice("cpu", "cpu");
  device.set_state("CALIBRATING");
  AbsentFramework* starting = device.add_absent();
  starting->set_framework("torch");
  starting->set_environment("old");
  starting->set_starting(true);
  FakeWorker worker(server, "w1", device);
  ASSERT_TRUE(worker.Welcome().has_value());
  SubmitJobRequest request = MatmulJob();
  request.mutable_spec()->add_implementations("torch");
  request.mutable_spec()->add_environments("old");
  const Job job = server.MustSubmit(request);
  EXPECT_EQ(job.reason(), "DEVICE_NOT_READY") << "its framework is being started: it waits";
  Heartbeat heartbeat;
  heartbeat.set_device_state("READY");
  Offer& offer = *heartbeat.mutable_offer();
  *offer.mutable_implementations() = device.implementations();
  *offer.add_implementations() = Python("torch@old", "old");
  offer.mutable_implementations(offer.implementations_size() - 1)->set_kernel("matmul");
  *offer.add_implementations() = Python("torch@old", "old");
  AbsentFramework* absent = offer.add_absent();
  absent->set_framework("torch");
  absent->set_environment("default");
  absent->set_message("no module named torch");
  worker.Beat(heartbeat);
  const auto assign = worker.Assign();
  ASSERT_TRUE(assign.has_value());
  ASSERT_EQ(assign->implementations_size(), 1);
  EXPECT_EQ(assign->implementations(0), "torch@old");
  worker.Beat({HeldOf(assign->id(), false)}, "BUSY");
  EXPECT_EQ(Devices(server)[0].absent_size(), 1) << "a heartbeat without an offer changes nothing";

  // Only now can the device run copy at all, and does a word nobody offers say why.
  request.mutable_spec()->mutable_cases(0)->set_kernel("copy");
  EXPECT_TRUE(server.Submit(request).ok());
  worker.SendResult(FakeWorker::GoodResult(*assign));
  EXPECT_TRUE(worker.Ack().has_value());
  worker.Beat();
  const auto copy = worker.Assign();
  ASSERT_TRUE(copy.has_value()) << "the scheduler knows it too";
  EXPECT_EQ(copy->case_().kernel(), "copy");
  request.mutable_spec()->clear_environments();
  request.mutable_spec()->set_implementations(0, "torch@default");
  EXPECT_THAT(std::string(server.Submit(request).status().message()),
              testing::HasSubstr("torch (default) is absent on cpu: no module named torch"));
  request.mutable_spec()->set_implementations(0, "torch");
  request.mutable_spec()->add_environments("torch99");
  const absl::Status unknown = server.Submit(request).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(unknown.message()),
              testing::HasSubstr("device cpu has no environment 'torch99'; there is: old"));
  request.mutable_spec()->set_environments(0, "default");
  EXPECT_THAT(std::string(server.Submit(request).status().message()),
              testing::HasSubstr("nothing runs in the environment default: torch (default)"));

  grpc::ClientContext context;
  ListKernelsResponse kernels;
  ASSERT_TRUE(server.devices().ListKernels(&context, {}, &kernels).ok());
  ASSERT_EQ(kernels.absent_size(), 1);
  EXPECT_EQ(kernels.absent(0).device(), "cpu");
  EXPECT_EQ(kernels.absent(0).framework().framework(), "torch");
  worker.Disconnect();
  WaitForDeviceState(server, "OFFLINE");
  grpc::ClientContext again;
  ASSERT_TRUE(server.devices().ListKernels(&again, {}, &kernels).ok());
  EXPECT_EQ(kernels.absent_size(), 0) << "of devices that are connected";
}

TEST(Workers, ADeviceThatCalibratesOrFailedGetsNothingAndItsCalibrationIsListed) {
  TestServer server;
  Device device = FakeDevice("cpu", "cpu");
  device.set_state("CALIBRATING");
  device.mutable_calibration()->set_flush_bytes(5);  // of an earlier session
  FakeWorker worker(server, "w1", device);
  ASSERT_TRUE(worker.Welcome().has_value());
  const kbench::v1::Job job = server.MustSubmit(MatmulJob());
  EXPECT_EQ(job.reason(), "DEVICE_NOT_READY");
  EXPECT_FALSE(worker.Assign(0.1).has_value());
  EXPECT_EQ(Devices(server)[0].state(), "CALIBRATING");
  EXPECT_EQ(Devices(server)[0].calibration().flush_bytes(), 5) << "as the hello says";
  Heartbeat heartbeat;
  heartbeat.set_device_state("FAILED");
  heartbeat.set_device_message("calibration failed at flush: too warm");
  heartbeat.mutable_calibration()->set_failed_step("flush");
  worker.Beat(heartbeat);
  WaitForDeviceState(server, "FAILED");
  EXPECT_EQ(Devices(server)[0].state_message(), "calibration failed at flush: too warm");
  EXPECT_EQ(Devices(server)[0].calibration().failed_step(), "flush");
  EXPECT_FALSE(worker.Assign(0.1).has_value());
  heartbeat.set_device_state("READY");
  heartbeat.clear_device_message();
  heartbeat.mutable_calibration()->set_passed(true);
  heartbeat.mutable_calibration()->set_flush_bytes(7);
  worker.Beat(heartbeat);
  EXPECT_TRUE(worker.Assign().has_value());
  worker.Beat();  // says nothing of it: what is known stays
  EXPECT_EQ(Devices(server)[0].calibration().flush_bytes(), 7);
}

TEST(Workers, DevicesFollowTheirWorkers) {
  TestServer server;
  EXPECT_TRUE(Devices(server).empty());
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  ASSERT_TRUE(worker.Welcome().has_value());
  worker.Beat({}, "WEDGED");
  WaitForDeviceState(server, "WEDGED");
  EXPECT_EQ(Devices(server)[0].telemetry().temperature_celsius(), 41);
  const kbench::v1::Job job = server.MustSubmit(MatmulJob());
  EXPECT_EQ(job.reason(), "DEVICE_NOT_READY");
  EXPECT_FALSE(worker.Assign(0.1).has_value());
  worker.Beat();
  ASSERT_TRUE(worker.Assign().has_value());
  EXPECT_EQ(Devices(server)[0].current_job(), job.name());
  worker.Disconnect();
  WaitForDeviceState(server, "OFFLINE");
  grpc::ClientContext context;
  ListKernelsResponse kernels;
  ASSERT_TRUE(server.devices().ListKernels(&context, {}, &kernels).ok());
  ASSERT_EQ(kernels.kernels_size(), 7);
  for (const KernelInfo& kernel : kernels.kernels()) {
    if (kernel.name() == "matmul") {
      EXPECT_EQ(kernel.implementations_size(), 3);
    }
  }
  grpc::ClientContext get_context;
  GetDeviceRequest request;
  request.set_name("devices/cpu9");
  Device device;
  const grpc::Status status = server.devices().GetDevice(&get_context, request, &device);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), ::testing::HasSubstr("known devices: cpu"));
}

TEST(Workers, ASecondLiveWorkerOnADeviceIsRefused) {
  TestServer server;
  FakeWorker first(server, "w1", FakeDevice("cpu", "cpu"));
  ASSERT_TRUE(first.Welcome().has_value());
  FakeWorker second(server, "w2", FakeDevice("cpu", "cpu"));
  EXPECT_FALSE(second.Welcome().has_value());
  const absl::Status end = second.End();
  EXPECT_EQ(end.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(DetailsOf(end).reason, "DEVICE_HELD");
  EXPECT_THAT(MessageOf(end), ::testing::HasSubstr("w1"));
  server.MustSubmit(MatmulJob());
  first.RunOne();
}

TEST(Workers, ANewSessionDisplacesTheOldOne) {
  TestServer server;
  FakeWorker old_session(server, "w1", FakeDevice("cpu", "cpu"));
  ASSERT_TRUE(old_session.Welcome().has_value());
  FakeWorker new_session(server, "w1", FakeDevice("cpu", "cpu"), "boot2");
  ASSERT_TRUE(new_session.Welcome().has_value());
  EXPECT_EQ(old_session.End().code(), absl::StatusCode::kAborted);
  server.MustSubmit(MatmulJob());
  new_session.RunOne();
}

TEST(Workers, TwoDeathsMakeACasePoison) {
  TestServer server;
  const kbench::v1::Job job = server.MustSubmit(MatmulJob(2));
  for (const char* boot : {"boot1", "boot2"}) {
    FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"), boot);
    const auto assign = worker.Assign();
    ASSERT_TRUE(assign.has_value());
    EXPECT_EQ(assign->id().case_index(), 0);
  }
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"), "boot3");
  worker.RunOne();
  const kbench::v1::Job failed = server.WaitFor(job.name(), JOB_STATE_FAILED);
  EXPECT_EQ(failed.reason(), "POISON");
  EXPECT_EQ(failed.cases(0).state(), JOB_STATE_FAILED);
  EXPECT_EQ(failed.cases(1).state(), JOB_STATE_SUCCEEDED);
}

Device OnlyDevice(TestServer& server) {
  const std::vector<Device> devices = Devices(server);
  return devices.size() == 1 ? devices.front() : Device();
}

Device WaitForReason(TestServer& server, const std::string& reason) {
  for (int i = 0; i < 1000 && OnlyDevice(server).state_reason() != reason; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return OnlyDevice(server);
}

TEST(Workers, AConnectedWorkerThatSaysNothingIsOfflineForEverybody) {
  CoordinatorOptions options = TestServer::DefaultOptions();
  options.scheduler.lease_seconds = 0.4;
  TestServer server(options);
  const kbench::v1::Job job = server.MustSubmit(MatmulJob());
  FakeWorker stopped(server, "w1", FakeDevice("cpu", "cpu"));
  const auto assign = stopped.Assign();
  ASSERT_TRUE(assign.has_value());
  stopped.Beat({HeldOf(assign->id(), false)}, "BUSY");
  // As after a SIGSTOP: the stream stands, and nothing comes.
  const Device silent = WaitForReason(server, "WORKER_SILENT");
  EXPECT_EQ(silent.state(), "OFFLINE");
  EXPECT_THAT(silent.state_message(), ::testing::HasSubstr("says nothing"));
  grpc::ClientContext context;
  ExplainJobRequest why;
  why.set_name(job.name());
  Explanation explanation;
  ASSERT_TRUE(server.jobs().ExplainJob(&context, why, &explanation).ok());
  EXPECT_EQ(explanation.rule(), "DEVICE_OFFLINE");
  stopped.Beat({}, "READY");
  EXPECT_EQ(WaitForReason(server, "").state(), "READY");
}

TEST(Workers, AStoppingWorkersDeviceTakesNothingNewAndSaysSo) {
  TestServer server;
  server.MustSubmit(MatmulJob());
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  const auto assign = worker.Assign();
  ASSERT_TRUE(assign.has_value());
  Heartbeat beat;
  beat.set_device_state("BUSY");
  beat.set_draining(true);
  *beat.add_held() = HeldOf(assign->id(), false);
  worker.Beat(beat);
  const Device stopping = WaitForReason(server, "WORKER_STOPPING");
  EXPECT_EQ(stopping.state(), "DRAINING");
  EXPECT_THAT(stopping.state_message(), ::testing::HasSubstr("is stopping"));
}

TEST(Workers, ASilentWorkersLeaseExpiresAndItsLateResultIsFencedOff) {
  CoordinatorOptions options = TestServer::DefaultOptions();
  options.scheduler.lease_seconds = 0.4;
  TestServer server(options);
  const kbench::v1::Job job = server.MustSubmit(MatmulJob());
  FakeWorker silent(server, "w1", FakeDevice("cpu", "cpu"));
  const auto first = silent.Assign();
  ASSERT_TRUE(first.has_value());
  server.WaitFor(job.name(), JOB_STATE_QUEUED);
  Device twin = FakeDevice("cpu2", "cpu");
  FakeWorker other(server, "w2", twin);
  const auto second = other.Assign();
  ASSERT_TRUE(second.has_value());
  EXPECT_GT(second->id().epoch(), first->id().epoch());
  silent.SendResult(FakeWorker::GoodResult(*first));
  EXPECT_TRUE(silent.Ack()->stale());
  other.SendResult(FakeWorker::GoodResult(*second));
  EXPECT_FALSE(other.Ack()->stale());
  const kbench::v1::Job done = server.WaitFor(job.name(), JOB_STATE_SUCCEEDED);
  EXPECT_EQ(done.cases(0).attempt(), 2);
  EXPECT_EQ(done.cases(0).results(0).device(), "cpu2");
}

TEST(Workers, AHelloThatIsWrongIsRefused) {
  TestServer server;
  const struct {
    const char* name;
    const char* kind;
  } bad[] = {{"", "cpu"}, {"two words", "cpu"}, {"gpu", "cuda"}, {"cpu", "cuda"}, {"x", "tpu"}};
  for (const auto& device : bad) {
    FakeWorker worker(server, "w1", FakeDevice(device.name, device.kind));
    EXPECT_EQ(worker.End().code(), absl::StatusCode::kInvalidArgument) << device.name;
  }
  FakeWorker nameless(server, "", FakeDevice("cpu", "cpu"));
  EXPECT_EQ(nameless.End().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Workers, ADrainEndsTheSessionsAndRefusesWork) {
  TestServer server;
  FakeWorker worker(server, "w1", FakeDevice("cpu", "cpu"));
  ASSERT_TRUE(worker.Welcome().has_value());
  server.server().Shutdown();
  EXPECT_EQ(worker.End().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(server.Submit(MatmulJob()).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace kbench::server
