#include "proto/support/config_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "proto/support/error.h"

namespace kbench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

struct Settings {
  std::vector<std::string> listen;
  std::string name = "usual";
  int count = 1;
  double hold = 60;
  std::int64_t bytes = 1;
  std::string level = "info";
  bool open = false;
};

void Declare(CLI::App& app, Settings& on) {
  app.add_option("--listen", on.listen, "Addresses");
  app.add_option("--name", on.name, "What it is called")->take_last()->capture_default_str();
  app.add_option("--count", on.count, "How many")->take_last()->check(WholeBetween(1, 9));
  app.add_option("--rate", on.count, "A number")->take_last()->default_str("3");
  app.add_option("--hold", on.hold, "How long")->take_last()->transform(DurationBetween(1, 7200));
  app.add_option("--bytes", on.bytes, "How large")->take_last()->transform(ByteSize());
  app.add_option("--level", on.level, "How much")->take_last()->check(OneOf({"info", "warn"}));
  app.add_flag("--open", on.open, "For all");
}

class ConfigFlagsTest : public ::testing::Test {
 protected:
  ~ConfigFlagsTest() override { unlink(path_.c_str()); }

  absl::StatusOr<std::string> Parse(const std::string& file, std::vector<const char*> typed = {}) {
    std::ofstream(path_) << file;
    settings_ = {};
    config_.clear();
    Settings trial;
    CLI::App app("A test.", "prog");
    ConfigRules rules;
    rules.program = "prog";
    rules.version = "1";
    rules.default_path = path_;
    rules.about = "The file";
    rules.sections = sections_;
    typed.insert(typed.begin(), "prog");
    return ParseWithConfig(
        app, rules, [this](CLI::App& to) { Declare(to, settings_); },
        [&trial](CLI::App& to) { Declare(to, trial); }, static_cast<int>(typed.size()),
        typed.data(), &config_);
  }

  const std::string path_ = ::testing::TempDir() + "/config-flags-" + std::to_string(getpid());
  bool sections_ = false;
  Settings settings_;
  std::string config_;
};

TEST_F(ConfigFlagsTest, KeysAreFlagsAndFlagsWin) {
  const std::string file =
      "listen = [\"a\", \"b\"]\nname = \"\"\ncount = 3\nhold = \"30m\"\nbytes = 2KiB\n"
      "level = 'warn'\nopen = true\n";
  const auto parsed = Parse(file);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, "");
  EXPECT_THAT(settings_.listen, ElementsAre("a", "b"));
  EXPECT_EQ(settings_.name, "");
  EXPECT_EQ(settings_.count, 3);
  EXPECT_EQ(settings_.hold, 1800);
  EXPECT_EQ(settings_.bytes, 2048);
  EXPECT_EQ(settings_.level, "warn");
  EXPECT_TRUE(settings_.open);
  EXPECT_EQ(config_, "") << "nobody named it";
  const auto typed = Parse(file, {"--listen", "c", "--count", "4", "--config", path_.c_str()});
  ASSERT_TRUE(typed.ok()) << typed.status();
  EXPECT_THAT(settings_.listen, ElementsAre("c"));
  EXPECT_EQ(settings_.count, 4);
  EXPECT_EQ(settings_.name, "");
  EXPECT_EQ(config_, path_);
  ASSERT_TRUE(Parse("open = false\n").ok());
  EXPECT_FALSE(settings_.open);
}

TEST_F(ConfigFlagsTest, WhatIsWrongNamesFileLineKeyAndWhatIsRight) {
  const struct {
    const char* text;
    const char* says;
  } rows[] = {
      {"\ncount = 10\n", ":2: count = 10 is not right: '10' is not a whole number from 1 to 9"},
      {"rate = fast\n", ":1: rate = fast is not right: A number, as in rate = 3"},
      {"hold = 3h\n", ":1: hold = 3h is not right: '3h' is not a time from 1 s to 7200 s"},
      {"hold = soon\n", "write 90s, 30m or 2h"},
      {"bytes = 1gb\n", ":1: bytes = 1gb is not right: '1gb' is not a size"},
      {"level = inof\n", ":1: level = inof is not right: 'inof' is none of info, warn"},
      {"open = 7\n", ":1: open = 7 is not right; write open = true or open = false"},
      {"open\n", ":1: 'open' has no value"},
      {"count = [1, 2]\n", ":1: count takes one value, without brackets"},
      {"listen = []\n", ":1: 'listen' has no value"},
      {"\nlisen = 1\n", ":2: 'lisen' is no flag; a key is the name of a flag, nearest are listen"},
      {"config = \"x\"\n", ":1: 'config' is no flag"},
      {"help = true\n", ":1: 'help' is no flag"},
      {"[section]\nx = 1\n", ":1: there is no section [section]"},
  };
  for (const auto& row : rows) {
    const auto parsed = Parse(row.text);
    ASSERT_FALSE(parsed.ok()) << row.text;
    EXPECT_THAT(MessageOf(parsed.status()), AllOf(StartsWith(path_), HasSubstr(row.says)));
  }
  // Also where the flag was typed, which would win.
  EXPECT_FALSE(Parse("count = 10\n", {"--count", "3"}).ok());
  EXPECT_THAT(MessageOf(Parse("", {"--count", "10"}).status()), HasSubstr("see prog --help"));
  EXPECT_THAT(MessageOf(Parse("", {"--config", "/nonexistent"}).status()),
              HasSubstr("/nonexistent: the configuration cannot be read"));
}

TEST_F(ConfigFlagsTest, SectionsMayBeTheProgramsOwn) {
  sections_ = true;
  const auto parsed = Parse("count = 2\n[labels]\ncount = 77\n");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(settings_.count, 2);
}

TEST_F(ConfigFlagsTest, HelpAndVersionAreReturned) {
  EXPECT_THAT(*Parse("", {"--help"}), AllOf(HasSubstr("--config"), HasSubstr("--listen")));
  EXPECT_EQ(*Parse("", {"--version"}), "1\n");
}

}  // namespace
}  // namespace kbench
