#include "server/rpc/job_service.h"

#include "proto/support/error.h"
#include "proto/support/ids.h"
#include "server/auth/caller.h"
#include "server/rpc/queue_stream.h"
#include "server/rpc/reply.h"
#include "server/rpc/submit_call.h"
#include "server/rpc/visible.h"
#include "server/rpc/watch_stream.h"

namespace kbench::server {
namespace {

// A hold's command is the caller's own code, run as the worker's user.
absl::Status CheckMayRunCode(const auth::Caller& caller, const kbench::v1::JobSpec& spec) {
  if (spec.hold().command().empty() || auth::Includes(caller.role, auth::Role::kCode)) {
    return absl::OkStatus();
  }
  return MakeError(absl::StatusCode::kPermissionDenied,
                   "a command on the worker's host wants the role code, and you are " +
                       auth::RoleName(caller.role) + "; without --remote it runs on this machine",
                   {.reason = "ROLE_TOO_LOW"});
}

// What somebody asks for becomes theirs, if they may ask for it.
absl::Status TakeAsOwn(const auth::Caller& caller, kbench::v1::SubmitJobRequest& request) {
  KB_RETURN_IF_ERROR(CheckMayRunCode(caller, request.spec()));
  KB_ASSIGN_OR_RETURN(std::string owner, caller.OwnerOf(request.owner()));
  request.set_owner(std::move(owner));
  return absl::OkStatus();
}

// As the caller may see it.
absl::StatusOr<kbench::v1::Job> Shown(absl::StatusOr<kbench::v1::Job> job) {
  if (job.ok()) HideEnvironmentFrom(auth::CurrentCaller(), *job);
  return job;
}

}  // namespace

absl::Status JobService::CheckMayChange(const std::string& job, const std::string& verb) {
  const auth::Caller& caller = auth::CurrentCaller();
  if (caller.is_admin()) return absl::OkStatus();
  KB_ASSIGN_OR_RETURN(const kbench::v1::Job known, coordinator_.Get(job));
  return caller.CheckMayChange(known.owner(), verb + " " + known.name());
}

grpc::ServerUnaryReactor* JobService::SubmitJob(grpc::CallbackServerContext* context,
                                                const grpc::ByteBuffer* bytes,
                                                grpc::ByteBuffer* job) {
  const SubmitCall call(*context, job);
  absl::StatusOr<kbench::v1::SubmitJobRequest> request = SubmitCall::Read(*bytes);
  if (request.ok()) {
    const absl::Status mine = TakeAsOwn(auth::CurrentCaller(), *request);
    if (!mine.ok()) request = mine;
  }
  if (!request.ok()) {
    call.Answer(request.status());
  } else {
    coordinator_.Submit(*std::move(request), [call](absl::StatusOr<kbench::v1::Job> answer) {
      call.Answer(std::move(answer));
    });
  }
  return call.reactor();
}

grpc::Status JobService::GetJob(grpc::ServerContext*, const kbench::v1::GetJobRequest* request,
                                kbench::v1::Job* job) {
  return Reply(Shown(coordinator_.Get(request->name())), job);
}

grpc::Status JobService::ListJobs(grpc::ServerContext*, const kbench::v1::ListJobsRequest* request,
                                  kbench::v1::ListJobsResponse* response) {
  auto page = coordinator_.List(*request);
  if (page.ok()) {
    for (auto& job : *page->mutable_jobs()) HideEnvironmentFrom(auth::CurrentCaller(), job);
  }
  return Reply(std::move(page), response);
}

grpc::Status JobService::CancelJob(grpc::ServerContext*,
                                   const kbench::v1::CancelJobRequest* request,
                                   kbench::v1::Job* job) {
  auth::NoteJob(JobName(request->name()));
  const absl::Status allowed = CheckMayChange(request->name(), "cancel");
  if (!allowed.ok()) return Reply(absl::StatusOr<kbench::v1::Job>(allowed), job);
  return Reply(Shown(coordinator_.Cancel(request->name())), job);
}

grpc::Status JobService::KeepHold(grpc::ServerContext*, const kbench::v1::KeepHoldRequest* request,
                                  kbench::v1::KeepHoldResponse* response) {
  const absl::Status allowed = CheckMayChange(request->name(), "keep");
  if (!allowed.ok()) return Reply(absl::StatusOr<kbench::v1::KeepHoldResponse>(allowed), response);
  return Reply(coordinator_.KeepHold(request->name()), response);
}

grpc::Status JobService::EndHold(grpc::ServerContext*, const kbench::v1::EndHoldRequest* request,
                                 kbench::v1::Job* job) {
  auth::NoteJob(JobName(request->name()));
  const absl::Status allowed = CheckMayChange(request->name(), "end");
  if (!allowed.ok()) return Reply(absl::StatusOr<kbench::v1::Job>(allowed), job);
  return Reply(Shown(coordinator_.EndHold(request->name(), request->exit_code())), job);
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
  auto why = coordinator_.Explain(request->name());
  if (why.ok()) HideEnvironmentFrom(auth::CurrentCaller(), *why->mutable_job());
  return Reply(std::move(why), explanation);
}

}  // namespace kbench::server
