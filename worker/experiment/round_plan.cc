#include "worker/experiment/round_plan.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

namespace kbench::experiment {

std::vector<int> RoundPlan::Order(int round) const {
  std::vector<int> order(static_cast<std::size_t>(cells_));
  std::iota(order.begin(), order.end(), 0);
  // Fisher-Yates by hand: std::shuffle gives other orders in other standard libraries, and a replay
  // must not depend on them.
  std::mt19937_64 random(seed_ * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(round / 2));
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  if (round % 2 == 1) std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace kbench::experiment
