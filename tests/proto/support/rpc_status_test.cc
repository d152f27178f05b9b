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

TEST(RpcStatus, AQuotedTextOfAnyLengthFitsIntoTheMetadata) {
  const std::string sent(5000, 'x');
  const grpc::Status rpc =
      ToGrpc(MakeError(absl::StatusCode::kInvalidArgument, "no kernel " + sent,
                       {.reason = "UNKNOWN_KERNEL",
                        .metadata = {{"nearest", sent}},
                        .violations = {{"spec.cases[0].kernel", "no kernel " + sent}}}));
  EXPECT_LT(rpc.error_message().size() + rpc.error_details().size() * 4 / 3, 6000U);
  EXPECT_LT(ToGrpc(absl::NotFoundError(sent)).error_message().size(), 1000U);
  EXPECT_EQ(MessageOf(FromGrpc(rpc)).rfind("no kernel xxx", 0), 0U);
}
}  // namespace
}  // namespace kbench
