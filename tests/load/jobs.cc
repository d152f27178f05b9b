#include "tests/load/jobs.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "proto/support/ids.h"

namespace kbench::load {
namespace {

using kbench::v1::Job;

void Check(const grpc::Status& status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "kbench-load: %s: %s\n", what, status.error_message().c_str());
  std::exit(5);
}

kbench::v1::Device OneDevice(const std::string& name) {
  kbench::v1::Device device;
  device.set_name(name);
  device.set_kind("cpu");
  device.set_model("Load");
  device.set_hostname(name);
  device.set_memory_bytes(std::int64_t{1} << 34);
  kbench::v1::ImplementationInfo* info = device.add_implementations();
  info->set_name("cpu/onednn");
  info->set_family("cpu");
  info->set_kernel("matmul");
  info->add_dtypes("fp32");
  info->set_default_choice(true);
  return device;
}

}  // namespace

kbench::v1::SubmitJobRequest MakeRequest(const std::string& owner, int cases) {
  kbench::v1::SubmitJobRequest request;
  request.set_owner(owner);
  request.set_request_id(RandomUuid());
  for (int i = 0; i < cases; ++i) {
    kbench::v1::CaseSpec& spec = *request.mutable_spec()->add_cases();
    spec.set_kernel("matmul");
    spec.set_dtype("fp32");
    spec.set_size(std::to_string(64 + i % 16));
  }
  return request;
}

Caller::Caller(std::shared_ptr<grpc::Channel> channel)
    : jobs_(kbench::v1::JobService::NewStub(std::move(channel))) {}

Job Caller::Submit(const kbench::v1::SubmitJobRequest& request, Times* times) {
  grpc::ClientContext context;
  Job job;
  const double start = Now();
  Check(jobs_->SubmitJob(&context, request, &job), "submit");
  if (times != nullptr) times->Add(Now() - start);
  return job;
}

Job Caller::Get(const std::string& name, Times* times) {
  grpc::ClientContext context;
  kbench::v1::GetJobRequest request;
  request.set_name(name);
  Job job;
  const double start = Now();
  Check(jobs_->GetJob(&context, request, &job), "get");
  if (times != nullptr) times->Add(Now() - start);
  return job;
}

int Caller::List(int page_size, Times* times) {
  grpc::ClientContext context;
  kbench::v1::ListJobsRequest request;
  request.set_page_size(page_size);
  kbench::v1::ListJobsResponse response;
  const double start = Now();
  Check(jobs_->ListJobs(&context, request, &response), "list");
  if (times != nullptr) times->Add(Now() - start);
  return response.jobs_size();
}

void Caller::Cancel(const std::string& name) {
  grpc::ClientContext context;
  kbench::v1::CancelJobRequest request;
  request.set_name(name);
  Job job;
  Check(jobs_->CancelJob(&context, request, &job), "cancel");
}

LoadWorker::LoadWorker(const std::shared_ptr<grpc::Channel>& channel, const std::string& device,
                       Hook before_result, Times* dispatch)
    : before_result_(std::move(before_result)),
      dispatch_(dispatch),
      stub_(kbench::v1::WorkerService::NewStub(channel)),
      stream_(stub_->Connect(&context_)) {
  kbench::v1::WorkerMessage message;
  kbench::v1::WorkerHello& hello = *message.mutable_hello();
  hello.set_worker_id("load/" + device);
  hello.set_boot_id(RandomUuid());
  hello.set_version(KBENCH_VERSION);
  *hello.mutable_device() = OneDevice(device);
  stream_->Write(message);
  thread_ = std::thread([this] { Loop(); });
}

LoadWorker::~LoadWorker() {
  context_.TryCancel();
  thread_.join();
  stream_->Finish();
}

void LoadWorker::Loop() {
  kbench::v1::CoordinatorMessage message;
  while (stream_->Read(&message)) {
    if (!message.has_assign()) continue;
    if (dispatch_ != nullptr && answered_at_ > 0) dispatch_->Add(Now() - answered_at_);
    if (before_result_ != nullptr && !before_result_(message.assign())) return;
    Answer(message.assign());
  }
}

void LoadWorker::Answer(const kbench::v1::Assign& assign) {
  kbench::v1::WorkerMessage message;
  kbench::v1::AttemptResult& attempt = *message.mutable_result();
  *attempt.mutable_id() = assign.id();
  for (const std::string& implementation : assign.implementations()) {
    kbench::v1::Result& result = *attempt.add_results();
    result.set_implementation(implementation);
    result.set_outcome(kbench::v1::OUTCOME_OK);
    result.set_verdict(kbench::v1::VERDICT_VALID);
    result.mutable_device_time()->set_median(1e-3);
    for (int i = 0; i < 40; ++i) result.mutable_device_time()->add_round_medians(1e-3 + i * 1e-6);
  }
  answered_at_ = Now();
  ++finished_;
  stream_->Write(message);
  // Says that it is free, as a worker does.
  kbench::v1::WorkerMessage beat;
  beat.mutable_heartbeat()->set_device_state("READY");
  stream_->Write(beat);
}

}  // namespace kbench::load
