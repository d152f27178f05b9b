// From an absl::StatusOr to gRPC's status and reply. The audit log learns of which job it was.
#pragma once

#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "grpcpp/support/status.h"
#include "kbench/v1/job.pb.h"
#include "proto/support/rpc_status.h"
#include "server/auth/caller.h"

namespace kbench::server {

template <typename T>
grpc::Status Reply(absl::StatusOr<T> result, T* out) {
  if (!result.ok()) return ToGrpc(result.status());
  if constexpr (std::is_same_v<T, kbench::v1::Job>) auth::NoteJob(result->name());
  *out = std::move(*result);
  return grpc::Status::OK;
}

}  // namespace kbench::server
