#include "client/suites/suite_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "client/default_target.h"
#include "client/output/units.h"
#include "client/suites/suite_plan.h"
#include "kernels/catalog/catalog.h"
#include "proto/support/clock.h"

namespace kbench::client {
namespace {

using kbench::v1::CaseSpec;
using kbench::v1::CaseStatus;
using kbench::v1::Device;
using kbench::v1::Job;
using kbench::v1::JobSpec;
using kbench::v1::ListDevicesResponse;

constexpr int kDefaultPriority = 500;

std::string KeyOf(const JobSpec& job, const CaseSpec& spec) {
  const double target = job.policy().target_ratio();
  return fmt::format("{} {} {} {} [{}] [{}] {}", spec.kernel(), spec.dtype(), ShapeOf(spec),
                     spec.mode().empty() ? ModeName(Mode::kCold) : spec.mode(),
                     fmt::join(job.implementations(), ","), fmt::join(job.environments(), ","),
                     target == 0 ? kDefaultTarget : target);
}

int Priority(const JobSpec& spec) {
  return spec.has_priority() ? spec.priority() : kDefaultPriority;
}

bool Meet(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& one) { return b.count(one) > 0; });
}

}  // namespace

std::set<std::string> DevicesFor(const ListDevicesResponse& known, const std::string& selector) {
  std::set<std::string> named;
  std::set<std::string> gpus;
  for (const Device& device : known.devices()) {
    const bool gpu = device.kind() == "cuda";
    const bool by_name = device.name() == selector || device.uuid() == selector;
    const bool by_kind = (selector == "gpu" && gpu) || (selector == "cpu" && !gpu);
    // Which devices have a model or a label only the coordinator can say: as if all had.
    const bool by_term = selector.find_first_of("=,") != std::string::npos;
    if (selector.empty() || by_name || by_kind || by_term) named.insert(device.name());
    if (gpu) gpus.insert(device.name());
  }
  return selector.empty() && !gpus.empty() ? gpus : named;
}

bool CaseHistory::MayTell(const Job& job, const std::vector<JobSpec>& wanted) const {
  std::set<std::string> lacking;
  for (const JobSpec& one : wanted) {
    for (const CaseSpec& spec : one.cases()) {
      const std::string key = KeyOf(one, spec);
      if (seconds_.count(key) == 0) lacking.insert(key);
    }
  }
  const auto& cases = job.spec().cases();
  return std::any_of(cases.begin(), cases.end(), [&](const CaseSpec& spec) {
    return lacking.count(KeyOf(job.spec(), spec)) > 0;
  });
}

void CaseHistory::Add(const Job& job) {
  for (const CaseStatus& status : job.cases()) {
    const bool whole = status.state() == kbench::v1::JOB_STATE_SUCCEEDED &&
                       status.has_start_time() && status.has_end_time();
    if (!whole || devices_.count(status.device()) == 0) continue;
    const double micros =
        static_cast<double>(ToMicros(status.end_time()) - ToMicros(status.start_time()));
    if (micros > 0) seconds_.emplace(KeyOf(job.spec(), status.spec()), micros * 1e-6);
  }
}

std::optional<double> CaseHistory::Seconds(const JobSpec& job, const CaseSpec& spec) const {
  if (job.has_hold()) return ToSeconds(job.hold().duration());
  const auto found = seconds_.find(KeyOf(job, spec));
  return found == seconds_.end() ? std::nullopt : std::optional<double>(found->second);
}

Estimate EstimateJobs(const std::vector<JobSpec>& jobs, const CaseHistory& history) {
  Estimate estimate;
  for (const JobSpec& job : jobs) {
    const auto& policy = job.policy();
    const double budget =
        policy.has_case_budget() ? ToSeconds(policy.case_budget()) : kDefaultBudgetSeconds;
    for (const CaseSpec& spec : job.cases()) {
      const std::optional<double> remembered = history.Seconds(job, spec);
      estimate.cases += 1;
      estimate.remembered += remembered ? 1 : 0;
      estimate.seconds += remembered.value_or(std::min(kTypicalCaseSeconds, budget));
      estimate.most_seconds += budget;
    }
  }
  return estimate;
}

Ahead AheadOf(const std::vector<Job>& waiting, const ListDevicesResponse& known,
              const std::set<std::string>& devices, const CaseHistory& history) {
  Ahead ahead;
  for (const Job& job : waiting) {
    // Priorities count within a class only, and a suite is of the last one.
    const bool batch = job.spec().priority_class() == "batch";
    if (batch && Priority(job.spec()) < kDefaultPriority) continue;
    if (!Meet(DevicesFor(known, job.spec().device()), devices)) continue;
    const int count = job.spec().cases_size();
    const int done = std::min(job.cases_done(), count);
    for (int i = done; i < count; ++i) {
      const CaseSpec& spec = job.spec().cases(i);
      ahead.seconds += history.Seconds(job.spec(), spec).value_or(kTypicalCaseSeconds);
    }
    ahead.cases += count - done;
    ahead.jobs += count > done ? 1 : 0;
  }
  return ahead;
}

std::string EstimateText(const Estimate& estimate) {
  std::string basis;
  if (estimate.remembered == 0) {
    basis = fmt::format("{:.0f} s a case, as a rule: none was measured like this before",
                        kTypicalCaseSeconds);
  } else if (estimate.remembered == estimate.cases) {
    basis = "as long as the last run of each case";
  } else {
    basis = fmt::format("{} of {} cases as long as their last run, the others {:.0f} s, as a rule",
                        estimate.remembered, estimate.cases, kTypicalCaseSeconds);
  }
  return fmt::format("{} on one device ({}); at most {} by the cases' budgets",
                     FormatSecondsRoughly(estimate.seconds), basis,
                     FormatSecondsRoughly(estimate.most_seconds));
}

std::string AheadText(const Ahead& ahead, const std::set<std::string>& devices) {
  if (devices.empty()) return "until such a device connects: none is known";
  const std::string where = fmt::format("{}", fmt::join(devices, ", "));
  if (ahead.cases == 0) return "none, nothing is queued on " + where;
  return fmt::format("about {} on {}, behind {} of {}", FormatSecondsRoughly(ahead.seconds), where,
                     FormatCount(ahead.cases, "case", "cases"),
                     FormatCount(ahead.jobs, "job", "jobs"));
}

}  // namespace kbench::client
