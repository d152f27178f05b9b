#include "proto/support/cpu_list.h"

#include <gtest/gtest.h>

namespace kbench {
namespace {

TEST(CpuList, ParsesAndFormats) {
  EXPECT_EQ(*ParseCpuList("0-3,8"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(*ParseCpuList("2,1,1-2"), (std::vector<int>{1, 2}));
  EXPECT_EQ(FormatCpuList({0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(FormatCpuList({5}), "5");
  EXPECT_EQ(FormatCpuList({}), "");
}

TEST(CpuList, RefusesEverythingElse) {
  for (const char* text :
       {"", ",", "a", "1-", "-1", "3-1", "1,,2", "1 2", "9999999", "0-99999999"}) {
    EXPECT_FALSE(ParseCpuList(text).ok()) << text;
  }
}

}  // namespace
}  // namespace kbench
