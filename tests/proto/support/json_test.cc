#include "proto/support/json.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "kbench/v1/runner.pb.h"

namespace kbench {
namespace {

using kbench::v1::RunnerReply;
using kbench::v1::RunnerRequest;

TEST(Frames, RoundTripOnOneLine) {
  RunnerRequest request;
  request.set_id(7);
  request.mutable_prepare()->set_implementation("cpu/\nnaive");
  const auto line = ToFrame(request);
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->find('\n'), std::string::npos);
  RunnerRequest back;
  ASSERT_TRUE(FromFrame(*line, &back).ok());
  EXPECT_EQ(back.SerializeAsString(), request.SerializeAsString());
}

TEST(Frames, RefuseNumbersThatAreNotFinite) {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    RunnerReply reply;
    reply.mutable_burst()->add_device_seconds(1.0);
    reply.mutable_burst()->add_device_seconds(bad);
    EXPECT_EQ(ToFrame(reply).status().code(), absl::StatusCode::kInvalidArgument);
  }
  RunnerReply reply;
  // The canonical JSON form spells NaN as a string: it must not slip in that way either.
  EXPECT_FALSE(FromFrame(R"({"id":"1","burst":{"deviceSeconds":["NaN"]}})", &reply).ok());
  EXPECT_FALSE(FromFrame(R"({"id":"1","burst":{"deviceSeconds":[NaN]}})", &reply).ok());
  EXPECT_FALSE(FromFrame(R"({"id":"1","verified":{"relativeError":"Infinity"}})", &reply).ok());
}

TEST(Frames, RefuseMalformedLines) {
  RunnerReply reply;
  for (const char* line : {"", "{", "[]", "hello", R"({"id":"x"})", R"({"unknown":1})"}) {
    const absl::Status status = FromFrame(line, &reply);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << line;
  }
}

TEST(Frames, RefuseWhatIsOverTheLimit) {
  RunnerReply reply;
  reply.mutable_failure()->set_message(std::string(kMaxFrameBytes + 1, 'x'));
  EXPECT_EQ(ToFrame(reply).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(ToJsonLine, UsesTheNamesOfTheProto) {
  RunnerReply reply;
  reply.mutable_prepared()->set_footprint_bytes(5);
  EXPECT_EQ(ToJsonLine(reply), R"({"prepared":{"footprint_bytes":"5"}})");
}

}  // namespace
}  // namespace kbench
