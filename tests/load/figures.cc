#include "tests/load/figures.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "fmt/format.h"

namespace kbench::load {

double Now() {
  const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
  return now.count();
}

void Times::Add(const Times& other) {
  seconds_.insert(seconds_.end(), other.seconds_.begin(), other.seconds_.end());
}

double Times::Quantile(double q) const {
  if (seconds_.empty()) return 0;
  std::vector<double> sorted = seconds_;
  std::sort(sorted.begin(), sorted.end());
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(q * last + 0.5)];
}

void Verdicts::Say(const std::string& text) {
  fmt::print("  {}\n", text);
  std::fflush(stdout);
}

void Verdicts::Judge(const std::string& line, bool good) {
  Say(line + (good ? "" : "  MISSED"));
  good_ = good_ && (good || !judge_);
}

void Verdicts::AtMost(const std::string& what, double value, double bound,
                      const std::string& unit) {
  Judge(fmt::format("{}: {:.4g} {} (at most {:.4g})", what, value, unit, bound), value <= bound);
}

void Verdicts::AtLeast(const std::string& what, double value, double bound,
                       const std::string& unit) {
  Judge(fmt::format("{}: {:.4g} {} (at least {:.4g})", what, value, unit, bound), value >= bound);
}

void Verdicts::Must(const std::string& what, bool good) {
  Say(what + (good ? ": yes" : ": NO"));
  good_ = good_ && good;
}

}  // namespace kbench::load
