#include "proto/support/rpc_status.h"

#include "gtest/gtest.h"
#include "proto/support/error.h"

namespace kbench {
namespace {

TEST(RpcStatus, DetailsSurviveTheWire) {
  const absl::Status before =
      MakeError(absl::StatusCode::kFailedPrecondition, "no device x", {.reason = "UNKNOWN_DEVICE"});
  const absl::Status after = FromGrpc(ToGrpc(before));
  EXPECT_EQ(after.code(), before.code());
  EXPECT_EQ(MessageOf(after), "no device x");
  EXPECT_EQ(DetailsOf(after).reason, "UNKNOWN_DEVICE");
}

TEST(RpcStatus, EveryErrorHasAnErrorInfo) {
  const absl::Status after = FromGrpc(ToGrpc(absl::NotFoundError("gone")));
  EXPECT_EQ(DetailsOf(after).reason, "NOT_FOUND");
}

TEST(RpcStatus, OkStaysOk) {
  EXPECT_TRUE(ToGrpc(absl::OkStatus()).ok());
  EXPECT_TRUE(FromGrpc(grpc::Status::OK).ok());
}

}  // namespace
}  // namespace kbench
