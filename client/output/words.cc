#include "client/output/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "client/default_target.h"
#include "client/output/units.h"

namespace kbench::client {
namespace {

using kbench::v1::Result;

constexpr double kQuickTarget = 0.02;

std::string WithoutPrefix(const std::string& name, const std::string& prefix) {
  return name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : name;
}

// A code nobody has put into words yet reads as its own words: "CLOCK_DRIFT" -> "clock drift".
std::string Spoken(std::string code) {
  for (char& c : code) {
    c = c == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return code;
}

// What a reason means, and what a person can do about it.
struct ReasonWords {
  const char* meaning;
  const char* advice;
};

constexpr char kIdle[] = "The machine is noisy: run again when it is idle, or take --quick";
constexpr char kCool[] = "Let the device cool and run again";
constexpr char kMoreTime[] = "Give it more time with --budget, or take --quick";
constexpr char kTooGood[] = "Do not use a number that is too good to be true";
constexpr char kOneStream[] =
    "The implementation must do all of its work on the stream it is given";
// Said only to those who did not take it.
constexpr char kOrQuick[] = ", or take --quick";

const ReasonWords* FindReason(const std::string& reason) {
  static const std::map<std::string, ReasonWords> words = {
      {"NOT_CONVERGED", {"the interval stayed wider than asked for", kIdle}},
      {"FEW_ROUNDS", {"too few rounds fitted into the time", kMoreTime}},
      {"NOISY", {"the times scatter", kIdle}},
      {"DRIFTING", {"the times kept rising or falling", kIdle}},
      {"BIMODAL", {"the times fall into two groups", kIdle}},
      {"HOST_STALL", {"the host could not keep the device fed", kIdle}},
      {"SIDE_STREAM",
       {"the device went on working after the timed work was done, so the time may miss a part",
        kOneStream}},
      {"CLOCK_CHANGED",
       {"the device's clock changed and nothing says why",
        "Look at who sets the device's clocks, and run again"}},
      {"MIGRATED", {"the measuring thread was moved between cores", kIdle}},
      {"CPU_STEAL", {"the hypervisor gave the processor to others", kIdle}},
      {"FOREIGN_PROCESS",
       {"another program used the device", "Run again when the other program is gone"}},
      {"FOREIGN_IDLE", {"another program had the device open and computed nothing", ""}},
      {"MIG_SIBLINGS",
       {"other slices of the same card were in use",
        "Run again when the other slices are idle: they share memory and power"}},
      {"ECC_ERROR",
       {"the device's memory lost data", "Take the device out of use and look at its memory"}},
      {"CANARY_DRIFT",
       {"a kernel that the device runs now and then takes another time than it used to",
        "See kbench-client devices; run again when its canary is back"}},
      {"AUTOCORRELATED", {"neighbouring samples resemble each other", ""}},
      {"FASTER_THAN_ROOF", {"it is faster than this device was ever measured to be", kTooGood}},
      {"FASTER_THAN_PEAK", {"it is faster than the device can be", kTooGood}},
      {"NOT_REVERIFIED", {"there was no time to check the output again", kMoreTime}},
      {"THROTTLED_ROUNDS", {"the device was throttled", kCool}},
      {"THROTTLED_HW_THERMAL", {"the device was too hot", kCool}},
      {"THROTTLED_SW_THERMAL", {"the device was too hot", kCool}},
      {"THROTTLED_POWER_BRAKE", {"the device's power was cut back", kCool}},
      {"POWER_LIMITED", {"it ran at the device's power limit", ""}},
      {"RESOLUTION_LIMITED", {"one launch is as short as the clock can tell", ""}},
      {"GROUPED", {"not all fitted into memory at once, so they ran in groups", ""}},
  };
  const auto found = words.find(reason);
  return found == words.end() ? nullptr : &found->second;
}

// Why a row has no number, where the code alone would not say it, and what a person can do.
const ReasonWords* FindOutcomeReason(const std::string& reason) {
  static const std::map<std::string, ReasonWords> words = {
      {"SIDE_STREAM", {"it works on another stream, which its time does not hold", kOneStream}},
      {"NOT_WRITTEN",
       {"a timed launch left its output unwritten, or wrote it on another stream", kOneStream}},
      {"PERSISTING_L2",
       {"it asks for cache lines that survive the flush",
        "Take the persisting window out of the implementation: cold mode needs it evicted"}},
      {"NOT_CAPTURABLE",
       {"its launch cannot be captured in a CUDA graph", "Measure it with --mode cold or hot"}},
      {"FOREIGN_BUSY",
       {"others use the device",
        "Run again when they are done, or measure beside them with --if-busy run"}},
  };
  const auto found = words.find(reason);
  return found == words.end() ? nullptr : &found->second;
}

// The interval in numbers, for a result that came without a sentence.
std::string WideInterval(const Result& result) {
  const double ratio = IntervalRatio(result.device_time());
  const double target =
      result.policy().target_ratio() > 0 ? result.policy().target_ratio() : kDefaultTarget;
  return fmt::format("the interval is {}, wider than the {} asked for", FormatPercent(ratio),
                     FormatPercent(target));
}

std::string Meaning(const Result& result, const std::string& reason) {
  if (reason == "NOT_CONVERGED" && IntervalRatio(result.device_time()) > 0) {
    return WideInterval(result);
  }
  const ReasonWords* words = FindReason(reason);
  return words != nullptr ? words->meaning : Spoken(reason);
}

}  // namespace

std::string OutcomeWord(kbench::v1::Outcome outcome) {
  return WithoutPrefix(kbench::v1::Outcome_Name(outcome), "OUTCOME_");
}

std::string VerdictWord(kbench::v1::Verdict verdict) {
  if (verdict == kbench::v1::VERDICT_UNSPECIFIED) return "-";
  return WithoutPrefix(kbench::v1::Verdict_Name(verdict), "VERDICT_");
}

std::string StateWord(kbench::v1::JobState state) {
  return WithoutPrefix(kbench::v1::JobState_Name(state), "JOB_STATE_");
}

kbench::v1::JobState ParseState(const std::string& word) {
  std::string upper = word;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  kbench::v1::JobState state = kbench::v1::JOB_STATE_UNSPECIFIED;
  if (!kbench::v1::JobState_Parse("JOB_STATE_" + WithoutPrefix(upper, "JOB_STATE_"), &state)) {
    return kbench::v1::JOB_STATE_UNSPECIFIED;
  }
  return state;
}

std::string OutcomeSentence(const Result& result) {
  const ReasonWords* words = FindOutcomeReason(result.reason());
  std::string text = result.message();
  if (text.empty()) text = words != nullptr ? words->meaning : Spoken(result.reason());
  // The worker names the process and what it does; that alone is no reason.
  if (result.reason() == "FOREIGN_BUSY" && !result.message().empty()) {
    text = std::string(words->meaning) + ": " + text;
  }
  if (result.outcome() == kbench::v1::OUTCOME_SKIPPED && result.estimate_seconds() > 0) {
    const std::string estimate = fmt::format("one launch would take about {}",
                                             FormatSecondsRoughly(result.estimate_seconds()));
    // The server's sentence may hold the estimate already; then it stands alone.
    if (text.find("launch") == std::string::npos) {
      text = text.empty() ? estimate : estimate + ": " + text;
    }
  }
  return text;
}

std::string AbsentText(const kbench::v1::AbsentFramework& absent) {
  const std::string name = fmt::format("{} ({})", absent.framework(), absent.environment());
  if (absent.starting()) return name + ": " + absent.message();
  return fmt::format("{} is absent: {}{}", name, absent.message(),
                     absent.install().empty() ? "" : "; install it with: " + absent.install());
}

std::string OutcomeAdvice(const Result& result) {
  const ReasonWords* words = FindOutcomeReason(result.reason());
  return words == nullptr ? "" : words->advice;
}

std::string VerdictSentence(const Result& result) {
  // The worker's own sentence has the figures; it speaks of what makes a number not VALID.
  if (result.verdict() != kbench::v1::VERDICT_VALID && !result.message().empty()) {
    return result.message();
  }
  std::string text;
  for (const std::string& reason : result.verdict_reasons()) {
    text += (text.empty() ? "" : "; ") + Meaning(result, reason);
  }
  return text;
}

std::vector<std::string> VerdictAdvice(const Result& result) {
  std::vector<std::string> advice;
  const bool quick = result.policy().target_ratio() >= kQuickTarget;
  for (const std::string& reason : result.verdict_reasons()) {
    const ReasonWords* words = FindReason(reason);
    if (words == nullptr || words->advice[0] == '\0') continue;
    std::string text = words->advice;
    if (quick && text.ends_with(kOrQuick)) text.resize(text.size() - sizeof(kOrQuick) + 1);
    if (std::find(advice.begin(), advice.end(), text) == advice.end()) advice.push_back(text);
  }
  return advice;
}

}  // namespace kbench::client
