// What the load is made of: jobs, the calls of a client, and workers that answer as told.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "kbench/v1/job_service.grpc.pb.h"
#include "kbench/v1/worker_service.grpc.pb.h"
#include "tests/load/figures.h"

namespace kbench::load {

// `cases` cases of matmul fp32 of a few sizes, with a request id of its own.
kbench::v1::SubmitJobRequest MakeRequest(const std::string& owner, int cases = 1);

// One thread and one connection each; every call is timed. Ends the program on an error.
class Caller {
 public:
  explicit Caller(std::shared_ptr<grpc::Channel> channel);
  kbench::v1::Job Submit(const kbench::v1::SubmitJobRequest& request, Times* times = nullptr);
  kbench::v1::Job Get(const std::string& name, Times* times = nullptr);
  int List(int page_size, Times* times = nullptr);
  void Cancel(const std::string& name);

 private:
  std::unique_ptr<kbench::v1::JobService::Stub> jobs_;
};

// A worker of one CPU device on a thread of its own.
class LoadWorker {
 public:
  // `before_result` is called with each assignment, and the result is sent when it returns; false:
  // no more is answered. `dispatch` (may be null) gets the times from a result to the next
  // assignment.
  using Hook = std::function<bool(const kbench::v1::Assign&)>;
  LoadWorker(const std::shared_ptr<grpc::Channel>& channel, const std::string& device,
             Hook before_result, Times* dispatch = nullptr);
  ~LoadWorker();
  int finished() const { return finished_; }

 private:
  using Stream =
      grpc::ClientReaderWriter<kbench::v1::WorkerMessage, kbench::v1::CoordinatorMessage>;
  void Loop();
  void Answer(const kbench::v1::Assign& assign);

  const Hook before_result_;
  Times* const dispatch_;
  std::unique_ptr<kbench::v1::WorkerService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<Stream> stream_;
  double answered_at_ = 0;
  std::atomic<int> finished_ = 0;
  std::thread thread_;
};

}  // namespace kbench::load
