#include "worker/stats/distributions.h"

#include <gtest/gtest.h>

namespace kbench::stats {
namespace {

TEST(NormalQuantile, TableValues) {
  EXPECT_NEAR(NormalQuantile(0.5), 0, 1e-9);
  EXPECT_NEAR(NormalQuantile(0.95), 1.6448536270, 1e-9);
  EXPECT_NEAR(NormalQuantile(0.975), 1.9599639845, 1e-9);
  EXPECT_NEAR(NormalQuantile(0.995), 2.5758293035, 1e-9);
  EXPECT_NEAR(NormalQuantile(0.025), -1.9599639845, 1e-9);
}

// The 5 % column of any table of Student's t.
TEST(StudentTwoSided, TableValues) {
  EXPECT_NEAR(StudentTwoSided(12.7062, 1), 0.05, 1e-6);
  EXPECT_NEAR(StudentTwoSided(2.570582, 5), 0.05, 1e-6);
  EXPECT_NEAR(StudentTwoSided(2.228139, 10), 0.05, 1e-6);
  EXPECT_NEAR(StudentTwoSided(2.042272, 30), 0.05, 1e-6);
  EXPECT_NEAR(StudentTwoSided(-2.042272, 30), 0.05, 1e-6);
  EXPECT_NEAR(StudentTwoSided(1, 1), 0.5, 1e-12);
  EXPECT_NEAR(StudentTwoSided(0, 7), 1, 1e-12);
}

}  // namespace
}  // namespace kbench::stats
