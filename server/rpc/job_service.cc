#include "server/rpc/job_service.h"

#include "server/rpc/queue_stream.h"
#include "server/rpc/reply.h"
#include "server/rpc/watch_stream.h"

namespace kbench::server {

grpc::Status JobService::SubmitJob(grpc::ServerContext*,
                                   const kbench::v1::SubmitJobRequest* request,
                                   kbench::v1::Job* job) {
  return Reply(coordinator_.Submit(*request), job);
}

grpc::Status JobService::GetJob(grpc::ServerContext*, const kbench::v1::GetJobRequest* request,
                                kbench::v1::Job* job) {
  return Reply(coordinator_.Get(request->name()), job);
}

grpc::Status JobService::ListJobs(grpc::ServerContext*, const kbench::v1::ListJobsRequest* request,
                                  kbench::v1::ListJobsResponse* response) {
  return Reply(coordinator_.List(*request), response);
}

grpc::Status JobService::CancelJob(grpc::ServerContext*,
                                   const kbench::v1::CancelJobRequest* request,
                                   kbench::v1::Job* job) {
  return Reply(coordinator_.Cancel(request->name()), job);
}

grpc::ServerWriteReactor<kbench::v1::JobEvent>* JobService::WatchJob(
    grpc::CallbackServerContext*, const kbench::v1::WatchJobRequest* request) {
  const std::string name = request->name();
  const auto stream = WatchStream::Make(
      [this, name](const Watcher* watcher) { coordinator_.Unwatch(name, watcher); });
  coordinator_.Watch(name, stream);
  return stream.get();
}

grpc::Status JobService::GetQueue(grpc::ServerContext*, const kbench::v1::GetQueueRequest* request,
                                  kbench::v1::QueueSnapshot* snapshot) {
  return Reply(coordinator_.Queue(*request), snapshot);
}

grpc::ServerWriteReactor<kbench::v1::QueueSnapshot>* JobService::WatchQueue(
    grpc::CallbackServerContext*, const kbench::v1::GetQueueRequest* request) {
  const auto stream = QueueStream::Make(
      coordinator_.least_queue_seconds(),
      [this](const QueueWatcher* watcher) { coordinator_.UnwatchQueue(watcher); });
  coordinator_.WatchQueue(*request, stream);
  return stream.get();
}

grpc::Status JobService::ExplainJob(grpc::ServerContext*,
                                    const kbench::v1::ExplainJobRequest* request,
                                    kbench::v1::Explanation* explanation) {
  return Reply(coordinator_.Explain(request->name()), explanation);
}

}  // namespace kbench::server
