#include "server/rpc/submit_call.h"

#include <utility>

#include "grpcpp/impl/codegen/proto_utils.h"
#include "proto/support/error.h"
#include "proto/support/rpc_status.h"
#include "server/rpc/visible.h"

namespace kbench::server {

using kbench::v1::Job;
using kbench::v1::SubmitJobRequest;

absl::StatusOr<SubmitJobRequest> SubmitCall::Read(const grpc::ByteBuffer& bytes) {
  SubmitJobRequest request;
  grpc::ByteBuffer read = bytes;  // the same slices: reading lets go of them
  if (grpc::SerializationTraits<SubmitJobRequest>::Deserialize(&read, &request).ok()) {
    return request;
  }
  return MakeError(absl::StatusCode::kInternal, "the request is no SubmitJobRequest",
                   {.reason = "BAD_MESSAGE"});
}

void SubmitCall::Answer(absl::StatusOr<Job> job) const {
  const auth::CallScope scope(caller_);
  if (!job.ok()) return reactor_->Finish(ToGrpc(job.status()));
  HideEnvironmentFrom(caller_->caller, *job);
  auth::NoteJob(job->name());
  bool own_buffer = false;
  reactor_->Finish(grpc::SerializationTraits<Job>::Serialize(*job, reply_, &own_buffer));
}

}  // namespace kbench::server
