// How often a round passes over the cells, and what it visits. Several short visits at different
// times say more than one long one: at the power limit a GPU's clock swings within tenths of a
// second, and all samples of one visit see the same phase of it. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace kbench::experiment {

struct PlannedVisit {
  std::size_t cell = 0;
  int samples = 0;
  int pass = 0;  // the first it belongs to

  bool operator==(const PlannedVisit&) const = default;
};

// `passes` over the cells, in `order` and in its reverse by turns. Visits to one cell that would
// follow each other are one, as long as it has at most `most` samples (of each cell).
std::vector<PlannedVisit> VisitsOfRound(const std::vector<std::size_t>& order,
                                        const std::vector<int>& samples,
                                        const std::vector<int>& most, int passes);

// Passes with which the rounds up to the first look take about `wanted` seconds; at least one.
int StretchedPasses(double pass_seconds, double wanted_seconds);

// A cell that has not converged.
struct Unsettled {
  std::vector<int> round_samples;  // of its rounds so far
  double interval_ratio = 0;       // half-width over centre; 0 unknown
  int pass_samples = 1;            // what one pass takes of it
};

// The interval to expect after kMaxRounds when all rounds to come have so many passes.
double ExpectedRatio(const Unsettled& cell, int passes);

// Passes of the rounds to come, decided at a look: `passes` where these reach the target or where
// `seconds`, spread over the rounds that are left, cannot bring it within reach; else as many as
// the interval needs, or the time allows.
int EscalatedPasses(std::span<const Unsettled> cells, double target_ratio, int passes,
                    double pass_seconds, double seconds);

}  // namespace kbench::experiment
