// From an absl::StatusOr to gRPC's status and reply.
#pragma once

#include <utility>

#include "absl/status/statusor.h"
#include "grpcpp/support/status.h"
#include "proto/support/rpc_status.h"

namespace kbench::server {

template <typename T>
grpc::Status Reply(absl::StatusOr<T> result, T* out) {
  if (!result.ok()) return ToGrpc(result.status());
  *out = std::move(*result);
  return grpc::Status::OK;
}

}  // namespace kbench::server

// The first line of a unary method (with server/rpc/validate.h).
#define KB_REFUSE_LARGE(request)                                               \
  do {                                                                         \
    const absl::Status kb_size = ::kbench::server::CheckRequestBytes(request); \
    if (!kb_size.ok()) return ::kbench::ToGrpc(kb_size);                       \
  } while (false)
