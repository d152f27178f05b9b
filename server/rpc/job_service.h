// JobService over the coordinator: unary calls on gRPC's synchronous threads (they wait for the
// store), WatchJob and WatchQueue as callback streams. Thread-safe.
#pragma once

#include "kbench/v1/job_service.grpc.pb.h"
#include "server/rpc/coordinator.h"

namespace kbench::server {

class JobService final
    : public kbench::v1::JobService::WithCallbackMethod_WatchJob<
          kbench::v1::JobService::WithCallbackMethod_WatchQueue<kbench::v1::JobService::Service>> {
 public:
  explicit JobService(Coordinator& coordinator) : coordinator_(coordinator) {}

  grpc::Status SubmitJob(grpc::ServerContext* context, const kbench::v1::SubmitJobRequest* request,
                         kbench::v1::Job* job) override;
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
