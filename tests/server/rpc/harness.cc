#include "tests/server/rpc/harness.h"

#include <chrono>
#include <future>
#include <utility>

#include "proto/support/channel.h"
#include "proto/support/rpc_status.h"

namespace kbench::server {

using kbench::v1::CoordinatorMessage;
using kbench::v1::Device;
using kbench::v1::HeldAttempt;
using kbench::v1::Job;
using kbench::v1::WorkerMessage;

CoordinatorOptions TestServer::DefaultOptions() {
  CoordinatorOptions options;
  options.timer_seconds = 0.02;
  options.known_again_seconds = 0;
  return options;
}

TestServer::TestServer(CoordinatorOptions options, const std::string& metrics)
    : options_(options), metrics_(metrics) {
  Start();
}

void TestServer::Start() {
  ServerOptions options;
  options.listen = {"unix:" + (dir_ / "kbench.sock")};
  options.metrics_listen = metrics_;
  options.data_dir = dir_ / "data";
  options.coordinator = options_;
  auto server = Server::Start(options, SystemClock());
  if (!server.ok()) {
    ADD_FAILURE() << server.status();
    std::abort();
  }
  server_ = std::move(*server);
  channel_ = MakeChannel(server_->listen().front());
  jobs_ = kbench::v1::JobService::NewStub(channel_);
  results_ = kbench::v1::ResultService::NewStub(channel_);
  devices_ = kbench::v1::DeviceService::NewStub(channel_);
}

void TestServer::Restart() {
  server_.reset();
  Start();
}

absl::StatusOr<Job> TestServer::Submit(const kbench::v1::SubmitJobRequest& request) {
  grpc::ClientContext context;
  Job job;
  const grpc::Status status = jobs_->SubmitJob(&context, request, &job);
  if (!status.ok()) return FromGrpc(status);
  return job;
}

Job TestServer::MustSubmit(const kbench::v1::SubmitJobRequest& request) {
  absl::StatusOr<Job> job = Submit(request);
  EXPECT_TRUE(job.ok()) << job.status();
  return job.ok() ? *job : Job();
}

absl::StatusOr<Job> TestServer::Get(const std::string& name) {
  grpc::ClientContext context;
  kbench::v1::GetJobRequest request;
  request.set_name(name);
  Job job;
  const grpc::Status status = jobs_->GetJob(&context, request, &job);
  if (!status.ok()) return FromGrpc(status);
  return job;
}

absl::StatusOr<Job> TestServer::Cancel(const std::string& name) {
  grpc::ClientContext context;
  kbench::v1::CancelJobRequest request;
  request.set_name(name);
  Job job;
  const grpc::Status status = jobs_->CancelJob(&context, request, &job);
  if (!status.ok()) return FromGrpc(status);
  return job;
}

Job TestServer::WaitFor(const std::string& name, kbench::v1::JobState state) {
  absl::StatusOr<Job> job;
  for (int i = 0; i < 1000; ++i) {
    job = Get(name);
    if (job.ok() && job->state() == state) return *job;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ADD_FAILURE() << name << " did not become " << kbench::v1::JobState_Name(state) << ": "
                << (job.ok() ? job->ShortDebugString() : job.status().ToString());
  return Job();
}

absl::StatusOr<kbench::v1::Job> SubmitTo(Coordinator& coordinator,
                                         const kbench::v1::SubmitJobRequest& request) {
  std::promise<absl::StatusOr<kbench::v1::Job>> answer;
  coordinator.Submit(
      request, [&](absl::StatusOr<kbench::v1::Job> job) { answer.set_value(std::move(job)); });
  return answer.get_future().get();
}

kbench::v1::SubmitJobRequest MatmulJob(int cases, const std::string& device) {
  kbench::v1::SubmitJobRequest request;
  for (int i = 0; i < cases; ++i) {
    kbench::v1::CaseSpec* spec = request.mutable_spec()->add_cases();
    spec->set_kernel("matmul");
    spec->set_dtype("fp32");
    spec->set_size(std::to_string(64 + i));
  }
  request.mutable_spec()->set_device(device);
  request.set_owner("ada");
  return request;
}

Device FakeDevice(const std::string& name, const std::string& kind) {
  Device device;
  device.set_name(name);
  device.set_kind(kind);
  device.set_model("Fake " + kind);  // those of a kind are of one model
  device.set_memory_bytes(std::int64_t{1} << 30);
  device.set_hostname("host");
  if (kind == "cuda") device.set_uuid("GPU-" + name);
  const auto add = [&](const std::string& implementation, const std::string& kernel,
                       const std::vector<std::string>& dtypes, bool default_choice) {
    kbench::v1::ImplementationInfo* info = device.add_implementations();
    info->set_name(implementation);
    info->set_family(implementation.substr(0, implementation.find('/')));
    info->set_kernel(kernel);
    for (const std::string& dtype : dtypes) info->add_dtypes(dtype);
    info->set_default_choice(default_choice);
  };
  add("cpu/onednn", "matmul", {"fp32"}, true);
  add("cpu/openblas", "matmul", {"fp32", "fp64"}, true);
  add("cpu/naive", "matmul", {"fp32", "fp64", "fp16"}, false);
  add("cpu/naive", "sum", {"fp32"}, true);
  return device;
}

HeldAttempt HeldOf(const kbench::v1::AttemptId& id, bool finished) {
  HeldAttempt held;
  *held.mutable_id() = id;
  held.set_finished(finished);
  return held;
}

FakeWorker::FakeWorker(TestServer& server, const std::string& worker_id, Device device,
                       const std::string& boot_id, const std::vector<HeldAttempt>& held)
    : stub_(kbench::v1::WorkerService::NewStub(server.channel())),
      stream_(stub_->Connect(&context_)) {
  WorkerMessage message;
  message.mutable_hello()->set_worker_id(worker_id);
  message.mutable_hello()->set_boot_id(boot_id);
  *message.mutable_hello()->mutable_device() = std::move(device);
  for (const HeldAttempt& item : held) *message.mutable_hello()->add_held() = item;
  stream_->Write(message);
  reader_ = std::thread([this] {
    CoordinatorMessage incoming;
    while (stream_->Read(&incoming)) {
      MutexLock lock(mutex_);
      inbox_.push_back(incoming);
      arrived_.NotifyAll();
    }
    MutexLock lock(mutex_);
    ended_ = true;
    arrived_.NotifyAll();
  });
}

template <typename T, typename Has, typename Take>
std::optional<T> FakeWorker::Wait(double seconds, Has has, Take take) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  MutexLock lock(mutex_);
  for (;;) {
    for (auto it = inbox_.begin(); it != inbox_.end(); ++it) {
      if (!has(*it)) continue;
      T found = take(*it);
      inbox_.erase(it);
      return found;
    }
    const std::chrono::duration<double> left = until - std::chrono::steady_clock::now();
    if (ended_ || left.count() <= 0) return std::nullopt;
    arrived_.WaitFor(mutex_, left.count());
  }
}

std::optional<kbench::v1::Welcome> FakeWorker::Welcome() {
  return Wait<kbench::v1::Welcome>(
      5, [](const auto& m) { return m.has_welcome(); }, [](const auto& m) { return m.welcome(); });
}

std::optional<kbench::v1::Assign> FakeWorker::Assign(double seconds) {
  return Wait<kbench::v1::Assign>(
      seconds, [](const auto& m) { return m.has_assign(); },
      [](const auto& m) { return m.assign(); });
}

std::optional<kbench::v1::ResultAck> FakeWorker::Ack(double seconds) {
  return Wait<kbench::v1::ResultAck>(
      seconds, [](const auto& m) { return m.has_ack(); }, [](const auto& m) { return m.ack(); });
}

std::optional<kbench::v1::CancelAttempt> FakeWorker::CancelRequest(double seconds) {
  return Wait<kbench::v1::CancelAttempt>(
      seconds, [](const auto& m) { return m.has_cancel(); },
      [](const auto& m) { return m.cancel(); });
}

void FakeWorker::Beat(const std::vector<HeldAttempt>& held, const std::string& state) {
  WorkerMessage message;
  for (const HeldAttempt& item : held) *message.mutable_heartbeat()->add_held() = item;
  message.mutable_heartbeat()->set_device_state(state);
  message.mutable_heartbeat()->mutable_telemetry()->set_temperature_celsius(41);
  stream_->Write(message);
}

void FakeWorker::Beat(const kbench::v1::Heartbeat& heartbeat) {
  WorkerMessage message;
  *message.mutable_heartbeat() = heartbeat;
  stream_->Write(message);
}

void FakeWorker::Progress(const kbench::v1::AttemptId& id, int round) {
  WorkerMessage message;
  *message.mutable_progress()->mutable_id() = id;
  message.mutable_progress()->mutable_progress()->set_round(round);
  stream_->Write(message);
}

void FakeWorker::SendResult(const kbench::v1::AttemptResult& result) {
  WorkerMessage message;
  *message.mutable_result() = result;
  stream_->Write(message);
}

kbench::v1::AttemptResult FakeWorker::GoodResult(const kbench::v1::Assign& assign) {
  kbench::v1::AttemptResult attempt;
  *attempt.mutable_id() = assign.id();
  for (const std::string& implementation : assign.implementations()) {
    kbench::v1::Result* result = attempt.add_results();
    result->set_implementation(implementation);
    result->set_outcome(kbench::v1::OUTCOME_OK);
    result->set_verdict(kbench::v1::VERDICT_VALID);
    result->mutable_device_time()->set_median(1e-3);
    result->add_artifacts("samples.json");
  }
  kbench::v1::Artifact* artifact = attempt.add_artifacts();
  artifact->set_name("samples.json");
  artifact->set_media_type("application/json");
  artifact->set_content(std::string(200'000, 'x'));
  return attempt;
}

void FakeWorker::RunOne() {
  const auto assign = Assign();
  ASSERT_TRUE(assign.has_value());
  SendResult(GoodResult(*assign));
  const auto ack = Ack();
  ASSERT_TRUE(ack.has_value());
  EXPECT_FALSE(ack->stale());
}

void FakeWorker::Disconnect() {
  if (finished_) return;
  context_.TryCancel();
  End().IgnoreError();
}

absl::Status FakeWorker::End() {
  if (finished_) return end_;
  reader_.join();
  finished_ = true;
  end_ = FromGrpc(stream_->Finish());
  return end_;
}

}  // namespace kbench::server
