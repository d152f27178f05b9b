#include "worker/tuning/halving.h"

#include <algorithm>
#include <limits>

namespace kbench::tuning {
namespace {

// Of each round: many short ones at the end rather than a long one, for a device at its power limit
// runs at other clocks within a second: half of the candidates used to be dropped after one sample
// each, and on an H200 one was taken for matmul 4096x11008x4096 that needs 3 % more cycles.
constexpr int kSamples[Halving::kRounds] = {1, 4, 10, 10, 10, 10, 10, 10};
// How far behind the fastest a candidate of the slower half has to be to be dropped.
constexpr double kBehind[Halving::kRounds] = {1.15, 1.06, 1.03, 1.02, 1.02, 1.01, 1.01, 1.01};
constexpr std::size_t kFewest = 2;  // that stay in to the end: half of two would decide by luck
// One sample is enough to see that a candidate is far behind.
constexpr double kFarBehind = 1.5;
constexpr double kAsFast = 1.005;

}  // namespace

Halving::Halving(std::size_t candidates, double max_seconds)
    : max_seconds_(max_seconds), candidates_(candidates) {}

std::optional<Halving::Trial> Halving::Next(double elapsed_seconds) {
  if (elapsed_seconds >= max_seconds_) return std::nullopt;
  while (round_ < kRounds) {
    while (at_ < candidates_.size() && !candidates_[Turn()].in) ++at_;
    if (at_ < candidates_.size()) return Trial{Turn(), kSamples[round_]};
    EndRound();
  }
  return std::nullopt;
}

std::size_t Halving::Turn() const { return round_ % 2 == 0 ? at_ : candidates_.size() - 1 - at_; }

void Halving::Report(const std::vector<double>& samples) {
  if (at_ >= candidates_.size()) return;
  Candidate& one = candidates_[Turn()];
  ++at_;
  one.samples.insert(one.samples.end(), samples.begin(), samples.end());
  if (samples.empty()) {
    one.in = false;
    one.samples.clear();
  }
}

void Halving::EndRound() {
  const double behind = kBehind[round_];
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
    const double ratio = MedianOf(order[place]) / MedianOf(order[0]);
    const bool dropped = ratio > kFarBehind || (place >= keep && ratio > behind);
    if (dropped) candidates_[order[place]].in = false;
  }
}

double Halving::MedianOf(std::size_t candidate) const {
  std::vector<double> sorted = candidates_[candidate].samples;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : 0.5 * (sorted[half - 1] + sorted[half]);
}

std::optional<std::size_t> Halving::Best() const {
  double fastest = std::numeric_limits<double>::infinity();
  const auto timed = [&](std::size_t i) {
    return candidates_[i].in && !candidates_[i].samples.empty();
  };
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (timed(i)) fastest = std::min(fastest, MedianOf(i));
  }
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (timed(i) && MedianOf(i) <= kAsFast * fastest) return i;
  }
  return std::nullopt;
}

int Halving::timed() const {
  return static_cast<int>(std::count_if(candidates_.begin(), candidates_.end(),
                                        [](const Candidate& one) { return !one.samples.empty(); }));
}

}  // namespace kbench::tuning
