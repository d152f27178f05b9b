#include "worker/daemon/capped_log.h"

#include <gtest/gtest.h>

#include <string>

namespace kbench {
namespace {

TEST(CappedLog, ShortTextIsKeptWhole) {
  CappedLog log(10);
  log.Append("abc", 3);
  log.Append("defghij", 7);
  EXPECT_EQ(log.Text(), "abcdefghij");
}

TEST(CappedLog, HeadAndTailSurviveAFlood) {
  CappedLog log(100);
  log.Append("begin ", 6);
  for (int i = 0; i < 1000; ++i) log.Append("0123456789", 10);
  log.Append(" end", 4);
  const std::string text = log.Text();
  EXPECT_EQ(text.rfind("begin ", 0), 0u);
  EXPECT_EQ(text.substr(text.size() - 4), " end");
  EXPECT_NE(text.find("... 9910 bytes left out ..."), std::string::npos) << text;
  EXPECT_LT(text.size(), 200u);
}

TEST(CappedLog, ClearStartsAgain) {
  CappedLog log(4);
  log.Append("abcdefghijkl", 12);
  log.Clear();
  EXPECT_TRUE(log.empty());
  EXPECT_EQ(log.Text(), "");
}

}  // namespace
}  // namespace kbench
