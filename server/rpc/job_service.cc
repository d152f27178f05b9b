#include "server/rpc/job_service.h"

#include "proto/support/error.h"
#include "proto/support/ids.h"
#include "server/auth/caller.h"
#include "server/rpc/reply.h"
#include "server/rpc/watch_stream.h"

namespace kbench::server {

absl::Status JobService::CheckMayChange(const std::string& job, const std::string& verb) {
  const auth::Caller& caller = auth::CurrentCaller();
  if (caller.is_admin()) return absl::OkStatus();
  KB_ASSIGN_OR_RETURN(const kbench::v1::Job known, coordinator_.Get(job));
  return caller.CheckMayChange(known.owner(), verb + " " + known.name());
}

grpc::Status JobService::SubmitJob(grpc::ServerContext*,
                                   const kbench::v1::SubmitJobRequest* request,
                                   kbench::v1::Job* job) {
  kbench::v1::SubmitJobRequest owned = *request;
  owned.set_owner(auth::CurrentCaller().OwnerOf(request->owner()));
  return Reply(coordinator_.Submit(owned), job);
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
  auth::NoteJob(JobName(request->name()));
  const absl::Status allowed = CheckMayChange(request->name(), "cancel");
  if (!allowed.ok()) return Reply(absl::StatusOr<kbench::v1::Job>(allowed), job);
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

}  // namespace kbench::server
