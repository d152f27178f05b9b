#include "worker/experiment/verdict.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "stats/summary.h"
#include "worker/experiment/signs.h"

namespace kbench::experiment {
namespace {

// Boost clocks lie above the ones datasheets compute with (H200: 1980 against 1830 MHz).
constexpr double kImpossibleFlops = 1.12;
constexpr double kImpossibleBandwidth = 1.05;
// A roof was measured on this device, in bursts as cold samples are taken.
constexpr double kImpossibleRoof = 1.05;
constexpr double kTolerableFlagShare = 0.25;
constexpr double kTolerableDiscardShare = 0.10;
constexpr double kTolerableSteal = 0.05;
// Neighbouring samples that resemble each other this much say that something slow goes on (clocks,
// a cache that fills): harmless to the interval, which rests on rounds, and worth knowing.
constexpr double kAutocorrelated = 0.5;
// Share of the device's time that others may compute. An idle notebook holds memory and takes none.
constexpr double kTolerableForeign = 0.01;

std::string Format(const char* format, double a, double b = 0, double c = 0) {
  char text[256];
  std::snprintf(text, sizeof(text), format, a, b, c);
  return text;
}

bool IsHeat(const std::string& reason) {
  return reason == "HW_THERMAL" || reason == "SW_THERMAL" || reason == "POWER_BRAKE";
}

// By the sampled bits and by the driver's counters: a bit misses what is short.
std::set<std::string> ThrottleReasons(const v1::Telemetry& telemetry) {
  std::set<std::string> reasons(telemetry.throttle_reasons().begin(),
                                telemetry.throttle_reasons().end());
  for (const auto& [reason, seconds] : telemetry.throttle_seconds()) {
    if (seconds > 0) reasons.insert(reason);
  }
  return reasons;
}

class Judging {
 public:
  Judging(const CellRecord& record, const VerdictInput& input) : record_(record), input_(input) {}

  Judgement Run() {
    if (record_.rounds.empty()) return {v1::VERDICT_INVALID, {"NO_SAMPLES"}, "no sample was kept"};
    CheckRates();
    CheckRounds();
    CheckShape();
    CheckDisturbances();
    CheckDevice();
    if (!input_.reverified) {
      Suspect("NOT_REVERIFIED", "there was no time to check the output again after the rounds");
    }
    if (input_.grouped) Inform("GROUPED");
    return std::move(judgement_);
  }

 private:
  void Add(v1::Verdict verdict, const std::string& reason, const std::string& why) {
    judgement_.verdict = std::max(judgement_.verdict, verdict);
    judgement_.reasons.push_back(reason);
    if (!judgement_.explanation.empty()) judgement_.explanation += "; ";
    judgement_.explanation += why;
  }
  void Suspect(const std::string& reason, const std::string& why) {
    Add(v1::VERDICT_SUSPECT, reason, why);
  }
  void Inform(const std::string& reason) { judgement_.reasons.push_back(reason); }

  void FasterThanRoof(double ratio, const std::string& roof) {
    const std::string what =
        Format("it needs %.0f %% of the ", 100 * ratio) + roof + " measured on this device";
    if (input_.shared_roofs) {
      Suspect("FASTER_THAN_ROOF", what + ", or others used the cores when that was measured");
    } else {
      Add(v1::VERDICT_INVALID, "FASTER_THAN_ROOF", what + ", which is impossible");
    }
  }

  void CheckRates() {
    const v1::Throughput& rates = input_.rates;
    if (input_.cold && rates.roof_flops_ratio() > kImpossibleRoof) {
      FasterThanRoof(rates.roof_flops_ratio(), "best arithmetic rate");
    } else if (rates.peak_flops_ratio() > kImpossibleFlops) {
      Add(v1::VERDICT_INVALID, "FASTER_THAN_PEAK",
          Format("%.0f %% of the device's peak arithmetic rate is impossible",
                 100 * rates.peak_flops_ratio()));
    }
    if (input_.cold && input_.l2_bytes > 0 && rates.bytes() > 0) CheckBandwidth();
  }

  // Inputs come from memory, but a cache's worth of results may stay in it: only traffic beyond it
  // counts, against a measured roof exactly, against a datasheet's only when it is well beyond.
  void CheckBandwidth() {
    const v1::Throughput& rates = input_.rates;
    const double l2 = static_cast<double>(input_.l2_bytes);
    const double beyond = std::max(0.0, rates.bytes() - l2) / rates.bytes();
    if (rates.roof_bandwidth_ratio() > 0) {
      if (beyond * rates.roof_bandwidth_ratio() <= kImpossibleRoof) return;
      FasterThanRoof(beyond * rates.roof_bandwidth_ratio(),
                     "memory bandwidth (for what does not fit the cache alone)");
    } else if (rates.bytes() > 4 * l2 && rates.peak_bandwidth_ratio() > kImpossibleBandwidth) {
      Add(v1::VERDICT_INVALID, "FASTER_THAN_PEAK",
          Format("%.0f %% of the device's peak memory bandwidth is impossible",
                 100 * rates.peak_bandwidth_ratio()));
    }
  }

  void CheckRounds() {
    const auto medians = record_.Medians();
    const int rounds = static_cast<int>(medians.size());
    if (rounds < kMinRounds) {
      Suspect("FEW_ROUNDS", Format("only %.0f rounds fitted the budget; an interval needs 6",
                                   static_cast<double>(rounds)));
    } else if (input_.stop == StopState::kResolutionLimited) {
      Inform("RESOLUTION_LIMITED");
    } else if (input_.stop != StopState::kConverged) {
      Suspect("NOT_CONVERGED",
              Format("the interval is still +-%.3g %% after %.0f rounds, the target was +-%.3g %%",
                     100 * IntervalRatio(medians), rounds, 100 * input_.target_ratio));
    }
  }

  void CheckShape() {
    const auto medians = record_.Medians();
    const auto samples = record_.Samples();
    const Drift drift = DriftOf(medians, input_.target_ratio);
    if (drift.drifting) {
      Suspect("DRIFTING",
              Format("the times drifted by %+.1f %% during the rounds", 100 * drift.change_ratio));
    }
    const Modes modes = ModesOf(samples, input_.quantum_seconds);
    if (modes.bimodal && PowerLimited()) {
      // The clock itself swings between two levels there, and the times with it.
      Inform("BIMODAL");
    } else if (modes.bimodal) {
      Suspect("BIMODAL", Format("there are two modes, %.4g s (%.0f %% of the samples) and %.4g s",
                                modes.low, 100 * modes.low_share, modes.high));
    }
    if (const double iqr = RelativeIqr(samples); iqr > kNoisyIqr) {
      Suspect("NOISY", Format("the middle half of the samples spreads over %.0f %% of the median",
                              100 * iqr));
    }
    if (record_.Lag1Correlation() > kAutocorrelated) Inform("AUTOCORRELATED");
  }

  void CheckDisturbances() {
    const int kept = static_cast<int>(record_.Samples().size());
    const int discarded = record_.DiscardedSamples();
    const bool many_discarded = discarded > kTolerableDiscardShare * (kept + discarded);
    const bool migrated = record_.FlagShare("MIGRATED") > kTolerableFlagShare;
    const bool stolen = record_.FlagShare("STOLEN") > kTolerableFlagShare ||
                        input_.telemetry.steal_ratio() > kTolerableSteal;
    const bool stalled = record_.FlagShare("HOST_STALL") > kTolerableFlagShare;
    if (record_.FlagShare("BLOCKER_TIMEOUT") > 0) {
      Suspect("HOST_STALL", "a launch synchronised, so the queue could not be blocked");
    } else if (stalled || (many_discarded && !migrated && !stolen)) {
      Suspect("HOST_STALL", Format("the host kept the device waiting: %.0f of %.0f samples were "
                                   "thrown away",
                                   discarded, kept + discarded));
    }
    if (record_.FlagShare("SIDE_STREAM") > 0) {
      Suspect("SIDE_STREAM",
              "the device went on working after the timed work was done, so the time may miss a "
              "part of it");
    }
    if (const double share = record_.FlagShare("CLOCK_CHANGED"); share > kTolerableFlagShare) {
      Suspect("CLOCK_CHANGED",
              Format("%.0f %% of the rounds ran at another clock, and the device gives no reason",
                     100 * share));
    }
    if (migrated) Suspect("MIGRATED", "the measuring thread was moved between cores");
    if (input_.telemetry.steal_ratio() > kTolerableSteal) {
      Suspect("CPU_STEAL", Format("the hypervisor took %.1f %% of the processor's time",
                                  100 * input_.telemetry.steal_ratio()));
    } else if (stolen) {
      Suspect("CPU_STEAL",
              Format("something else ran on the measuring cores in %.0f %% of the rounds",
                     100 * record_.FlagShare("STOLEN")));
    }
  }

  bool PowerLimited() const { return ThrottleReasons(input_.telemetry).count("POWER_CAP") > 0; }

  void CheckDevice() {
    const v1::Telemetry& telemetry = input_.telemetry;
    if (telemetry.ecc_errors() > 0) {
      Add(v1::VERDICT_INVALID, "ECC_ERROR",
          Format("the device's memory reported %.0f error(s) that could not be corrected",
                 static_cast<double>(telemetry.ecc_errors())));
    }
    for (const std::string& reason : ThrottleReasons(telemetry)) {
      if (IsHeat(reason)) {
        Suspect("THROTTLED_" + reason, "the device lowered its clock (" + reason + ")");
      } else if (reason == "POWER_CAP") {
        // The normal state of a large matmul: the number is true, and says what it is.
        Inform("POWER_LIMITED");
      }
    }
    if (input_.rounds_lost_to_heat && !HasThrottled()) {
      Suspect("THROTTLED_ROUNDS", "rounds were thrown away because the device was throttled");
    }
    CheckOthers();
  }

  // Others are judged by what they computed, not by being there.
  void CheckOthers() {
    const v1::Telemetry& telemetry = input_.telemetry;
    const int processes = telemetry.foreign_processes();
    const double utilization = telemetry.foreign_utilization();
    if (utilization >= kTolerableForeign) {
      Suspect("FOREIGN_PROCESS",
              Format("others computed on the device for %.0f %% of the time", 100 * utilization));
    } else if (processes > 0 && utilization < 0) {
      Suspect("FOREIGN_PROCESS",
              Format("%.0f other process(es) had the device open, and the driver does not say "
                     "whether they computed",
                     processes));
    } else if (processes > 0) {
      Inform("FOREIGN_IDLE");
    }
    if (telemetry.busy_mig_siblings() > 0) {
      Suspect("MIG_SIBLINGS", Format("%.0f other slice(s) of the same card were in use",
                                     telemetry.busy_mig_siblings()));
    }
  }

  bool HasThrottled() const {
    return std::any_of(judgement_.reasons.begin(), judgement_.reasons.end(),
                       [](const std::string& r) { return r.rfind("THROTTLED_", 0) == 0; });
  }

  const CellRecord& record_;
  const VerdictInput& input_;
  Judgement judgement_;
};

}  // namespace

Judgement Judge(const CellRecord& record, const VerdictInput& input) {
  return Judging(record, input).Run();
}

RoundFate FateOfRound(const v1::Telemetry& telemetry) {
  const std::set<std::string> reasons = ThrottleReasons(telemetry);
  return std::any_of(reasons.begin(), reasons.end(), IsHeat) ? RoundFate::kDiscard
                                                             : RoundFate::kKeep;
}

}  // namespace kbench::experiment
