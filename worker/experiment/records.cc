#include "worker/experiment/records.h"

#include <algorithm>
#include <utility>

#include "worker/stats/comparison.h"
#include "worker/stats/summary.h"

namespace kbench::experiment {

void CellRecord::Add(RoundRecord round) {
  round.median = stats::Median(round.device_seconds);
  rounds.push_back(std::move(round));
}

void CellRecord::Restart() {
  discarded_rounds += static_cast<int>(rounds.size());
  rounds.clear();
}

std::vector<double> CellRecord::Medians() const {
  std::vector<double> medians;
  for (const RoundRecord& round : rounds) medians.push_back(round.median);
  return medians;
}

std::vector<double> CellRecord::Samples() const {
  std::vector<double> samples;
  for (const RoundRecord& round : rounds) {
    samples.insert(samples.end(), round.device_seconds.begin(), round.device_seconds.end());
  }
  return samples;
}

std::vector<double> CellRecord::SubmitSamples() const {
  std::vector<double> samples;
  for (const RoundRecord& round : rounds) {
    samples.insert(samples.end(), round.submit_seconds.begin(), round.submit_seconds.end());
  }
  return samples;
}

int CellRecord::DiscardedSamples() const {
  int discarded = 0;
  for (const RoundRecord& round : rounds) discarded += round.discarded_samples;
  return discarded;
}

double CellRecord::Lag1Correlation() const {
  std::vector<std::vector<double>> samples;
  for (const RoundRecord& round : rounds) samples.push_back(round.device_seconds);
  return stats::Lag1Correlation(samples);
}

double CellRecord::FlagShare(const std::string& flag) const {
  if (rounds.empty()) return 0;
  const auto flagged = std::count_if(rounds.begin(), rounds.end(), [&](const RoundRecord& round) {
    return std::find(round.flags.begin(), round.flags.end(), flag) != round.flags.end();
  });
  return static_cast<double>(flagged) / static_cast<double>(rounds.size());
}

}  // namespace kbench::experiment
