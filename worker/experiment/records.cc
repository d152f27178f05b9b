#include "worker/experiment/records.h"

#include <algorithm>
#include <utility>

#include "stats/summary.h"
#include "worker/stats/comparison.h"

namespace kbench::experiment {

namespace {

// Both halves of a pair, whichever sample of an odd visit has no other.
double MedianOfPairs(const std::vector<std::vector<double>>& visits) {
  std::vector<double> without_first;
  std::vector<double> without_last;
  for (const std::vector<double>& visit : visits) {
    const std::ptrdiff_t odd = visit.size() > 1 && visit.size() % 2 == 1 ? 1 : 0;
    without_first.insert(without_first.end(), visit.begin() + odd, visit.end());
    without_last.insert(without_last.end(), visit.begin(), visit.end() - odd);
  }
  return 0.5 * (stats::Median(without_first) + stats::Median(without_last));
}

}  // namespace

void RoundRecord::Pool(VisitRecord visit) {
  visits.push_back(static_cast<int>(visit.device_seconds.size()));
  device_seconds.insert(device_seconds.end(), visit.device_seconds.begin(),
                        visit.device_seconds.end());
  submit_seconds.insert(submit_seconds.end(), visit.submit_seconds.begin(),
                        visit.submit_seconds.end());
  discarded_samples += visit.discarded_samples;
  for (std::string& flag : visit.flags) {
    if (std::find(flags.begin(), flags.end(), flag) == flags.end()) {
      flags.push_back(std::move(flag));
    }
  }
  if (visit.clock_hertz <= 0 || visit.seconds <= 0) return;
  const double cycles = clock_hertz * clock_seconds + visit.clock_hertz * visit.seconds;
  clock_seconds += visit.seconds;
  clock_hertz = cycles / clock_seconds;
}

std::vector<std::vector<double>> RoundRecord::Visits() const {
  if (visits.empty()) return {device_seconds};
  std::vector<std::vector<double>> split;
  auto from = device_seconds.begin();
  for (const int samples : visits) {
    split.emplace_back(from, from + samples);
    from += samples;
  }
  return split;
}

void CellRecord::Add(RoundRecord round) {
  round.median =
      round.back_to_back ? stats::Mean(round.device_seconds) : MedianOfPairs(round.Visits());
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
  for (const RoundRecord& round : rounds) {
    for (std::vector<double>& visit : round.Visits()) samples.push_back(std::move(visit));
  }
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
