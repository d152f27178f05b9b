#include "server/history/cause.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "proto/support/cell_key.h"
#include "server/history/compare.h"
#include "server/history/differences.h"
#include "server/history/points.h"
#include "server/history/words.h"
#include "worker/stats/comparison.h"

namespace kbench::history {
namespace {

constexpr double kClockShare = 0.25;  // of the time that cycles may explain beside the clock
constexpr double kFollows = 0.5;      // of the time that something must move along with it
constexpr double kLeastMove = 0.01;
constexpr std::size_t kNamed = 3;  // differences in a sentence
constexpr double kFirst = 1e6;     // weight of what the verdict rests on

// The clock's own policy: where it was changed, it is the cause of the clock.
const std::set<std::string>& ClockPolicy() {
  static const std::set<std::string> names = {"power limit in watts", "application clocks",
                                              "governor"};
  return names;
}

bool Has(const google::protobuf::RepeatedPtrField<std::string>& reasons, const char* reason) {
  return std::find(reasons.begin(), reasons.end(), reason) != reasons.end();
}

class Explaining {
 public:
  Explaining(const v1::Result& a, const v1::Result& b, const WhyOptions& options)
      : a_(a), b_(b), options_(options), differences_(DifferencesOf(a, b)) {
    cause_.set_a(a.name());
    cause_.set_b(b.name());
    *cause_.mutable_cell() = CellOf(b);
  }

  v1::Cause Run() {
    AddCanary();
    Decide();
    std::stable_sort(differences_.begin(), differences_.end(),
                     [](const Weighed& x, const Weighed& y) { return x.weight > y.weight; });
    for (Weighed& one : differences_) *cause_.add_differences() = std::move(one.difference);
    return std::move(cause_);
  }

 private:
  void Decide() {
    if (const auto other = OtherQuestion(); !other.empty()) {
      return Say("UNKNOWN",
                 fmt::format("the two answer different questions: {}", fmt::join(other, "; ")));
    }
    if (const auto other = OtherCell(); !other.empty()) {
      const double ratio = b_.device_time().median() / a_.device_time().median();
      if (a_.device_time().median() > 0 && std::isfinite(ratio)) cause_.set_time_ratio(ratio - 1);
      return Say("UNKNOWN", fmt::format("two cells, not one that changed: {}{}",
                                        SignedText(cause_.time_ratio()) + " time", Listed(other)));
    }
    const v1::BaselineComparison compared = Compare();
    if (!(compared.speedup() > 0)) return Say("UNKNOWN", "not known: " + compared.message());
    time_ = std::log(b_.device_time().median() / a_.device_time().median());
    cause_.set_time_ratio(std::expm1(time_));
    if (a_.device_cycles() > 0 && b_.device_cycles() > 0) {
      clocked_ = true;
      cycles_ = std::log(b_.device_cycles() / a_.device_cycles());
      cause_.set_cycles_ratio(std::expm1(cycles_));
    }
    if (Unchanged(compared)) {
      return Say("NO_CHANGE", fmt::format("no change: {}, within what sessions differ by", Both()));
    }
    if (Clock() || MemoryClock() || ForeignWork() || Device() || What()) return;
    if (clocked_) {
      return Say("KERNEL", fmt::format("the kernel, not the clock: {}; versions and configuration "
                                       "are the same, so its code or its data changed",
                                       Both()));
    }
    Say("UNKNOWN", fmt::format("not known: {}; no clock was recorded, and nothing else differs "
                               "that explains it",
                               Both()));
  }

  std::vector<std::string> OtherQuestion() const {
    std::vector<std::string> other;
    for (const std::string& difference : KeyDifferences(a_, b_)) {
      for (const char* key : {"kernel ", "dtype ", "shape ", "mode ", "flush "}) {
        if (difference.rfind(key, 0) == 0) other.push_back(difference);
      }
    }
    return other;
  }

  // Another implementation, or another device.
  std::vector<std::string> OtherCell() {
    std::vector<std::string> other;
    for (Weighed& one : differences_) {
      if (one.difference.kind() != "cell") continue;
      one.weight += kFirst;
      other.push_back(DifferenceText(one.difference));
    }
    return other;
  }

  v1::BaselineComparison Compare() const {
    const double device = options_.between_session_ratio > 0 ? options_.between_session_ratio
                                                             : stats::kBetweenSessionPrior;
    return CompareResults(b_, a_, {.force = true, .between_session_ratio = device});
  }

  // Without an interval (few rounds) a practical margin must do.
  static bool Unchanged(const v1::BaselineComparison& compared) {
    if (compared.low() > 0) return compared.low() <= 1 && 1 <= compared.high();
    return std::fabs(std::log(compared.speedup())) < std::log1p(stats::kDefaultMargin);
  }

  std::string Both() const {
    return clocked_ ? fmt::format("{} time, {} cycles", SignedText(std::expm1(time_)),
                                  SignedText(std::expm1(cycles_)))
                    : fmt::format("{} time", SignedText(std::expm1(time_)));
  }

  Weighed* Find(const std::string& name) {
    const auto found =
        std::find_if(differences_.begin(), differences_.end(),
                     [&](const Weighed& one) { return one.difference.name() == name; });
    return found == differences_.end() ? nullptr : &*found;
  }

  bool Clock() {
    if (!clocked_ || std::fabs(cycles_) > kClockShare * std::fabs(time_)) return false;
    return SayClock("clock, not the kernel", kClockName);
  }

  bool MemoryClock() {
    const Weighed* clock = Find(kMemoryClockName);
    if (clock == nullptr) return false;
    const double moved = -std::log(clock->difference.ratio());
    if (moved * time_ <= 0 || std::fabs(moved) < kFollows * std::fabs(time_)) return false;
    return SayClock("the memory's clock, not the kernel", kMemoryClockName);
  }

  bool SayClock(const std::string& what, const char* name) {
    std::vector<std::string> named;
    std::string verdict = "CLOCK";
    for (Weighed& one : differences_) {
      const std::string& other = one.difference.name();
      const bool policy = ClockPolicy().count(other) > 0;
      if (policy) verdict = "ENVIRONMENT";
      const bool throttled = other.rfind(kThrottlePrefix, 0) == 0;
      if (!policy && !throttled && other != name) continue;
      one.weight += (policy ? 3 : other == name ? 2 : 1) * kFirst;
      named.push_back(DifferenceText(one.difference));
    }
    Say(verdict, fmt::format("{}: {}{}", what, Both(), Listed(named)));
    return true;
  }

  // Of the slower one: others who left it alone make nothing slower.
  bool MoreInSlower(const char* name, double threshold, double a, double b) {
    Weighed* found = Find(name);
    const double more = time_ > 0 ? b - a : a - b;
    if (found == nullptr || more < threshold) return false;
    found->weight += kFirst;
    return true;
  }

  bool ForeignWork() {
    const v1::Telemetry& a = a_.telemetry();
    const v1::Telemetry& b = b_.telemetry();
    std::vector<std::string> named;
    const auto check = [&](const char* name, double threshold, double of_a, double of_b) {
      if (MoreInSlower(name, threshold, of_a, of_b)) {
        named.push_back(DifferenceText(Find(name)->difference));
      }
    };
    check(kForeignWorkName, 0.01, a.foreign_utilization(), b.foreign_utilization());
    check(kSlicesName, 1, a.busy_mig_siblings(), b.busy_mig_siblings());
    check(kStealName, 0.02, a.steal_ratio(), b.steal_ratio());
    check(kLoadName, 0.5, a.load(), b.load());
    if (named.empty()) return false;
    Say("FOREIGN_WORK",
        fmt::format("others used the device, it is not the kernel: {}{}", Both(), Listed(named)));
    return true;
  }

  void AddCanary() {
    const double a = a_.canary_ratio();
    const double b = b_.canary_ratio();
    if (!(a > 0) && !(b > 0)) return;
    // Where one of them had too few canaries yet, what the other one's say is told and no more.
    const bool both = a > 0 && b > 0;
    const double moved = both ? std::log(b / a) : std::log(std::max(a, b));
    if (std::fabs(moved) < std::log1p(kLeastMove)) return;
    const auto text = [](double ratio) {
      return ratio > 0 ? fmt::format("{:.3f}", ratio) : std::string("too few yet");
    };
    Weighed one;
    one.difference.set_name(kCanaryName);
    one.difference.set_kind("device");
    one.difference.set_a(text(a));
    one.difference.set_b(text(b));
    one.weight = std::fabs(moved) / std::log1p(kLeastMove);
    if (both) {
      canary_ = moved;
      one.difference.set_ratio(b / a);
    }
    differences_.push_back(std::move(one));
  }

  bool Device() {
    const v1::Result& slower = time_ > 0 ? b_ : a_;
    const v1::Result& faster = time_ > 0 ? a_ : b_;
    std::vector<std::string> named;
    if (Weighed* canary = Find(kCanaryName); canary != nullptr && canary_ * time_ > 0 &&
                                             std::fabs(canary_) >= kFollows * std::fabs(time_)) {
      canary->weight += kFirst;
      named.push_back(DifferenceText(canary->difference));
    }
    if (slower.telemetry().ecc_errors() > faster.telemetry().ecc_errors()) {
      Find(kEccName)->weight += kFirst;
      named.push_back(DifferenceText(Find(kEccName)->difference));
    }
    if (Has(slower.verdict_reasons(), "CANARY_DRIFT") &&
        !Has(faster.verdict_reasons(), "CANARY_DRIFT")) {
      named.push_back(slower.name() + " is marked CANARY_DRIFT");
    }
    if (named.empty()) return false;
    Say("DEVICE", fmt::format("the device, not the kernel: {}{}", Both(), Listed(named)));
    return true;
  }

  bool What() {
    std::vector<std::string> environment;
    std::vector<std::string> kernel;
    for (Weighed& one : differences_) {
      const std::string& kind = one.difference.kind();
      if (kind != "environment" && kind != "kernel") continue;
      one.weight += kFirst;
      (kind == "kernel" ? kernel : environment).push_back(DifferenceText(one.difference));
    }
    if (environment.empty() && kernel.empty()) return false;
    if (!environment.empty() && !kernel.empty()) {
      Say("UNKNOWN", fmt::format("either the environment or the kernel, both changed: {}{}; and{}",
                                 Both(), Listed(environment), Listed(kernel).substr(1)));
    } else if (!kernel.empty()) {
      Say("KERNEL", fmt::format("the kernel{}: {}{}", clocked_ ? ", not the clock" : "", Both(),
                                Listed(kernel)));
    } else {
      Say("ENVIRONMENT",
          fmt::format("the environment, not the kernel: {}{}", Both(), Listed(environment)));
    }
    return true;
  }

  // "; driver 1 -> 2, cublas 3 -> 4 and 5 more"
  static std::string Listed(const std::vector<std::string>& named) {
    if (named.empty()) return "";
    const std::size_t shown = std::min(named.size(), kNamed);
    const std::vector<std::string> first(named.begin(),
                                         named.begin() + static_cast<std::ptrdiff_t>(shown));
    std::string text = fmt::format("; {}", fmt::join(first, ", "));
    if (named.size() > shown) text += fmt::format(" and {} more", named.size() - shown);
    return text;
  }

  void Say(const std::string& verdict, const std::string& sentence) {
    cause_.set_verdict(verdict);
    cause_.set_sentence(sentence);
  }

  const v1::Result& a_;
  const v1::Result& b_;
  const WhyOptions& options_;
  std::vector<Weighed> differences_;
  v1::Cause cause_;
  double time_ = 0;  // ln of b over a
  double cycles_ = 0;
  double canary_ = 0;
  bool clocked_ = false;
};

}  // namespace

v1::Cause Why(const v1::Result& a, const v1::Result& b, const WhyOptions& options) {
  return Explaining(a, b, options).Run();
}

}  // namespace kbench::history
