#include "proto/support/user_name.h"

#include <gtest/gtest.h>

namespace kbench {
namespace {

TEST(UserName, IsTheAccountsOrTheNumber) {
  EXPECT_EQ(UserName(0), "root");
  EXPECT_EQ(UserName(3'999'999'999U), "uid3999999999");
}

}  // namespace
}  // namespace kbench
