// JobService over the coordinator: WatchJob and WatchQueue as callback streams, SubmitJob as a call
// that holds no thread while it waits for its commit, the others on gRPC's synchronous threads
// (they wait for the store). Thread-safe.
#pragma once

#include "kbench/v1/job_service.grpc.pb.h"
#include "server/rpc/coordinator.h"

namespace kbench::server {

// SubmitJob gets its bytes, because gRPC would answer those that are no message with UNIMPLEMENTED.
using JobServiceBase = kbench::v1::JobService::WithRawCallbackMethod_SubmitJob<
    kbench::v1::JobService::WithCallbackMethod_WatchJob<
        kbench::v1::JobService::WithCallbackMethod_WatchQueue<kbench::v1::JobService::Service>>>;

class JobService final : public JobServiceBase {
 public:
  explicit JobService(Coordinator& coordinator) : coordinator_(coordinator) {}

  grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* job) override;
  grpc::Status GetJob(grpc::ServerContext* context, const kbench::v1::GetJobRequest* request,
                      kbench::v1::Job* job) override;
  grpc::Status ListJobs(grpc::ServerContext* context, const kbench::v1::ListJobsRequest* request,
                        kbench::v1::ListJobsResponse* response) override;
  grpc::Status CancelJob(grpc::ServerContext* context, const kbench::v1::CancelJobRequest* request,
                         kbench::v1::Job* job) override;
  grpc::Status KeepHold(grpc::ServerContext* context, const kbench::v1::KeepHoldRequest* request,
                        kbench::v1::KeepHoldResponse* response) override;
  grpc::Status EndHold(grpc::ServerContext* context, const kbench::v1::EndHoldRequest* request,
                       kbench::v1::Job* job) override;
  grpc::ServerWriteReactor<kbench::v1::JobEvent>* WatchJob(
      grpc::CallbackServerContext* context, const kbench::v1::WatchJobRequest* request) override;
  grpc::Status GetQueue(grpc::ServerContext* context, const kbench::v1::GetQueueRequest* request,
                        kbench::v1::QueueSnapshot* snapshot) override;
  grpc::ServerWriteReactor<kbench::v1::QueueSnapshot>* WatchQueue(
      grpc::CallbackServerContext* context, const kbench::v1::GetQueueRequest* request) override;
  grpc::Status ExplainJob(grpc::ServerContext* context,
                          const kbench::v1::ExplainJobRequest* request,
                          kbench::v1::Explanation* explanation) override;

 private:
  // OK when the caller may change the job: it is theirs, or they are an admin.
  absl::Status CheckMayChange(const std::string& job, const std::string& verb);

  Coordinator& coordinator_;
};

}  // namespace kbench::server
