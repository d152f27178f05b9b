// absl::Status <-> grpc::Status with google.rpc details (gRPC 1.51 has neither). Thread-safe.
#pragma once

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace kbench {

// Every error gets an ErrorInfo of domain "kbench"; the reason is the code's name when the status
// carries none.
grpc::Status ToGrpc(const absl::Status& status);
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace kbench
