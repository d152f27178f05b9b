// The order of the queue as flags and keys: what is taken, what is refused and how.
#include "server/rpc/limit_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "tests/server/store/temp_dir.h"

namespace kbench::server {
namespace {

using ::testing::HasSubstr;

// What is wrong with them; empty: nothing.
std::string Read(std::vector<std::string> arguments, CoordinatorOptions* options) {
  CLI::App app("", "kbench-server");
  app.set_config("--config");
  app.allow_config_extras(CLI::config_extras_mode::error);
  AddLimitOptions(app, options);
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants a vector
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return CheckLimitOptions(options);
}

TEST(PolicyOptions, TheDefaultsAreHalfAnHourTenMinutesAndADay) {
  CoordinatorOptions options;
  EXPECT_EQ(Read({}, &options), "");
  EXPECT_EQ(options.scheduler.bound_seconds, 1800);
  EXPECT_EQ(options.scheduler.aging_seconds, 600);
  EXPECT_EQ(options.scheduler.half_life_seconds, 86400);
}

TEST(PolicyOptions, FlagsAndKeysAreTheSameAndTheFlagWins) {
  TempDir dir;
  const std::string path = dir / "server.toml";
  std::ofstream(path) << "waiting-bound = \"2h\"\naging = \"30m\"\nusage-half-life = \"7d\"\n";
  CoordinatorOptions options;
  EXPECT_EQ(Read({"--config", path, "--aging", "90s"}, &options), "");
  EXPECT_EQ(options.scheduler.bound_seconds, 7200);
  EXPECT_EQ(options.scheduler.aging_seconds, 90);
  EXPECT_EQ(options.scheduler.half_life_seconds, 7 * 86400);
}

TEST(PolicyOptions, WhatMakesNoSenseIsRefused) {
  for (const char* flag : {"--waiting-bound", "--aging", "--usage-half-life"}) {
    for (const char* value : {"30", "59s", "0s", "-5m", "soon", "nan", "366d", "8w", ""}) {
      CoordinatorOptions options;
      EXPECT_THAT(Read({flag, value}, &options), HasSubstr(flag)) << value;
    }
  }
  CoordinatorOptions options;
  EXPECT_THAT(Read({"--aging", "8d", "--waiting-bound", "7d"}, &options), HasSubstr("--aging"));
  CoordinatorOptions defaults;
  EXPECT_THAT(Read({"--aging", "40m"}, &defaults), HasSubstr("longer than --waiting-bound"));
}

TEST(LeaseOptions, OneLostHeartbeatLosesNoCase) {
  CoordinatorOptions options;
  EXPECT_EQ(Read({"--lease", "30", "--heartbeat", "10"}, &options), "");
  EXPECT_EQ(options.scheduler.restore_grace_seconds, 30);
  EXPECT_THAT(Read({"--lease", "30", "--heartbeat", "11"}, &options), HasSubstr("third"));
}

}  // namespace
}  // namespace kbench::server
