// What the rounds of one cell left behind. Plain values.
#pragma once

#include <string>
#include <vector>

namespace kbench::experiment {

// One burst of one cell. Times in seconds.
struct VisitRecord {
  std::vector<double> device_seconds;
  std::vector<double> submit_seconds;
  int discarded_samples = 0;
  std::vector<std::string> flags;
  double clock_hertz = 0;  // 0 when unknown
  double seconds = 0;      // wall time
};

// All visits of a round to a cell, pooled.
struct RoundRecord {
  int round = 0;                       // number of the round in the case, from 0: pairs cells
  int position = 0;                    // place in the order of the round's first pass, from 0
  std::vector<double> device_seconds;  // one visit behind the other
  std::vector<int> visits;             // samples of each; empty: a single visit
  std::vector<double> submit_seconds;  // empty where there is no queue
  int discarded_samples = 0;
  std::vector<std::string> flags;  // of the engine: HOST_STALL, MIGRATED, STOLEN ...
  double clock_hertz = 0;          // mean by time over the visits that know theirs; 0 unknown
  double clock_seconds = 0;        // the time of those
  // Launches without rest, whose time is a rate: what the round stands for is their mean.
  bool back_to_back = false;
  double median = 0;  // of device_seconds, or their mean; see CellRecord::Add()

  void Pool(VisitRecord visit);
  std::vector<std::vector<double>> Visits() const;  // device_seconds by visit
};

struct CellRecord {
  std::vector<RoundRecord> rounds;
  int discarded_rounds = 0;

  // Takes a round with at least one sample, computes its median. Samples may alternate
  // (H200, attention of 44 us: every other sample 1.7 % longer; see ../engine/README.md, Launch
  // slots). Of an odd number the median would sit at the edge of whichever mode has one sample
  // more, here in this round and there in the next. So visits have an even number of samples, and
  // where one was lost the median is the mean of two: without the first sample of each odd visit,
  // and without its last.
  //
  // At the power limit a clock goes up and down in steps (H200: 15 MHz, 1.2 % at 1.27 GHz), and a
  // median of batches of 2 ms snaps to whichever step held for longer; what a device keeps up is
  // the mean.
  void Add(RoundRecord round);
  // Throws the rounds away (warm-up was too short) and counts them.
  void Restart();

  std::vector<double> Medians() const;
  std::vector<double> Samples() const;
  std::vector<double> SubmitSamples() const;
  int DiscardedSamples() const;
  // Of neighbouring samples within visits, -1 to 1; 0 when there are too few.
  double Lag1Correlation() const;
  // Share of the rounds that carry the flag.
  double FlagShare(const std::string& flag) const;
};

}  // namespace kbench::experiment
