#include "tests/server/history/timeline.h"

#include <numbers>
#include <ostream>

#include "stats/median_interval.h"
#include "stats/summary.h"
#include "worker/stats/comparison.h"

namespace kbench::history {
namespace {

constexpr int kRounds = 12;
constexpr int kSamples = 10;
constexpr std::int64_t kStart = 1'700'000'000;
constexpr double kDelayShare = 0.03;
constexpr double kModeShare = 0.2;
constexpr double kWander = 0.95;

}  // namespace

double Random::Gauss() {  // Box and Muller
  if (!std::isnan(spare_)) {
    const double value = spare_;
    spare_ = std::nan("");
    return value;
  }
  const double radius = std::sqrt(-2 * std::log(Uniform()));
  const double angle = 2 * std::numbers::pi * Uniform();
  spare_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

double Random::Student3() {
  const double a = Gauss(), b = Gauss(), c = Gauss();
  return Gauss() / std::sqrt((a * a + b * b + c * c) / 3);
}

const std::vector<NoiseModel>& NoiseModels() {
  using S = NoiseModel::Samples;
  using B = NoiseModel::Sessions;
  static const std::vector<NoiseModel> models = {
      {"quiet", S::kGauss, 0.002, 0.0005, B::kGauss, 0.0003},
      {"gauss", S::kGauss, 0.01, 0.002, B::kGauss, 0.003},
      {"student3_samples", S::kStudent3, 0.01, 0.002, B::kGauss, 0.003},
      {"lognormal_samples", S::kLogNormal, 0.02, 0.002, B::kGauss, 0.003},
      {"delays", S::kDelays, 0.01, 0.005, B::kGauss, 0.003},
      {"noisy_sessions", S::kGauss, 0.01, 0.002, B::kGauss, 0.01},
      {"very_noisy_sessions", S::kGauss, 0.02, 0.01, B::kGauss, 0.03},
      {"heavy_tailed_sessions", S::kGauss, 0.01, 0.002, B::kStudent3, 0.003},
      {"two_modes", S::kGauss, 0.01, 0.002, B::kModes, 0.004},
      {"wandering_sessions", S::kGauss, 0.01, 0.002, B::kWander, 0.005},
  };
  return models;
}

void PrintTo(const NoiseModel& noise, std::ostream* out) { *out << noise.name; }

Timeline::Timeline(const NoiseModel& noise, std::uint64_t seed)
    : noise_(noise), random_(seed), wander_(random_.Gauss()) {}

double Timeline::Session() {
  switch (noise_.sessions) {
    case NoiseModel::Sessions::kStudent3:
      return noise_.session_ratio * random_.Student3();
    case NoiseModel::Sessions::kModes:
      return noise_.session_ratio / 4 * random_.Gauss() +
             (random_.Uniform() < kModeShare ? 10 * noise_.session_ratio : 0);
    case NoiseModel::Sessions::kWander:
      wander_ = kWander * wander_ + std::sqrt(1 - kWander * kWander) * random_.Gauss();
      return noise_.session_ratio * wander_;
    case NoiseModel::Sessions::kGauss:
      break;
  }
  return noise_.session_ratio * random_.Gauss();
}

double Timeline::Sample(double shift) {
  double noise = 0;
  switch (noise_.samples) {
    case NoiseModel::Samples::kGauss:
      noise = random_.Gauss();
      break;
    case NoiseModel::Samples::kStudent3:
      noise = random_.Student3();
      break;
    case NoiseModel::Samples::kLogNormal:
      noise = std::exp(random_.Gauss()) - 1;
      break;
    case NoiseModel::Samples::kDelays:
      noise = random_.Gauss();
      if (random_.Uniform() < kDelayShare) noise -= 10 * std::log(random_.Uniform());
      break;
  }
  return 1 + shift + noise_.sample_ratio * noise;
}

v1::HistoryPoint Timeline::Next(double seconds) {
  const double session = Session();
  double rounds[kRounds];
  for (double& round : rounds) {
    const double shift = session + noise_.round_ratio * random_.Gauss();
    double samples[kSamples];
    for (double& sample : samples) sample = seconds * Sample(shift);
    round = stats::Median(samples);
  }
  const stats::Interval interval = *stats::MedianInterval(rounds, 0.05);
  const stats::Interval wide = stats::Widened(interval, stats::kBetweenSessionPrior, 0.95);
  const int number = count_++;
  v1::HistoryPoint point = MakePoint("results/job" + std::to_string(number) + "-0-0",
                                     kStart + 3600 * std::int64_t{number}, interval.centre);
  point.set_low(wide.low);
  point.set_high(wide.high);
  return point;
}

v1::HistoryPoint MakePoint(const std::string& result, std::int64_t time, double seconds,
                           const std::string& epoch) {
  v1::HistoryPoint point;
  point.set_result(result);
  point.mutable_time()->set_seconds(time);
  point.set_seconds(seconds);
  point.set_verdict("VALID");
  point.set_epoch(epoch);
  return point;
}

v1::Epoch MakeEpoch(const std::string& id, const std::string& driver) {
  v1::Epoch epoch;
  epoch.set_id(id);
  (*epoch.mutable_environment())["driver"] = driver;
  return epoch;
}

}  // namespace kbench::history
