// How far the results of one cell lie apart when nothing changes. Pure; thread-safe.
#pragma once

#include <span>

#include "kbench/v1/history_service.pb.h"

namespace kbench::history {

// With fewer own results the prior is the least: the same number after which a device's own
// between-session ratio stands alone (stats::kManyCanaries).
inline constexpr int kOwnNoiseResults = 20;
// Newest results that count: a quarter of a year of nights would remember a noise long mended.
inline constexpr int kMostNoiseResults = 50;

struct Noise {
  // Relative standard deviation between the cell's own results: within a session and between them.
  double ratio = 0;
  // What the slowest tenth exceeds, relative to the median. Normal noise: 1.28 times `ratio`; a
  // cell with two modes has a small `ratio`, and this tells that the other mode comes by itself. 0
  // below 10 results.
  double tail_ratio = 0;
  double degrees = 0;  // of freedom, of `ratio`
  int results = 0;     // it rests on
  bool prior = false;  // `ratio` is that of the prior
};

struct NoisePrior {
  double between_session_ratio = 0;  // of the device, by its canaries; 0: stats' prior
  double known_ratio = 0;            // of the cell itself, before its baseline moved; 0: none
};

// `counted`: VALID results of one level and environment, oldest first. The prior is the largest of
// what the device's canaries say, the intervals of the results themselves (which hold their rounds
// and the canaries of their time), and what the cell was known for. Below kOwnNoiseResults the
// variance is the mean of the prior's and the cell's own, weighted by their degrees of freedom (the
// moderated t of Smyth 2004), and at least the prior's; the cell's own alone where that is more
// than twice the prior, which then speaks of other cells. From there on it is the cell's own, about
// its trend (Theil and Sen).
Noise NoiseOf(std::span<const v1::HistoryPoint> counted, const NoisePrior& prior);

// Variance of the median of `results` independent ones, in units of one's: 1 for one, pi / 2 / n
// for more.
double MedianVariance(int results);

}  // namespace kbench::history
