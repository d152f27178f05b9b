// One call of SubmitJob between its handler and its answer, which comes from another thread when
// the job is durable. That the client goes away changes nothing: what was asked for is stored.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "kbench/v1/job.pb.h"
#include "kbench/v1/job_service.pb.h"
#include "server/auth/caller.h"

namespace kbench::server {

// A reference to gRPC's call: copies are the same call.
class SubmitCall {
 public:
  // In the handler, on its thread. `reply` is gRPC's, and lives until the call is answered.
  SubmitCall(grpc::CallbackServerContext& context, grpc::ByteBuffer* reply)
      : caller_(auth::CurrentCall()), reactor_(context.DefaultReactor()), reply_(reply) {}

  // INTERNAL when the bytes are no request, as gRPC answers for other methods.
  static absl::StatusOr<kbench::v1::SubmitJobRequest> Read(const grpc::ByteBuffer& bytes);

  // Once, from any thread. The caller sees of the job what they may.
  void Answer(absl::StatusOr<kbench::v1::Job> job) const;

  // What the handler returns. gRPC's own: another one would cost a turn of one of its threads at
  // the end of every call.
  grpc::ServerUnaryReactor* reactor() const { return reactor_; }

 private:
  std::shared_ptr<auth::PendingCall> caller_;
  grpc::ServerUnaryReactor* reactor_;
  grpc::ByteBuffer* reply_;
};

}  // namespace kbench::server
