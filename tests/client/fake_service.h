// A coordinator in this process that says what a test tells it to say. Thread-safe where the client
// and the test meet.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/app.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "kbench/v1/admin_service.grpc.pb.h"
#include "kbench/v1/device_service.grpc.pb.h"
#include "kbench/v1/job_service.grpc.pb.h"
#include "kbench/v1/result_service.grpc.pb.h"
#include "proto/support/clock.h"
#include "proto/support/mutex.h"
#include "proto/support/rpc_status.h"
#include "tests/client/fake_history.h"
#include "tests/client/fake_schedules.h"

namespace kbench::client::testing {

// One answer to WatchJob: events, then the end.
struct Stream {
  std::vector<kbench::v1::JobEvent> events;
  absl::Status end = absl::OkStatus();
  bool hang = false;  // stays open after the events until the client cancels
};

// One answer to WatchQueue.
struct QueueStream {
  std::vector<kbench::v1::QueueSnapshot> snapshots;
  absl::Status end = absl::OkStatus();
  bool hang = false;
};

class FakeJobs final : public kbench::v1::JobService::Service {
 public:
  grpc::Status SubmitJob(grpc::ServerContext*, const kbench::v1::SubmitJobRequest* request,
                         kbench::v1::Job* reply) override {
    MutexLock lock(mutex_);
    submitted.push_back(*request);
    if (!submit_refusals.empty()) {
      const absl::Status refusal = submit_refusals.front();
      submit_refusals.pop_front();
      return ToGrpc(refusal);
    }
    *reply = job;
    const auto on = job_on.find(request->spec().device());
    if (on != job_on.end()) *reply = on->second;
    const auto refused = refused_on.find(request->spec().device());
    return ToGrpc(refused != refused_on.end() ? refused->second : submit_status);
  }
  grpc::Status GetJob(grpc::ServerContext*, const kbench::v1::GetJobRequest*,
                      kbench::v1::Job* reply) override {
    MutexLock lock(mutex_);
    *reply = job;
    return ToGrpc(get_status);
  }
  grpc::Status ListJobs(grpc::ServerContext*, const kbench::v1::ListJobsRequest* request,
                        kbench::v1::ListJobsResponse* reply) override {
    MutexLock lock(mutex_);
    listed.push_back(*request);
    // Two pages of one job each.
    *reply->add_jobs() = job;
    if (request->page_token().empty()) reply->set_next_page_token("second");
    return grpc::Status::OK;
  }
  grpc::Status CancelJob(grpc::ServerContext*, const kbench::v1::CancelJobRequest*,
                         kbench::v1::Job* reply) override {
    MutexLock lock(mutex_);
    ++cancelled;
    *reply = job;
    return ToGrpc(get_status);
  }
  grpc::Status KeepHold(grpc::ServerContext*, const kbench::v1::KeepHoldRequest*,
                        kbench::v1::KeepHoldResponse* reply) override {
    if (away) {
      ++unanswered;
      return {grpc::StatusCode::UNAVAILABLE, "away"};
    }
    if (!held) return ToGrpc(absl::FailedPreconditionError("it does not hold a device"));
    ++kept;
    *reply->mutable_left() = ToDuration(left_seconds);
    *reply->mutable_lapse_after() = ToDuration(lapse_seconds);
    return grpc::Status::OK;
  }
  grpc::Status EndHold(grpc::ServerContext*, const kbench::v1::EndHoldRequest* request,
                       kbench::v1::Job* reply) override {
    MutexLock lock(mutex_);
    ended_holds.push_back(*request);
    *reply = job;
    return grpc::Status::OK;
  }
  void SetJob(const kbench::v1::Job& now) {
    MutexLock lock(mutex_);
    job = now;
  }
  bool Watched() {
    MutexLock lock(mutex_);
    return !watched.empty();
  }
  grpc::Status WatchJob(grpc::ServerContext* context, const kbench::v1::WatchJobRequest* request,
                        grpc::ServerWriter<kbench::v1::JobEvent>* writer) override {
    Stream stream;
    {
      MutexLock lock(mutex_);
      watched.push_back(*request);
      const auto own = stream_of.find(request->name());
      if (own != stream_of.end()) streams.push_front(own->second);
      if (streams.empty()) return ToGrpc(absl::NotFoundError("no more streams"));
      stream = streams.front();
      streams.pop_front();
    }
    for (const auto& event : stream.events) writer->Write(event);
    while (stream.hang && !context->IsCancelled()) {
      MutexLock lock(mutex_);
      never_.WaitFor(mutex_, 0.01);
    }
    return plain_end ? grpc::Status(static_cast<grpc::StatusCode>(stream.end.code()), "gone")
                     : ToGrpc(stream.end);
  }

  grpc::Status GetQueue(grpc::ServerContext*, const kbench::v1::GetQueueRequest* request,
                        kbench::v1::QueueSnapshot* reply) override {
    MutexLock lock(mutex_);
    queue_requests.push_back(*request);
    *reply = queue;
    return ToGrpc(get_status);
  }
  grpc::Status WatchQueue(grpc::ServerContext* context, const kbench::v1::GetQueueRequest* request,
                          grpc::ServerWriter<kbench::v1::QueueSnapshot>* writer) override {
    QueueStream stream;
    {
      MutexLock lock(mutex_);
      queue_requests.push_back(*request);
      if (queue_streams.empty()) return ToGrpc(absl::NotFoundError("no more streams"));
      stream = queue_streams.front();
      queue_streams.pop_front();
    }
    for (const auto& snapshot : stream.snapshots) writer->Write(snapshot);
    while (stream.hang && !context->IsCancelled()) {
      MutexLock lock(mutex_);
      never_.WaitFor(mutex_, 0.01);
    }
    return ToGrpc(stream.end);
  }
  // Until WatchQueue has been called so often, at most 10 s.
  bool WaitForQueueStreams(std::size_t count) {
    for (int i = 0; i < 1000; ++i) {
      MutexLock lock(mutex_);
      if (queue_requests.size() >= count) return true;
      never_.WaitFor(mutex_, 0.01);
    }
    return false;
  }
  grpc::Status ExplainJob(grpc::ServerContext*, const kbench::v1::ExplainJobRequest* request,
                          kbench::v1::Explanation* reply) override {
    MutexLock lock(mutex_);
    explained.push_back(*request);
    *reply = explanation;
    return ToGrpc(get_status);
  }

  kbench::v1::Job job;
  std::deque<absl::Status> submit_refusals;  // of the first submits
  kbench::v1::QueueSnapshot queue;
  kbench::v1::Explanation explanation;
  std::deque<QueueStream> queue_streams;
  std::vector<kbench::v1::GetQueueRequest> queue_requests;
  std::vector<kbench::v1::ExplainJobRequest> explained;
  absl::Status submit_status;
  absl::Status get_status;
  std::deque<Stream> streams;
  std::map<std::string, kbench::v1::Job> job_on;   // answers SubmitJob, by the device asked for
  std::map<std::string, absl::Status> refused_on;  // the same
  std::map<std::string, Stream> stream_of;         // answers WatchJob, by the job
  bool plain_end = false;  // ends of streams carry no details, like those of a killed process
  std::vector<kbench::v1::SubmitJobRequest> submitted;
  std::vector<kbench::v1::WatchJobRequest> watched;
  std::vector<kbench::v1::ListJobsRequest> listed;
  std::vector<kbench::v1::EndHoldRequest> ended_holds;
  std::atomic<int> cancelled = 0;
  std::atomic<int> kept = 0;
  std::atomic<bool> held = true;
  std::atomic<bool> away = false;  // to KeepHold
  std::atomic<int> unanswered = 0;
  double left_seconds = 60;
  double lapse_seconds = 60;

 private:
  Mutex mutex_;
  CondVar never_;
};

class FakeResults final : public kbench::v1::ResultService::Service {
 public:
  // By name; NOT_FOUND for the others.
  grpc::Status GetResult(grpc::ServerContext*, const kbench::v1::GetResultRequest* request,
                         kbench::v1::Result* reply) override {
    for (const auto& result : results) {
      if (result.name() != request->name()) continue;
      *reply = result;
      return grpc::Status::OK;
    }
    return grpc::Status(grpc::StatusCode::NOT_FOUND, "there is no result " + request->name());
  }
  // Two pages: the first half, the rest.
  grpc::Status ListResults(grpc::ServerContext*, const kbench::v1::ListResultsRequest* request,
                           kbench::v1::ListResultsResponse* reply) override {
    listed.push_back(*request);
    const bool second = !request->page_token().empty();
    const std::size_t half = results.size() / 2;
    for (std::size_t i = second ? half : 0; i < (second ? results.size() : half); ++i) {
      *reply->add_results() = results[i];
    }
    if (!second) reply->set_next_page_token("second");
    return grpc::Status::OK;
  }
  // One answer for each pair, taken in turn; the last one for all that follow.
  grpc::Status CompareResults(grpc::ServerContext*,
                              const kbench::v1::CompareResultsRequest* request,
                              kbench::v1::CompareResultsResponse* reply) override {
    compared.push_back(*request);
    for (const auto& pair : request->pairs()) {
      if (comparisons.empty()) return ToGrpc(absl::InternalError("no more comparisons"));
      *reply->add_comparisons() = comparisons.front();
      reply->mutable_comparisons()->rbegin()->set_baseline(pair.b());
      if (comparisons.size() > 1) comparisons.pop_front();
    }
    return grpc::Status::OK;
  }
  grpc::Status ListArtifacts(grpc::ServerContext*, const kbench::v1::ListArtifactsRequest*,
                             kbench::v1::ListArtifactsResponse* reply) override {
    *reply = artifacts;
    return grpc::Status::OK;
  }
  grpc::Status GetArtifact(grpc::ServerContext*, const kbench::v1::GetArtifactRequest* request,
                           grpc::ServerWriter<kbench::v1::ArtifactChunk>* writer) override {
    for (const std::string part : {"one ", "two ", "of "}) {
      kbench::v1::ArtifactChunk chunk;
      chunk.set_content(part);
      writer->Write(chunk);
    }
    kbench::v1::ArtifactChunk chunk;
    chunk.set_content(request->name() + "\n");
    writer->Write(chunk);
    return grpc::Status::OK;
  }
  kbench::v1::ListArtifactsResponse artifacts;
  std::vector<kbench::v1::Result> results;
  std::deque<kbench::v1::BaselineComparison> comparisons;
  std::vector<kbench::v1::CompareResultsRequest> compared;
  std::vector<kbench::v1::ListResultsRequest> listed;
};

class FakeDevices final : public kbench::v1::DeviceService::Service {
 public:
  grpc::Status ListDevices(grpc::ServerContext*, const kbench::v1::ListDevicesRequest* request,
                           kbench::v1::ListDevicesResponse* reply) override {
    owner = request->owner();
    *reply = devices;
    if (!earlier.empty()) {
      *reply = earlier.front();
      earlier.pop_front();
    }
    return grpc::Status::OK;
  }
  grpc::Status ListKernels(grpc::ServerContext*, const kbench::v1::ListKernelsRequest*,
                           kbench::v1::ListKernelsResponse* reply) override {
    *reply = kernels;
    return grpc::Status::OK;
  }
  std::deque<kbench::v1::ListDevicesResponse> earlier;  // answered first, in turn
  kbench::v1::ListDevicesResponse devices;
  std::string owner;  // who asked last
  kbench::v1::ListKernelsResponse kernels;
};

class FakeAdmin final : public kbench::v1::AdminService::Service {
 public:
  grpc::Status DrainDevice(grpc::ServerContext*, const kbench::v1::DrainDeviceRequest* request,
                           kbench::v1::Device* reply) override {
    drained.push_back(*request);
    *reply = device;
    return ToGrpc(status);
  }
  grpc::Status QuarantineDevice(grpc::ServerContext*,
                                const kbench::v1::QuarantineDeviceRequest* request,
                                kbench::v1::Device* reply) override {
    quarantined.push_back(*request);
    *reply = device;
    return ToGrpc(status);
  }
  grpc::Status ResumeDevice(grpc::ServerContext*, const kbench::v1::ResumeDeviceRequest* request,
                            kbench::v1::Device* reply) override {
    resumed.push_back(*request);
    *reply = device;
    return ToGrpc(status);
  }
  grpc::Status SetDefaultDevice(grpc::ServerContext*,
                                const kbench::v1::SetDefaultDeviceRequest* request,
                                kbench::v1::SetDefaultDeviceResponse*) override {
    defaults.push_back(*request);
    return ToGrpc(status);
  }
  kbench::v1::Device device;
  absl::Status status;
  std::vector<kbench::v1::DrainDeviceRequest> drained;
  std::vector<kbench::v1::QuarantineDeviceRequest> quarantined;
  std::vector<kbench::v1::ResumeDeviceRequest> resumed;
  std::vector<kbench::v1::SetDefaultDeviceRequest> defaults;
};

class FakeCoordinator {
 public:
  FakeCoordinator() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&jobs);
    builder.RegisterService(&results);
    builder.RegisterService(&devices);
    builder.RegisterService(&admin);
    builder.RegisterService(&history);
    builder.RegisterService(&schedules);
    server_ = builder.BuildAndStart();
  }
  ~FakeCoordinator() { server_->Shutdown(std::chrono::system_clock::now()); }

  Backend Connect() {
    Backend backend = MakeBackend("unix:/fake.sock", server_->InProcessChannel({}));
    backend.claimed_owner = claimed_owner;
    return backend;
  }

  // Runs a command line against it.
  int Run(const std::vector<std::string>& arguments, Io& io, Interrupt& interrupt) {
    return RunClient(arguments, "", io, interrupt,
                     [this](const std::string&) -> absl::StatusOr<Backend> { return Connect(); });
  }

  std::string claimed_owner = "ana";
  FakeJobs jobs;
  FakeResults results;
  FakeDevices devices;
  FakeAdmin admin;
  FakeHistory history;
  FakeSchedules schedules;

 private:
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace kbench::client::testing
