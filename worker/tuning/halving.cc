#include "worker/tuning/halving.h"

#include <algorithm>

namespace kbench::tuning {
namespace {

// Of each round: about as much work in each, and enough at the end for a median that a device at
// its power limit does not decide by chance.
constexpr int kSamples[Halving::kRounds] = {1, 4, 10, 20, 40};
constexpr std::size_t kFewest = 2;  // that stay in to the end: half of two would decide by luck
// One sample is enough to see that a candidate is far behind.
constexpr double kFarBehind = 1.5;

}  // namespace

Halving::Halving(std::size_t candidates, double max_seconds)
    : max_seconds_(max_seconds), candidates_(candidates) {}

std::optional<Halving::Trial> Halving::Next(double elapsed_seconds) {
  if (elapsed_seconds >= max_seconds_) return std::nullopt;
  while (round_ < kRounds) {
    while (at_ < candidates_.size() && !candidates_[at_].in) ++at_;
    if (at_ < candidates_.size()) return Trial{at_, kSamples[round_]};
    EndRound();
  }
  return std::nullopt;
}

void Halving::Report(const std::vector<double>& samples) {
  if (at_ >= candidates_.size()) return;
  Candidate& one = candidates_[at_++];
  one.samples.insert(one.samples.end(), samples.begin(), samples.end());
  if (samples.empty()) {
    one.in = false;
    one.samples.clear();
  }
}

void Halving::EndRound() {
  at_ = 0;
  ++round_;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (candidates_[i].in) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return MedianOf(a) < MedianOf(b); });
  if (order.size() <= 1) round_ = kRounds;  // nothing left to decide
  const std::size_t keep = std::max(kFewest, (order.size() + 1) / 2);
  for (std::size_t place = 1; place < order.size(); ++place) {
    const bool far = MedianOf(order[place]) > kFarBehind * MedianOf(order[0]);
    if (place >= keep || far) candidates_[order[place]].in = false;
  }
}

double Halving::MedianOf(std::size_t candidate) const {
  std::vector<double> sorted = candidates_[candidate].samples;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : 0.5 * (sorted[half - 1] + sorted[half]);
}

std::optional<std::size_t> Halving::Best() const {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (!candidates_[i].in || candidates_[i].samples.empty()) continue;
    if (!best || MedianOf(i) < MedianOf(*best)) best = i;
  }
  return best;
}

int Halving::timed() const {
  return static_cast<int>(std::count_if(candidates_.begin(), candidates_.end(),
                                        [](const Candidate& one) { return !one.samples.empty(); }));
}

}  // namespace kbench::tuning
