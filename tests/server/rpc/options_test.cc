// The command line and the configuration file: what is wrong is told in one line with its file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <vector>

#include "proto/support/error.h"
#include "server/rpc/server_options.h"
#include "tests/server/store/temp_dir.h"

namespace kbench::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class OptionsTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::string> ReadFile(const std::string& text) {
    std::ofstream(path_) << text;
    return Read({"--config", path_});
  }
  absl::StatusOr<std::string> Read(const std::vector<std::string>& arguments) {
    std::vector<const char*> argv = {"kbench-server"};
    for (const std::string& argument : arguments) argv.push_back(argument.c_str());
    options_ = {};
    return ReadServerOptions(static_cast<int>(argv.size()), argv.data(), &options_);
  }

  TempDir dir_;
  const std::string path_ = dir_ / "server.toml";
  ProgramOptions options_;
};

TEST_F(OptionsTest, KeysAreTheNamesOfFlagsAndFlagsWin) {
  std::ofstream(path_) << "lease = 60\nlisten = [\"unix:/a\", \"unix:/b\"]\nkeep-logs = \"2h\"\n"
                          "max-hold = \"90m\"\nshare-socket = true\nlocal-role = \"viewer\"\n";
  const auto answer = Read({"--config", path_, "--lease", "45"});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(*answer, "");
  EXPECT_EQ(options_.server.coordinator.scheduler.lease_seconds, 45);
  EXPECT_EQ(options_.server.listen, (std::vector<std::string>{"unix:/a", "unix:/b"}));
  EXPECT_EQ(options_.server.retention.Of(store::Kind::kLogs).seconds, 7200);
  EXPECT_EQ(options_.server.coordinator.max_hold_seconds, 5400);
  EXPECT_TRUE(options_.server.access.share_socket);
  EXPECT_EQ(options_.server.access.local_role, auth::Role::kViewer);
}

TEST_F(OptionsTest, WhatIsWrongInTheFileIsOneLine) {
  const std::pair<const char*, const char*> wrong[] = {
      {"leese = 5\n", "leese"},
      {"lease = []\n", "'lease' has no value"},
      {"lease = [", "lease"},
      {"listen = []\n", "'listen' has no value"},
      {"lease = nan\n", "'nan' is not a number from 1 to 3600"},
      {"lease = 0.5\n", "'0.5' is not a number from 1 to 3600"},
      {"heartbeat = -nan\n", "'-nan' is not a number from 0.1 to 1200"},
      {"heartbeat = 20\n", "more than a third of --lease 30"},
      {"max-hold = \"nan\"\n", "max-hold"},
      {"max-hold = \"8000h\"\n", "max-hold"},
      {"hold-lapse = nan\n", "hold-lapse"},
      {"submits-per-second = nan\n", "'nan' is not a number from 0 on"},
      {"submits-per-second = inf\n", "'inf' is not a number from 0 on"},
      {"most-job-seconds = nan\n", "'nan' is not a number from 0 on"},
      {"most-queued-cases = 0\n", "most-queued-cases"},
      {"keep-logs = \"soon\"\n", "soon"},
      {"local-role = \"king\"\n", "king"},
  };
  for (const auto& [text, says] : wrong) {
    const auto answer = ReadFile(text);
    ASSERT_FALSE(answer.ok()) << text;
    EXPECT_EQ(answer.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(MessageOf(answer.status()), HasSubstr(says));
    EXPECT_EQ(MessageOf(answer.status()).find('\n'), std::string::npos);
  }
  EXPECT_THAT(MessageOf(ReadFile("leese = 5\n").status()),
              AllOf(HasSubstr(path_), HasSubstr("a key is the name of a flag")));
}

TEST_F(OptionsTest, HelpAndVersionAreAnswers) {
  const auto help = Read({"--help"});
  ASSERT_TRUE(help.ok()) << help.status();
  EXPECT_THAT(*help, AllOf(HasSubstr("--lease"), HasSubstr("Exit codes")));
  const auto version = Read({"--version"});
  ASSERT_TRUE(version.ok()) << version.status();
  EXPECT_THAT(*version, HasSubstr("test"));
  EXPECT_THAT(MessageOf(Read({"--lease", "many"}).status()), HasSubstr("kbench-server --help"));
}

}  // namespace
}  // namespace kbench::server
