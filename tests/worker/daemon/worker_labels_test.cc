#include "worker/daemon/worker_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "proto/support/error.h"
#include "worker/daemon/worker_config.h"

namespace kbench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

absl::StatusOr<Labels> Parsed(const std::string& text) {
  std::istringstream stream(text);
  return ParseConfigLabels(stream, "/etc/worker.toml");
}

TEST(WorkerLabels, StandInTheirSectionBesideTheEnvironments) {
  const std::string text = R"([labels]
rack = "a"
pool = "big/1"
empty = ""
[env.default]
python = "/opt/python"
)";
  EXPECT_THAT(*Parsed(text),
              ElementsAre(Pair("empty", ""), Pair("pool", "big/1"), Pair("rack", "a")));
  std::istringstream stream(text);
  const auto environments = ParseWorkerConfig(stream, "/etc/worker.toml");
  ASSERT_TRUE(environments.ok()) << environments.status();
  EXPECT_EQ(environments->size(), 1u) << "labels are no environment";
  EXPECT_TRUE(Parsed("")->empty());
}

TEST(WorkerLabels, WhatIsWrongIsNamed) {
  EXPECT_THAT(MessageOf(Parsed("[labels]\nrack = \"a,b\"\n").status()),
              AllOf(HasSubstr("/etc/worker.toml:2: [labels]"), HasSubstr("'rack=a,b'")));
  EXPECT_THAT(MessageOf(Parsed("[labels]\nrack = [\"a\", \"b\"]\n").status()),
              HasSubstr("takes one value"));
  std::string many = "[labels]\n";
  for (int i = 0; i < 17; ++i) many += "k" + std::to_string(i) + " = \"v\"\n";
  EXPECT_THAT(MessageOf(Parsed(many).status()), HasSubstr("at most 16"));
}

TEST(WorkerLabels, TheCommandLineGoesBeforeTheConfiguration) {
  EXPECT_THAT(*MergeLabels({{"rack", "a"}, {"pool", "x"}}, {"rack=b", "row=7"}),
              ElementsAre(Pair("pool", "x"), Pair("rack", "b"), Pair("row", "7")));
  for (const char* wrong : {"rack", "=a", "ra ck=a", "rack=a=b", "rack=\x01"}) {
    EXPECT_FALSE(MergeLabels({}, {wrong}).ok()) << wrong;
  }
  EXPECT_THAT(MessageOf(MergeLabels({}, {"rack"}).status()), HasSubstr("--label rack=a"));
}

}  // namespace
}  // namespace kbench
