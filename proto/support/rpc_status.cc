#include "proto/support/rpc_status.h"

#include "absl/strings/cord.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "proto/support/error.h"

namespace kbench {

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const std::string message = CutText(MessageOf(status), kMostErrorBytes);
  auto payload = status.GetPayload(kRpcStatusPayload);
  if (!payload.has_value()) {
    // The rule is that every error carries an ErrorInfo, also one that came up from a library.
    const absl::Status detailed =
        MakeError(status.code(), message, {.reason = absl::StatusCodeToString(status.code())});
    payload = detailed.GetPayload(kRpcStatusPayload);
  }
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), message, std::string(*payload));
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  absl::Status result(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  if (!status.error_details().empty()) {
    result.SetPayload(kRpcStatusPayload, absl::Cord(status.error_details()));
  }
  return result;
}

}  // namespace kbench
