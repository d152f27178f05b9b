#include "proto/support/config_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "proto/support/error.h"

namespace kbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(ConfigText, KeysSectionsAndLists) {
  const auto entries = ParseConfigText(
      "\xEF\xBB\xBF# a comment\r\n"
      "share-socket = true  # behind a value\n"
      "lease=30\n"
      "empty = \"\"\n"
      "quoted = \"a # b \\\"c\\\" \\\\ d\"\n"
      "plain = 'C:\\x'\n"
      "\n[ env.default ]\n"
      "list = [ \"one\", 'two',  # and\n  3,\n]\n"
      "\"share-socket\" = other",
      "f.toml");
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_EQ(entries->size(), 8u);
  EXPECT_EQ((*entries)[0].key, "share-socket");
  EXPECT_THAT((*entries)[0].values, ElementsAre("true"));
  EXPECT_EQ((*entries)[0].line, 2);
  EXPECT_FALSE((*entries)[0].list);
  EXPECT_THAT((*entries)[1].values, ElementsAre("30"));
  EXPECT_THAT((*entries)[2].values, ElementsAre(""));
  EXPECT_THAT((*entries)[3].values, ElementsAre("a # b \"c\" \\ d"));
  EXPECT_THAT((*entries)[4].values, ElementsAre("C:\\x"));
  EXPECT_EQ((*entries)[5].section, "env.default");
  EXPECT_EQ((*entries)[5].key, "");
  EXPECT_THAT((*entries)[6].values, ElementsAre("one", "two", "3"));
  EXPECT_TRUE((*entries)[6].list);
  EXPECT_EQ((*entries)[7].section, "env.default") << "the same key in another section";
  EXPECT_EQ((*entries)[7].line, 12);
  EXPECT_THAT(*ParseConfigText("", "f.toml"), IsEmpty());
  EXPECT_THAT(*ParseConfigText("# nothing", "f.toml"), IsEmpty());
}

TEST(ConfigText, WhatIsWrongIsNamedWithItsLine) {
  const struct {
    std::string text;
    const char* place;
    const char* says;
  } rows[] = {
      {"share-socket\n",
       "f.toml:1: ", "'share-socket' has no value; write share-socket = \"text\""},
      {"\nshare-socket =\n", "f.toml:2: ", "'share-socket' has no value"},
      {"insecure = # later\n", "f.toml:1: ", "'insecure' has no value"},
      {"a = [1, , 2]\n", "f.toml:1: ", "'a' has no value"},
      {"lease = 1\n\nlease = 2\n", "f.toml:3: ", "lease stands on line 1 already"},
      {"[s]\na = 1\n[s]\na = 1\n", "f.toml:4: ", "a stands on line 2 already"},
      {"a = 1\n\xff\xfe\n", "f.toml:2: ", "bytes that are no text"},
      {std::string("a = 1\0b", 7), "f.toml:1: ", "bytes that are no text"},
      {"a = \"x\n", "f.toml:1: ", "the value of a has no \" at its end"},
      {"a = \"\\q\"\n", "f.toml:1: ", "a \\ that means nothing"},
      {"a = [1\nb = 2\n", "f.toml:2: ", "comma"},
      {"\na = [\"1\",\n", "f.toml:2: ", "has no ] at its end"},
      {"a = 1 2\n", "f.toml:1: ", "neither in quotes nor"},
      {"a = \"1\" 2\n", "f.toml:1: ", "'2' stands behind a"},
      {"a = {b = 1}\n", "f.toml:1: ", "neither in quotes nor"},
      {"[env.a\n", "f.toml:1: ", "'[env.a' is no section"},
      {"[]\n", "f.toml:1: ", "'[]' is no section"},
      {"[[a]]\n", "f.toml:1: ", "is no section"},
      {"[a] b = 1\n", "f.toml:1: ", "stands behind the section"},
      {"two words = 1\n", "f.toml:1: ", "'two words = 1' is no key; a line is KEY = VALUE"},
      {"= 1\n", "f.toml:1: ", "'= 1' is no key"},
  };
  for (const auto& row : rows) {
    const auto entries = ParseConfigText(row.text, "f.toml");
    ASSERT_FALSE(entries.ok()) << row.text;
    EXPECT_EQ(entries.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(DetailsOf(entries.status()).reason, "BAD_CONFIGURATION");
    EXPECT_THAT(MessageOf(entries.status()), StartsWith(row.place)) << row.text;
    EXPECT_THAT(MessageOf(entries.status()), HasSubstr(row.says)) << row.text;
  }
}

TEST(ConfigText, AFileThatCannotBeReadIsNamed) {
  EXPECT_THAT(MessageOf(ReadConfigFile("/nonexistent/f.toml").status()),
              StartsWith("/nonexistent/f.toml: the configuration cannot be read"));
  EXPECT_FALSE(ReadConfigFile("/tmp").ok()) << "a folder";
}

}  // namespace
}  // namespace kbench
