// What the rounds of one cell left behind. Plain values.
#pragma once

#include <string>
#include <vector>

namespace kbench::experiment {

// One visit of a round to a cell. Times in seconds.
struct RoundRecord {
  int round = 0;     // number of the round in the case, from 0: pairs cells
  int position = 0;  // place in the round's order, from 0
  std::vector<double> device_seconds;
  std::vector<double> submit_seconds;  // empty where there is no queue
  int discarded_samples = 0;
  std::vector<std::string> flags;  // of the engine: HOST_STALL, MIGRATED, STOLEN ...
  double clock_hertz = 0;          // 0 when unknown
  double median = 0;               // of device_seconds
};

struct CellRecord {
  std::vector<RoundRecord> rounds;
  int discarded_rounds = 0;

  // Takes a round with at least one sample, computes its median.
  void Add(RoundRecord round);
  // Throws the rounds away (warm-up was too short) and counts them.
  void Restart();

  std::vector<double> Medians() const;
  std::vector<double> Samples() const;
  std::vector<double> SubmitSamples() const;
  int DiscardedSamples() const;
  // Of neighbouring samples within rounds, -1 to 1; 0 when there are too few.
  double Lag1Correlation() const;
  // Share of the rounds that carry the flag.
  double FlagShare(const std::string& flag) const;
};

}  // namespace kbench::experiment
