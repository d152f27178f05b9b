#include "worker/runner/options.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(RunnerOptionsTest, UnderstandsEverything) {
  const auto options =
      ParseRunnerOptions({"--stdio", "--cpus", "0-2,5", "--threads", "3", "--parent", "1234"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_TRUE(options->stdio);
  EXPECT_THAT(options->cpus, ElementsAre(0, 1, 2, 5));
  EXPECT_EQ(options->threads, 3);
  EXPECT_EQ(options->parent, 1234);
}

TEST(RunnerOptionsTest, NothingIsTheDefault) {
  const auto options = ParseRunnerOptions({});
  ASSERT_TRUE(options.ok());
  EXPECT_FALSE(options->stdio);
  EXPECT_THAT(options->cpus, ElementsAre());
  EXPECT_EQ(options->threads, 0);
}

TEST(RunnerOptionsTest, RefusalsNameTheArgument) {
  const std::vector<std::vector<std::string>> wrong = {
      {"--threads", "0"},   {"--threads", "x"}, {"--threads", "4097"}, {"--threads", "2x"},
      {"--parent", "-1"},   {"--cpus", ""},     {"--cpus", "3-1"},     {"--cpus", "a"},
      {"--cpus", "0-9999"}, {"--cpus", "1-"},   {"--threads"},         {"--verbose"}};
  for (const auto& args : wrong) {
    const auto options = ParseRunnerOptions(args);
    EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument) << args[0];
    EXPECT_THAT(std::string(options.status().message()), HasSubstr(args[0]));
  }
}

}  // namespace
}  // namespace kbench
