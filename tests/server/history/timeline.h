// Synthetic results of one cell over time: samples within rounds, rounds within a session, a shift
// for each session. Deterministic by seed.
#pragma once

#include <cmath>
#include <cstdint>
#include <iosfwd>
#include <random>
#include <string>
#include <vector>

#include "kbench/v1/history_service.pb.h"

namespace kbench::history {

// The same numbers from every standard library, unlike std::normal_distribution.
class Random {
 public:
  explicit Random(std::uint64_t seed) : bits_(seed) {}
  double Uniform() { return (static_cast<double>(bits_() >> 11) + 0.5) * 0x1p-53; }
  double Gauss();
  double Student3();

 private:
  std::mt19937_64 bits_;
  double spare_ = std::nan("");
};

// The noise of a cell. Ratios are standard deviations relative to its time.
struct NoiseModel {
  std::string name;
  enum class Samples { kGauss, kStudent3, kLogNormal, kDelays } samples = Samples::kGauss;
  double sample_ratio = 0.01;
  double round_ratio = 0.002;  // a round's own shift
  // A session's own shift. kModes: a fifth of the sessions is slower by ten times the ratio;
  // kWander: neighbouring sessions resemble each other (correlation 0.95).
  enum class Sessions { kGauss, kStudent3, kModes, kWander } sessions = Sessions::kGauss;
  double session_ratio = 0.003;
};
const std::vector<NoiseModel>& NoiseModels();
void PrintTo(const NoiseModel& noise, std::ostream* out);

class Timeline {
 public:
  Timeline(const NoiseModel& noise, std::uint64_t seed);

  // One VALID session more, an hour after the last one, of a kernel that needs so many seconds.
  v1::HistoryPoint Next(double seconds);

 private:
  double Session();
  double Sample(double shift);

  NoiseModel noise_;
  Random random_;
  double wander_ = 0;
  int count_ = 0;
};

v1::HistoryPoint MakePoint(const std::string& result, std::int64_t time, double seconds,
                           const std::string& epoch = "e1");
v1::Epoch MakeEpoch(const std::string& id, const std::string& driver = "580.1");

}  // namespace kbench::history
