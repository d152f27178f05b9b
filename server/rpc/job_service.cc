#include "server/rpc/job_service.h"

#include "server/rpc/reply.h"
#include "server/rpc/validate.h"
#include "server/rpc/watch_stream.h"

namespace kbench::server {

grpc::Status JobService::SubmitJob(grpc::ServerContext*,
                                   const kbench::v1::SubmitJobRequest* request,
                                   kbench::v1::Job* job) {
  KB_REFUSE_LARGE(*request);
  return Reply(coordinator_.Submit(*request), job);
}

grpc::Status JobService::GetJob(grpc::ServerContext*, const kbench::v1::GetJobRequest* request,
                                kbench::v1::Job* job) {
  KB_REFUSE_LARGE(*request);
  return Reply(coordinator_.Get(request->name()), job);
}

grpc::Status JobService::ListJobs(grpc::ServerContext*, const kbench::v1::ListJobsRequest* request,
                                  kbench::v1::ListJobsResponse* response) {
  KB_REFUSE_LARGE(*request);
  return Reply(coordinator_.List(*request), response);
}

grpc::Status JobService::CancelJob(grpc::ServerContext*,
                                   const kbench::v1::CancelJobRequest* request,
                                   kbench::v1::Job* job) {
  KB_REFUSE_LARGE(*request);
  return Reply(coordinator_.Cancel(request->name()), job);
}

grpc::ServerWriteReactor<kbench::v1::JobEvent>* JobService::WatchJob(
    grpc::CallbackServerContext*, const kbench::v1::WatchJobRequest* request) {
  const std::string name = request->name();
  const auto stream = WatchStream::Make(
      [this, name](const Watcher* watcher) { coordinator_.Unwatch(name, watcher); });
  if (const absl::Status size = CheckRequestBytes(*request); !size.ok()) {
    stream->Close(size);
  } else {
    coordinator_.Watch(name, stream);
  }
  return stream.get();
}

}  // namespace kbench::server
