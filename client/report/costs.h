// What a launch costs, and what Python's launch path and Triton's code generator add. Pure;
// thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/report/essay.h"
#include "client/report/ratio.h"
#include "client/report/series.h"

namespace kbench::client {

// One implementation at a small size.
struct LaunchCost {
  const kbench::v1::Result* row = nullptr;
  Ratio end_to_end;  // the speed for who waits, against the reference; unknown for itself
  // From the reference's end-to-end time: the intervals do not meet. Unknown without intervals.
  std::optional<bool> apart = {};
};

struct LaunchCosts {
  const Series* series = nullptr;
  double extent = 0;
  const kbench::v1::Result* reference = nullptr;  // CUDA; without it the fastest
  std::vector<LaunchCost> costs;                  // by role
};

// Of the smallest size of each series, and of sum fp32 2^20: the essay's small cell.
std::vector<LaunchCosts> LaunchCostsOf(const std::vector<Series>& series);

// The shortest end-to-end time of a role among them, what its launch costs at least; nullptr where
// it was not measured.
const LaunchCost* FloorOf(const std::vector<LaunchCosts>& costs, Role role);

// Two implementations of one case whose difference has a name.
struct Price {
  std::string title;                          // "sum fp32 n=1Mi"
  const kbench::v1::Result* dear = nullptr;   // triton; triton-aot
  const kbench::v1::Result* plain = nullptr;  // triton-aot; cuda
  Difference submit;
  Difference end_to_end;
  Ratio device;  // speed of `dear` against `plain`
};

// triton minus triton-aot of the same variant, at the smallest, the essay's and the largest sizes
// of each series: the price of Python's launch path.
std::vector<Price> LaunchPathPrices(const std::vector<Series>& series);
// triton-aot against cuda there: the price of the code generator.
std::vector<Price> GeneratorPrices(const std::vector<Series>& series);

// Whether a host submit costs no more than this beside CUDA's, from C++ both.
inline constexpr double kSameSubmitSeconds = 2e-6;
Judgement SubmitWithin(const Difference& submit);

}  // namespace kbench::client
