// Signs that a series of times is not one steady distribution: drift, two modes, noise. Pure;
// thread-safe.
#pragma once

#include <span>

namespace kbench::experiment {

struct Drift {
  bool drifting = false;
  double change_ratio = 0;  // Theil-Sen change over the whole run, over the median; signed
};
// Drifting: |Spearman rho| of the round medians with time above 0.7 and a change of more than twice
// the target. Never below 8 rounds.
Drift DriftOf(std::span<const double> round_medians, double target_ratio);

struct Modes {
  bool bimodal = false;
  double low = 0;  // medians of the two modes, seconds
  double high = 0;
  double low_share = 0;  // of the samples
};
// Bimodal: the largest gap between sorted samples is more than five times the median of the 20
// largest, wider than 1 % of the median and than the clock's step, with at least 10 % of the
// samples on each side. Never below 40 samples.
Modes ModesOf(std::span<const double> samples, double quantum_seconds);

// Interquartile range over median; 0 for fewer than 4 samples.
double RelativeIqr(std::span<const double> samples);
inline constexpr double kNoisyIqr = 0.10;

}  // namespace kbench::experiment
