// From an absl::StatusOr to gRPC's status and reply. The audit log learns which job or device it
// was about.
#pragma once

#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "grpcpp/support/status.h"
#include "kbench/v1/device.pb.h"
#include "kbench/v1/job.pb.h"
#include "proto/support/rpc_status.h"
#include "server/auth/caller.h"

namespace kbench::server {

template <typename T>
grpc::Status Reply(absl::StatusOr<T> result, T* out) {
  if (!result.ok()) return ToGrpc(result.status());
  if constexpr (std::is_same_v<T, kbench::v1::Job>) auth::NoteJob(result->name());
  if constexpr (std::is_same_v<T, kbench::v1::Device>) auth::NoteDevice(result->name());
  *out = std::move(*result);
  return grpc::Status::OK;
}

}  // namespace kbench::server
