#include "server/history/differences.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "fmt/format.h"
#include "server/history/environment.h"
#include "server/history/words.h"

namespace kbench::history {
namespace {

// What chance moves; beyond it a difference is told.
constexpr double kClockRatio = 0.01;
constexpr double kPowerRatio = 0.05;
constexpr double kKelvin = 5;
constexpr double kShare = 0.01;
constexpr double kThrottleSeconds = 0.05;
constexpr double kLoad = 0.5;
constexpr double kTextWeight = 3;

using Texts = std::map<std::string, std::string>;

class Collector {
 public:
  void Text(const std::string& kind, const std::string& name, const std::string& a,
            const std::string& b) {
    if (a == b) return;
    Add(kind, name, a.empty() ? "none" : a, b.empty() ? "none" : b, kTextWeight);
  }

  void Texts(const std::string& kind, const history::Texts& a, const history::Texts& b) {
    std::set<std::string> names;
    for (const auto* texts : {&a, &b}) {
      for (const auto& [name, unused] : *texts) names.insert(name);
    }
    const auto at = [](const history::Texts& texts, const std::string& name) {
      const auto found = texts.find(name);
      return found == texts.end() ? std::string() : found->second;
    };
    for (const std::string& name : names) Text(kind, name, at(a, name), at(b, name));
  }

  // By their ratio; not where one of them is unknown.
  void Ratio(const std::string& name, double a, double b, double threshold, const char* format,
             double unit) {
    if (!(a > 0) || !(b > 0)) return;
    const double weight = std::fabs(std::log(b / a)) / std::log1p(threshold);
    if (weight < 1) return;
    Number("device", name, a, b, weight, format, unit);
  }

  // By their difference.
  void Amount(const std::string& kind, const std::string& name, double a, double b,
              double threshold, const char* format, double unit) {
    const double weight = std::fabs(b - a) / threshold;
    if (!(weight >= 1)) return;
    Number(kind, name, a, b, weight, format, unit);
  }

  std::vector<Weighed> Take() { return std::move(all_); }

 private:
  void Number(const std::string& kind, const std::string& name, double a, double b, double weight,
              const char* format, double unit) {
    Add(kind, name, fmt::format(fmt::runtime(format), a * unit),
        fmt::format(fmt::runtime(format), b * unit), weight);
    if (a > 0 && b > 0) all_.back().difference.set_ratio(b / a);
  }

  void Add(const std::string& kind, const std::string& name, const std::string& a,
           const std::string& b, double weight) {
    Weighed one;
    one.difference.set_name(name);
    one.difference.set_kind(kind);
    one.difference.set_a(a);
    one.difference.set_b(b);
    one.weight = weight;
    all_.push_back(std::move(one));
  }

  std::vector<Weighed> all_;
};

void AddTelemetry(const v1::Telemetry& a, const v1::Telemetry& b, Collector* out) {
  out->Ratio(kClockName, a.sm_clock_hertz(), b.sm_clock_hertz(), kClockRatio, "{:.0f} MHz", 1e-6);
  out->Ratio(kMemoryClockName, a.memory_clock_hertz(), b.memory_clock_hertz(), kClockRatio,
             "{:.0f} MHz", 1e-6);
  out->Ratio("power", a.power_watts(), b.power_watts(), kPowerRatio, "{:.0f} W", 1);
  if (a.temperature_celsius() > 0 && b.temperature_celsius() > 0) {
    out->Amount("device", "temperature", a.temperature_celsius(), b.temperature_celsius(), kKelvin,
                "{:.0f} C", 1);
  }
  std::map<std::string, std::pair<double, double>> throttled;
  for (const auto& [reason, seconds] : a.throttle_seconds()) throttled[reason].first = seconds;
  for (const auto& [reason, seconds] : b.throttle_seconds()) throttled[reason].second = seconds;
  for (const auto& [reason, seconds] : throttled) {
    out->Amount("device", kThrottlePrefix + reason, seconds.first, seconds.second, kThrottleSeconds,
                "{:.2f} s", 1);
  }
  // What was sampled, but has no counter.
  const std::set<std::string> of_a(a.throttle_reasons().begin(), a.throttle_reasons().end());
  const std::set<std::string> of_b(b.throttle_reasons().begin(), b.throttle_reasons().end());
  std::set<std::string> reasons = of_a;
  reasons.insert(of_b.begin(), of_b.end());
  for (const std::string& reason : reasons) {
    if (throttled.count(reason) > 0) continue;
    out->Text("device", kThrottlePrefix + reason, of_a.count(reason) > 0 ? "yes" : "no",
              of_b.count(reason) > 0 ? "yes" : "no");
  }
  if (a.foreign_utilization() >= 0 && b.foreign_utilization() >= 0) {
    out->Amount("measurement", kForeignWorkName, a.foreign_utilization(), b.foreign_utilization(),
                kShare, "{:.1f} %", 100);
  }
  out->Amount("measurement", "foreign processes", a.foreign_processes(), b.foreign_processes(), 1,
              "{:.0f}", 1);
  out->Amount("measurement", kSlicesName, a.busy_mig_siblings(), b.busy_mig_siblings(), 1, "{:.0f}",
              1);
  out->Amount("measurement", kStealName, a.steal_ratio(), b.steal_ratio(), kShare, "{:.1f} %", 100);
  out->Amount("measurement", kLoadName, a.load(), b.load(), kLoad, "{:.1f}", 1);
  out->Amount("device", kEccName, static_cast<double>(a.ecc_errors()),
              static_cast<double>(b.ecc_errors()), 1, "{:.0f}", 1);
}

history::Texts ConfigurationOf(const v1::Result& result) {
  history::Texts configuration(result.configuration().begin(), result.configuration().end());
  // Notes about the choice, not the choice.
  for (const char* note : {"tuned", "tuning", "candidates_timed", "code"}) {
    configuration.erase(note);
  }
  return configuration;
}

}  // namespace

std::vector<Weighed> DifferencesOf(const v1::Result& a, const v1::Result& b) {
  Collector out;
  out.Texts("environment", EnvironmentOf(a), EnvironmentOf(b));
  out.Text("kernel", "kbench", a.environment().kbench_version(), b.environment().kbench_version());
  out.Text("cell", "shape", a.case_().shape(), b.case_().shape());
  out.Text("cell", "implementation", a.implementation(), b.implementation());
  out.Text("cell", "device", a.device(), b.device());
  // Where one of them is not known, nothing is known of a change.
  if (!a.code_digest().empty() && !b.code_digest().empty()) {
    out.Text("kernel", "binary", a.code_digest(), b.code_digest());
  }
  // What stands in both places is one difference.
  history::Texts of_a = ConfigurationOf(a);
  history::Texts of_b = ConfigurationOf(b);
  for (const auto& [name, value] : EnvironmentOf(a)) of_a.erase(name);
  for (const auto& [name, value] : EnvironmentOf(b)) of_b.erase(name);
  out.Texts("kernel", of_a, of_b);
  AddTelemetry(a.telemetry(), b.telemetry(), &out);
  out.Text("measurement", "seed", std::to_string(std::max<std::uint64_t>(1, a.policy().seed())),
           std::to_string(std::max<std::uint64_t>(1, b.policy().seed())));
  out.Text("measurement", "verdict", v1::Verdict_Name(a.verdict()).substr(8),
           v1::Verdict_Name(b.verdict()).substr(8));
  return out.Take();
}

std::string DifferenceText(const v1::Difference& difference) {
  return fmt::format("{} {} -> {}", difference.name(), difference.a(), difference.b());
}

}  // namespace kbench::history
