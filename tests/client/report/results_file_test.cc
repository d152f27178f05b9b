#include "client/report/results_file.h"

#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kbench::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

absl::StatusOr<std::vector<kbench::v1::Result>> Read(const std::string& text) {
  std::istringstream in(text);
  return ReadResults(in, "made.jsonl");
}

std::string Complaint(const std::string& text) {
  const auto results = Read(text);
  EXPECT_EQ(results.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(results.status().message());
}

TEST(ResultsFileTest, ReadsResultsAndPassesOverTheRest) {
  const auto results = Read(
      "{\"event\":{\"sequence\":\"1\"}}\n"
      "\n"
      "{ \"result\" : {\"name\":\"results/a-0-0\",\"device_time\":{\"median\":0.1,"
      "\"round_numbers\":[0,1],\"round_medians\":[0.1,0.25]},\"a_field_of_tomorrow\":{\"x\":1}}}"
      "\r\n"
      "{\"job\":{}}\n"
      "{\"result\":{\"name\":\"results/a-0-1\",\"outcome\":\"OUTCOME_SKIPPED\"}}");
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_EQ(results->size(), 2u);
  EXPECT_EQ((*results)[0].device_time().round_medians(1), 0.25);
  EXPECT_EQ((*results)[1].outcome(), kbench::v1::OUTCOME_SKIPPED);
}

TEST(ResultsFileTest, WhatIsWrongIsToldWithItsLine) {
  EXPECT_THAT(Complaint("{\"job\":{}}\ngarbage\n"),
              AllOf(StartsWith("made.jsonl:2: is not JSON"), HasSubstr("-o json")));
  EXPECT_THAT(Complaint("[1,2]"), StartsWith("made.jsonl:1: is not JSON"));
  EXPECT_THAT(Complaint("{\"result\":7}"), StartsWith("made.jsonl:1: \"result\" is no object"));
  EXPECT_THAT(Complaint("{\"result\":{\"case_index\":\"many\"}}"),
              StartsWith("made.jsonl:1: is no result"));
  EXPECT_THAT(Complaint("{\"result\":{\"device_time\":{\"median\":\"NaN\"}}}"),
              AllOf(StartsWith("made.jsonl:1: "), HasSubstr("not a finite number")));
  EXPECT_THAT(Complaint("{\"result\":{\"device_time\":{\"round_medians\":[\"Infinity\"]}}}"),
              HasSubstr("not a finite number"));
  EXPECT_THAT(Complaint(std::string((16 << 20) + 1, ' ')), HasSubstr("longer than 16 MiB"));
  EXPECT_THAT(Complaint(std::string("\0\xff{", 3)), StartsWith("made.jsonl:1: is not JSON"));
}

TEST(ResultsFileTest, AFileWithoutResultsIsNone) {
  EXPECT_EQ(Complaint(""), "made.jsonl: holds no line {\"result\": ...}");
  EXPECT_EQ(Complaint("{\"job\":{}}\n"), "made.jsonl: holds no line {\"result\": ...}");
  EXPECT_THAT(std::string(LoadResults("/nonexistent/x").status().message()),
              HasSubstr("/nonexistent/x cannot be read: No such file"));
}

}  // namespace
}  // namespace kbench::client
