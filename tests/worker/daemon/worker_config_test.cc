#include "worker/daemon/worker_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace kbench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

absl::StatusOr<std::vector<PythonEnvironment>> Parsed(const std::string& text) {
  std::istringstream stream(text);
  return ParseWorkerConfig(stream, "/etc/worker.toml");
}

TEST(WorkerConfig, SectionsAreEnvironments) {
  const auto all = Parsed(R"(# what this machine has
[env.default]
python = "/opt/a b/bin/python"   # with a space

[env.torch211]
frameworks = [ "torch",
  "triton" ]
python = 'python3.12'

[env.only-torch_2]
python = "/x/python"
frameworks = ["torch"]
)");
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->size(), 3u);
  EXPECT_EQ((*all)[0].name, "default");
  EXPECT_EQ((*all)[0].python, "/opt/a b/bin/python");
  EXPECT_THAT((*all)[0].frameworks, IsEmpty());
  EXPECT_EQ((*all)[0].origin, "[env.default] of /etc/worker.toml");
  EXPECT_EQ((*all)[1].python, "python3.12");
  EXPECT_THAT((*all)[1].frameworks, ElementsAre("torch", "triton"));
  EXPECT_EQ((*all)[2].name, "only-torch_2");
  EXPECT_THAT((*all)[2].frameworks, ElementsAre("torch"));
}

TEST(WorkerConfig, AnEmptyFileHasNoEnvironment) {
  ASSERT_TRUE(Parsed("").ok());
  EXPECT_THAT(*Parsed("# nothing\n"), IsEmpty());
}

TEST(WorkerConfig, WhatIsWrongIsNamedWithItsPlace) {
  const struct {
    const char* text;
    const char* section;
    const char* says;
  } rows[] = {
      {"[env.default]\n", "[env.default]", "python is missing"},
      {"[env.default]\nframeworks = [\"torch\"]\n", "[env.default]", "python is missing"},
      {"[env.Torch]\npython = \"/x\"\n", "[env.Torch]", "lower-case letters"},
      {"[env.a@b]\npython = \"/x\"\n", "[env.a@b]", "lower-case letters"},
      {"[env.aaaaaaaaaabbbbbbbbbbccccccccccddd]\npython = \"/x\"\n", "[env.aaaa", "1 to 32"},
      {"[env.a.b]\npython = \"/x\"\n", "[env.a.b]", "a section is [env.NAME]"},
      {"[environment]\npython = \"/x\"\n", "[environment]", "a section is [env.NAME]"},
      {"[env]\npython = \"/x\"\n", "[env]", "a section is [env.NAME]"},
      {"python = \"/x\"\n", "", "'python' stands in no section"},
      {"[env.a]\npython = \"/x\"\npyhton = \"/x\"\n", "[env.a]", "no key 'pyhton'"},
      {"[env.a]\npython = \"bin/python\"\n", "[env.a]", "neither an absolute path"},
      {"[env.a]\npython = \"\"\n", "[env.a]", "neither an absolute path"},
      {"[env.a]\npython = [\"/x\", \"/y\"]\n", "[env.a]", "takes one interpreter"},
      {"[env.a]\npython = \"/x\"\nframeworks = [\"jax\"]\n", "[env.a]", "no framework 'jax'"},
      {"[env.a]\npython = \"/x\"\nframeworks = []\n", "[env.a]", "names none"},
      {"[env.a]\npython = \"/x\"\n[env.b]\npython = \"/y\"\n[env.a]\npython = \"/z\"\n",
       "toml:6: ", "python stands on line 2 already"},
      {"[env.a\npython = \"/x\"\n", "toml:1: ", "'[env.a' is no section"},
      {"[env.a]\npython\n", "toml:2: ", "'python' has no value"},
      {"[env.a]\npython = \"/\xff\"\n", "toml:2: ", "no text"},
      {"\n[env.a]\npyhton = \"/x\"\n", "toml:3: ", "no key 'pyhton'"},
  };
  for (const auto& row : rows) {
    const auto parsed = Parsed(row.text);
    ASSERT_FALSE(parsed.ok()) << row.text;
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(parsed.status().message()),
                AllOf(HasSubstr("/etc/worker.toml:"), HasSubstr(row.section), HasSubstr(row.says)))
        << row.text;
  }
}

TEST(WorkerConfig, AFileThatCannotBeReadIsNamed) {
  EXPECT_THAT(std::string(ReadWorkerConfig("/nonexistent/worker.toml").status().message()),
              HasSubstr("/nonexistent/worker.toml: the configuration cannot be read"));
  EXPECT_FALSE(ReadWorkerConfig("/tmp").ok()) << "a folder";
}

}  // namespace
}  // namespace kbench
