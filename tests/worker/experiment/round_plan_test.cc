#include "worker/experiment/round_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace kbench::experiment {
namespace {

TEST(RoundPlan, EveryRoundVisitsAllOnce) {
  const RoundPlan plan(1, 5);
  for (int round = 0; round < 40; ++round) {
    auto order = plan.Order(round);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
  }
}

TEST(RoundPlan, EachOrderIsFollowedByItsReverse) {
  const RoundPlan plan(7, 4);
  for (int round = 0; round < 40; round += 2) {
    auto reversed = plan.Order(round + 1);
    std::reverse(reversed.begin(), reversed.end());
    EXPECT_EQ(plan.Order(round), reversed);
  }
}

TEST(RoundPlan, PlacesAreBalancedOverPairs) {
  // Position sums over a pair are the same for every cell: a linear drift cancels.
  const RoundPlan plan(3, 3);
  std::map<int, int> sums;
  for (int round = 0; round < 8; ++round) {
    const auto order = plan.Order(round);
    for (int place = 0; place < 3; ++place) sums[order[static_cast<std::size_t>(place)]] += place;
  }
  EXPECT_EQ(sums[0], 8);
  EXPECT_EQ(sums[1], 8);
  EXPECT_EQ(sums[2], 8);
}

TEST(RoundPlan, OrdersAreShuffledAndFollowFromTheSeed) {
  std::set<std::vector<int>> seen;
  for (int round = 0; round < 40; ++round) seen.insert(RoundPlan(5, 3).Order(round));
  EXPECT_GE(seen.size(), 4u);
  EXPECT_EQ(RoundPlan(5, 6).Order(9), RoundPlan(5, 6).Order(9));
  EXPECT_NE(RoundPlan(5, 6).Order(8), RoundPlan(6, 6).Order(8));
}

}  // namespace
}  // namespace kbench::experiment
