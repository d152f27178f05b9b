#include "client/errors.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/support/error.h"
#include "proto/support/rpc_status.h"

namespace kbench::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

absl::Status OverTheWire(const absl::Status& status) { return FromGrpc(ToGrpc(status)); }

TEST(ErrorLinesTest, AFieldIsNamedByTheWordThatWasTyped) {
  const absl::Status status = OverTheWire(
      MakeError(absl::StatusCode::kInvalidArgument, "spec.cases[0].dtype: no such dtype",
                {.reason = "UNSUPPORTED_DTYPE",
                 .metadata = {{"nearest", "fp64, fp16"}},
                 .violations = {{"spec.cases[0].dtype", "kernel matmul has no dtype fp61"}}}));
  EXPECT_THAT(ErrorLines(status),
              ElementsAre("dtype: kernel matmul has no dtype fp61; nearest: fp64, fp16"));
}

TEST(ErrorLinesTest, NearestIsNotSaidTwice) {
  const absl::Status status = OverTheWire(MakeError(
      absl::StatusCode::kInvalidArgument, "x",
      {.reason = "UNKNOWN_KERNEL",
       .metadata = {{"nearest", "sum"}},
       .violations = {{"spec.cases[0].kernel", "there is no kernel som; nearest: sum"}}}));
  EXPECT_THAT(ErrorLines(status), ElementsAre("kernel: there is no kernel som; nearest: sum"));
}

TEST(ErrorLinesTest, TheSameFaultOfManyCasesIsOneLine) {
  ErrorDetails details{.reason = "BAD_SIZE", .metadata = {}, .violations = {}};
  for (int i = 0; i < 100; ++i) {
    details.violations.push_back({"spec.cases[" + std::to_string(i) + "].size", "0 is too small"});
  }
  EXPECT_THAT(ErrorLines(OverTheWire(MakeError(absl::StatusCode::kInvalidArgument, "x", details))),
              ElementsAre("size: 0 is too small"));
}

TEST(ErrorLinesTest, ManyDifferentFaultsAreCut) {
  ErrorDetails details{.reason = "BAD_SIZE", .metadata = {}, .violations = {}};
  for (int i = 0; i < 100; ++i) {
    details.violations.push_back({"spec.cases[0].size", std::to_string(i) + " is too small"});
  }
  const auto lines = ErrorLines(MakeError(absl::StatusCode::kInvalidArgument, "x", details));
  ASSERT_THAT(lines, SizeIs(9));
  EXPECT_THAT(lines.back(), HasSubstr("92 more"));
}

TEST(ErrorLinesTest, RetryIsToldAndControlCharactersAreNot) {
  EXPECT_THAT(
      ErrorLines(MakeError(
          absl::StatusCode::kResourceExhausted, "the queue\nis \x1b[31mfull",
          {.reason = "QUEUE_FULL", .metadata = {}, .violations = {}, .retry_after_seconds = 30})),
      ElementsAre("the queue?is ?[31mfull; try again in 30 s"));
}

TEST(ErrorLinesTest, AStatusWithoutWordsStillSaysSomething) {
  EXPECT_THAT(ErrorLines(absl::Status(absl::StatusCode::kInternal, "")), ElementsAre("INTERNAL"));
}

}  // namespace
}  // namespace kbench::client
