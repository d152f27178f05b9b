// How the time of one case is spent. All of a case (preparing, checking before and after,
// measuring, reporting) lies between its assignment and its budget; what cannot fit is SKIPPED up
// front instead of failing at the end. Pure; times are seconds; thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace kbench::experiment {

inline constexpr double kDefaultCaseSeconds = 60;
// The first call, two checks and five rounds of one sample: the least that gives a number worth
// printing.
inline constexpr int kMinLaunches = 8;

// Kept free at the end for statistics and for sending the result.
double ReportReserve(double case_seconds);

// The longest launch that still fits kMinLaunches times into what is left beside the launches that
// others need already.
double LaunchLimit(double usable_seconds, double claimed_seconds);

// The deadline of one step when `left` cells (this one included) still have to take it: a hang of
// one must leave time for the others.
double FairShare(double usable_seconds, int left);

struct LaunchCost {
  double seconds = 0;  // one launch
  bool keep = false;   // the baseline: dropped last
};
// Indices of the cells to drop, slowest first, until `launches` launches of every other one fit.
std::vector<std::size_t> DropUntilFits(const std::vector<LaunchCost>& costs, int launches,
                                       double usable_seconds);

// How long to measure and to warm up, by the precision asked for.
struct Effort {
  double soft_measure_seconds;  // no further look after this long once every cell has 8 rounds
  double warm_min_seconds;
  double warm_max_seconds;
};
Effort EffortFor(double target_ratio, bool steady);

// Cost of one sample of a cell.
struct SampleCost {
  double device_seconds = 0;
  double pace_seconds = 0;  // wall time of one sample with its flush
};

// At least 10 samples and 10 ms of kernel time; a single sample above 50 ms; at most 1000.
int FullSamples(const SampleCost& cost);

// Samples of each cell in the next round. When `seconds` (for this and the rounds up to the first
// look) would not hold full rounds, all cells get proportionally fewer, at least one.
std::vector<int> SamplesOfRound(const std::vector<SampleCost>& costs, int rounds_ahead,
                                double seconds);
double RoundSeconds(const std::vector<SampleCost>& costs, const std::vector<int>& samples);

}  // namespace kbench::experiment
