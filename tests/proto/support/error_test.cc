#include "proto/support/error.h"

#include "gtest/gtest.h"

namespace kbench {
namespace {

TEST(MakeError, CarriesDetailsThroughTheStatus) {
  const absl::Status status = MakeError(absl::StatusCode::kInvalidArgument, "no dtype fp61",
                                        {.reason = "UNSUPPORTED_DTYPE",
                                         .metadata = {{"nearest", "fp64, fp16"}},
                                         .violations = {{"spec.cases[3].dtype", "no dtype fp61"}},
                                         .retry_after_seconds = 1.5});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MessageOf(status), "no dtype fp61");
  const ErrorDetails details = DetailsOf(status);
  EXPECT_EQ(details.reason, "UNSUPPORTED_DTYPE");
  EXPECT_EQ(details.metadata.at("nearest"), "fp64, fp16");
  ASSERT_EQ(details.violations.size(), 1u);
  EXPECT_EQ(details.violations[0].field, "spec.cases[3].dtype");
  EXPECT_DOUBLE_EQ(details.retry_after_seconds, 1.5);
}

TEST(MakeError, ControlCharactersOfQuotedTextDoNotGetOut) {
  const std::string evil = "no kernel a\nFAKE\r\x1b[2J\x7f\t\u00e4";
  const std::string clean = "no kernel a?FAKE??[2J??\u00e4";
  const absl::Status status =
      MakeError(absl::StatusCode::kInvalidArgument, evil,
                {.reason = "X", .metadata = {{"nearest", evil}}, .violations = {{"f", evil}}});
  EXPECT_EQ(MessageOf(status), clean);
  const ErrorDetails details = DetailsOf(status);
  EXPECT_EQ(details.metadata.at("nearest"), clean);
  EXPECT_EQ(details.violations.at(0).description, clean);
}

TEST(MakeError, BytesThatAreNotUtf8DoNotCostTheDetails) {
  // A lone byte, one cut off, a longer form than needed, a surrogate, one beyond the last.
  const std::string evil =
      "a\xa6 \xc3 \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xf0\x9f\x98\x80 \u00e4\xe2\x82";
  const std::string clean = "a? ? ?? ??? ???? \xf0\x9f\x98\x80 \u00e4??";
  const absl::Status status = MakeError(
      absl::StatusCode::kInvalidArgument, evil,
      {.reason = "X", .metadata = {{"nearest", evil}}, .violations = {{"labels[" + evil, evil}}});
  EXPECT_EQ(MessageOf(status), clean);
  const ErrorDetails details = DetailsOf(status);
  EXPECT_EQ(details.reason, "X");
  EXPECT_EQ(details.metadata.at("nearest"), clean);
  EXPECT_EQ(details.violations.at(0).field, "labels[" + clean);
  EXPECT_EQ(details.violations.at(0).description, clean);
}

TEST(DetailsOf, IsEmptyForAPlainStatus) {
  EXPECT_TRUE(DetailsOf(absl::NotFoundError("x")).reason.empty());
  EXPECT_TRUE(DetailsOf(absl::OkStatus()).reason.empty());
}

TEST(CutText, NeverInTheMiddleOfACharacter) {
  EXPECT_EQ(CutText("short", 5), "short");
  EXPECT_EQ(CutText("longer than that", 9), "longer...");
  EXPECT_EQ(CutText("12345\u00e4\u00e4\u00e4", 9), "12345...");
}

TEST(NearestWords, BestFirst) {
  const std::vector<std::string> kernels = {"null", "copy", "sum", "softmax", "matmul"};
  EXPECT_EQ(NearestWords("matmull", kernels, 1), std::vector<std::string>{"matmul"});
  EXPECT_EQ(NearestWords("SOFTMAX", kernels, 1), std::vector<std::string>{"softmax"});
  EXPECT_EQ(NearestWords("", kernels, 2).size(), 2u);
  EXPECT_TRUE(NearestWords("x", {}, 3).empty());
}

}  // namespace
}  // namespace kbench
