// How the time of one case is spent. All of a case (preparing, checking before and after,
// measuring, reporting) lies between its assignment and its budget; what cannot fit is SKIPPED up
// front instead of failing at the end. Pure; times are seconds; thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace kbench::experiment {

inline constexpr double kDefaultCaseSeconds = 60;
inline constexpr double kQuickTarget = 0.01;  // at or above: somebody waits at a terminal
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
  double pace_seconds = 0;   // wall time of one sample with its flush
  double visit_seconds = 0;  // of a visit, beside its samples: frames, telemetry, a lead-in
  // Mode steady: a visit's samples take so long, however many that makes; 0: see FullSamples().
  double steady_seconds = 0;
};

// Mode steady. Behind another cell's visit a device at its power limit takes a tenth of a second to
// come to what it can keep up (H200, matmul of 1.7 ms: up to 4 % away for 65 to 80 ms): what a
// visit begins with is not counted. The rest is a third of a swing of the clock, which rounds meet
// at other phases.
inline constexpr double kSteadyLeadSeconds = 0.1;
inline constexpr double kSteadyVisitSeconds = 0.3;
// How long the rounds may take when `spent` seconds of the case go to everything else: the warm-up
// alone takes 3 to 10 s a cell.
double SteadyMeasureSeconds(double spent);
// Samples at the beginning of a visit that do not count.
int LeadSamples(const SampleCost& cost);

inline constexpr int kMaxSamples = 1000;  // of a visit

// At least 10 samples and 10 ms of kernel time; a single sample above 50 ms; at most 1000. Even
// wherever there is more than one, here and below (CellRecord::Add() says why).
int FullSamples(const SampleCost& cost);

// Samples of each cell in one pass of the next round. When `seconds` (for this and the rounds up to
// the first look) would not hold full rounds, all cells get proportionally fewer, at least one.
std::vector<int> SamplesOfRound(const std::vector<SampleCost>& costs, int rounds_ahead,
                                double seconds);
// One pass over the cells: a visit to each.
double PassSeconds(const std::vector<SampleCost>& costs, const std::vector<int>& samples);

// The longest a visit may become: a longer one would only be a larger loss when it is thrown away.
int MostSamples(const SampleCost& cost);

}  // namespace kbench::experiment
