#include "server/history/reuse.h"

#include <algorithm>
#include <set>

#include "fmt/format.h"
#include "proto/support/fnv.h"

namespace kbench::history {
namespace {

using kbench::v1::CaseSpec;
using kbench::v1::Device;
using kbench::v1::MeasurementPolicy;
using kbench::v1::Result;

// The defaults of case.proto, so that a policy that names them is the one that leaves them out.
constexpr double kDefaultTarget = 0.005;
constexpr double kDefaultMargin = 0.01;
constexpr std::int64_t kDefaultBudgetSeconds = 60;

double TargetOf(const MeasurementPolicy& policy) {
  return policy.target_ratio() == 0 ? kDefaultTarget : policy.target_ratio();
}

double MarginOf(const MeasurementPolicy& policy) {
  return policy.margin_ratio() == 0 ? kDefaultMargin : policy.margin_ratio();
}

std::string FlushOf(const MeasurementPolicy& policy) {
  return policy.flush().empty() ? "clean" : policy.flush();
}

std::uint64_t SeedOf(const MeasurementPolicy& policy) {
  return policy.seed() == 0 ? 1 : policy.seed();
}

// One text that two cases share when they ask for the same.
std::string ContentText(const CaseSpec& spec, const MeasurementPolicy& policy) {
  const auto& budget = policy.case_budget();
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}.{}|{}", spec.kernel(), spec.dtype(),
                     spec.shape(), spec.mode(), TargetOf(policy), FlushOf(policy),
                     policy.if_busy().empty() ? "wait" : policy.if_busy(), MarginOf(policy),
                     SeedOf(policy),
                     policy.has_case_budget() ? budget.seconds() : kDefaultBudgetSeconds,
                     policy.has_case_budget() ? budget.nanos() : 0, policy.profile());
}

std::string Differs(const char* what, const std::string& then, const std::string& now) {
  return fmt::format("its {} was '{}' and is '{}' now", what, then, now);
}

std::string WhyNotEnvironment(const Result& result, const ReuseRequest& request) {
  const auto& then = result.environment();
  const Device& now = *request.device;
  if (result.device() != now.name()) return Differs("device", result.device(), now.name());
  if (then.device_uuid() != now.uuid()) return Differs("UUID", then.device_uuid(), now.uuid());
  if (then.device_name() != now.model()) return Differs("model", then.device_name(), now.model());
  if (then.driver() != now.driver()) return Differs("driver", then.driver(), now.driver());
  if (then.kbench_version() != request.worker_version) {
    return Differs("kbench version", then.kbench_version(), request.worker_version);
  }
  const std::string& engine = now.calibration().engine_version();
  if (!engine.empty() && then.engine_version() != engine) {
    return Differs("engine", then.engine_version(), engine);
  }
  for (const auto& [key, value] : now.settings()) {
    const auto found = then.settings().find(key);
    const std::string before = found == then.settings().end() ? "" : found->second;
    if (before != value) return Differs(key.c_str(), before, value);
  }
  return "";
}

std::string WhyNotPolicy(const Result& result, const MeasurementPolicy& wanted) {
  const MeasurementPolicy& then = result.policy();
  if (SeedOf(then) != SeedOf(wanted)) return "its seed was another one";
  if (FlushOf(then) != FlushOf(wanted)) {
    return Differs("flush", FlushOf(then), FlushOf(wanted));
  }
  if (MarginOf(then) != MarginOf(wanted)) return "it was compared with another margin";
  if (TargetOf(then) > TargetOf(wanted)) return "it was measured less precisely";
  if (wanted.profile() && result.profile().sentence().empty()) return "it has no profile";
  return "";
}

std::string WhyNotRow(const Result& result, const ReuseRequest& request) {
  if (result.outcome() == kbench::v1::OUTCOME_UNSUPPORTED) return "";
  if (result.outcome() != kbench::v1::OUTCOME_OK || result.verdict() != kbench::v1::VERDICT_VALID) {
    return result.implementation() + " was not VALID";
  }
  std::string why = WhyNotPolicy(result, request.policy);
  return why.empty() ? WhyNotEnvironment(result, request) : why;
}

}  // namespace

std::uint64_t ContentOf(const CaseSpec& spec, const MeasurementPolicy& policy) {
  const std::uint64_t hash = Fnv1a(ContentText(spec, policy));
  return hash == 0 ? 1 : hash;
}

bool SameContent(const CaseSpec& a, const MeasurementPolicy& a_policy, const CaseSpec& b,
                 const MeasurementPolicy& b_policy) {
  return ContentText(a, a_policy) == ContentText(b, b_policy);
}

std::string WhyNotReusable(const std::vector<Result>& results, const ReuseRequest& request) {
  std::set<std::string> missing(request.implementations.begin(), request.implementations.end());
  bool measured = false;
  for (const Result& result : results) {
    // A variant that does not take the shape has a lower one in its row.
    const auto better = result.configuration().find("instead_of");
    const std::string& stands_for =
        better == result.configuration().end() ? result.implementation() : better->second;
    if (missing.erase(stands_for) == 0 && missing.erase(result.implementation()) == 0) {
      return result.implementation() + " ran too, which was not asked for";
    }
    if (std::string why = WhyNotRow(result, request); !why.empty()) return why;
    measured = measured || result.outcome() == kbench::v1::OUTCOME_OK;
  }
  if (!missing.empty()) return *missing.begin() + " did not run";
  return measured ? "" : "nothing was measured";
}

}  // namespace kbench::history
