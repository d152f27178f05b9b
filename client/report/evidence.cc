#include "client/report/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "client/implementation_name.h"
#include "client/suites/suite_plan.h"
#include "proto/support/error.h"
#include "proto/support/ids.h"

namespace kbench::client {
namespace {

using kbench::v1::Result;

std::string ModeOf(const Result& result) {
  return result.case_().mode().empty() ? "cold" : result.case_().mode();
}

bool IsDefault(const Result& row) { return EnvironmentOf(row.implementation()).empty(); }

const Result* FastestOf(const std::vector<Result>& rows,
                        const std::function<bool(const Result&)>& counts) {
  const Result* best = nullptr;
  for (const Result& row : rows) {
    if (!IsUsable(row) || !counts(row)) continue;
    const bool better =
        best == nullptr || std::make_pair(!IsDefault(row), row.device_time().median()) <
                               std::make_pair(!IsDefault(*best), best->device_time().median());
    if (better) best = &row;
  }
  return best;
}

// A machine has one "gpu0", another one has too.
std::string IdentityOf(const Result& result) {
  const auto& environment = result.environment();
  return fmt::format("{}, {}{}{}", result.device(),
                     environment.device_name().empty() ? "?" : environment.device_name(),
                     environment.hostname().empty() ? "" : " of " + environment.hostname(),
                     environment.device_uuid().empty() ? "" : ", " + environment.device_uuid());
}

bool IsOf(const Result& result, const std::string& device) {
  return device.empty() || result.device() == device ||
         result.environment().device_uuid() == device;
}

// Those of the device, each name once and in the place of the first.
std::vector<Result> Chosen(const std::vector<Result>& results, const std::string& device) {
  std::vector<Result> chosen;
  std::map<std::string, std::size_t> places;
  for (const Result& result : results) {
    if (!IsOf(result, device)) continue;
    const auto [place, is_new] = places.emplace(result.name(), chosen.size());
    if (is_new || result.name().empty()) {
      chosen.push_back(result);
    } else {
      chosen[place->second] = result;
    }
  }
  return chosen;
}

absl::Status OneDevice(const std::vector<Result>& results) {
  std::set<std::string> known;
  std::set<std::string> bare;  // rows that failed before anything was known of the machine
  for (const Result& result : results) {
    if (result.environment().device_name().empty()) {
      bare.insert(result.device());
    } else {
      known.insert(IdentityOf(result));
    }
  }
  for (const std::string& name : bare) {
    const bool is_known = std::any_of(known.begin(), known.end(), [&](const std::string& identity) {
      return identity.rfind(name + ", ", 0) == 0;
    });
    if (!is_known) known.insert(name);
  }
  if (known.size() <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("the results are of {} devices ({}): a report is of one; choose it with --device",
                  known.size(), fmt::join(known, "; ")));
}

// The settings under which rows were measured, where they differ.
void NoteDifferences(const std::vector<Result>& results, std::vector<std::string>* notes) {
  std::map<std::string, std::set<std::string>> values;
  for (const Result& result : results) {
    const auto& environment = result.environment();
    if (environment.device_name().empty()) continue;
    values["drivers"].insert(environment.driver());
    values["versions of kbench"].insert(environment.kbench_version());
    values["versions of the engine"].insert(environment.engine_version());
    const auto limit = environment.settings().find("power_limit_watts");
    if (limit != environment.settings().end()) values["power limits"].insert(limit->second);
  }
  for (const auto& [what, of] : values) {
    if (of.size() > 1) {
      notes->push_back(
          fmt::format("The rows were measured under different {}: {}.", what, fmt::join(of, ", ")));
    }
  }
}

MeasuredCase& CaseOf(const Result& result, Evidence* evidence) {
  const std::string shape = ShapeOf(result.case_());
  for (MeasuredCase& known : evidence->cases) {
    if (known.kernel == result.case_().kernel() && known.dtype == result.case_().dtype() &&
        known.shape == shape) {
      return known;
    }
  }
  evidence->cases.push_back({result.case_().kernel(), result.case_().dtype(), shape, {}});
  return evidence->cases.back();
}

// Adds the rows of a case's last job; then, of the earlier ones, what it has not.
void AddRows(const std::vector<const Result*>& rows, Evidence* evidence, int* replaced) {
  std::vector<std::string> jobs;
  for (const Result* row : rows) {
    if (std::find(jobs.begin(), jobs.end(), row->job()) == jobs.end()) jobs.push_back(row->job());
  }
  const auto began = [&](const std::string& job) {
    double seconds = 0;
    for (const Result* row : rows) {
      const double at = static_cast<double>(row->create_time().seconds());
      if (row->job() == job) seconds = std::max(seconds, at);
    }
    return seconds;
  };
  std::stable_sort(jobs.begin(), jobs.end(),
                   [&](const std::string& a, const std::string& b) { return began(a) < began(b); });
  std::set<std::string> names;
  MeasuredCase& into = CaseOf(*rows.front(), evidence);
  for (auto job = jobs.rbegin(); job != jobs.rend(); ++job) {
    std::map<std::string, const Result*> last;  // of one job, the later line
    for (const Result* row : rows) {
      if (row->job() == *job) last[row->implementation()] = row;
    }
    for (const Result* row : rows) {
      if (row->job() != *job || last[row->implementation()] != row) continue;
      if (names.count(row->implementation()) > 0) {
        ++*replaced;
      } else {
        into.rows.push_back(*row);
      }
    }
    for (const auto& [name, row] : last) names.insert(name);
  }
}

}  // namespace

const Result* MeasuredCase::Best(Role role) const {
  return FastestOf(rows, [&](const Result& row) { return RoleOf(row.implementation()) == role; });
}

const Result* MeasuredCase::BestOfFamily(const std::string& prefix) const {
  return FastestOf(rows, [&](const Result& row) {
    return FamilyOf(row.implementation()).rfind(prefix, 0) == 0;
  });
}

const Result* MeasuredCase::Named(const std::string& implementation) const {
  return FastestOf(rows, [&](const Result& row) { return row.implementation() == implementation; });
}

const Result* MeasuredCase::Fastest() const {
  return FastestOf(rows, [](const Result&) { return true; });
}

bool Evidence::cpu() const {
  return std::any_of(cases.begin(), cases.end(), [](const MeasuredCase& one) {
    return std::any_of(one.rows.begin(), one.rows.end(),
                       [](const Result& row) { return FamilyOf(row.implementation()) == "cpu"; });
  });
}

std::vector<const Result*> Evidence::AllRows() const {
  std::vector<const Result*> rows;
  for (const MeasuredCase& one : cases) {
    for (const Result& row : one.rows) rows.push_back(&row);
  }
  for (const Result& row : other_modes) rows.push_back(&row);
  return rows;
}

const MeasuredCase* Evidence::Find(const std::string& kernel, const std::string& dtype,
                                   const std::string& shape) const {
  for (const MeasuredCase& one : cases) {
    if (one.kernel == kernel && one.dtype == dtype && one.shape == shape) return &one;
  }
  return nullptr;
}

bool IsUsable(const Result& result) {
  return result.outcome() == kbench::v1::OUTCOME_OK && result.device_time().median() > 0 &&
         std::isfinite(result.device_time().median()) &&
         result.verdict() != kbench::v1::VERDICT_INVALID;
}

absl::StatusOr<Evidence> Gather(const std::vector<Result>& results, const std::string& device) {
  if (results.empty()) return absl::InvalidArgumentError("there are no results to report on");
  const std::vector<Result> chosen = Chosen(results, device);
  if (chosen.empty()) {
    std::set<std::string> names;
    for (const Result& result : results) names.insert(result.device());
    return absl::InvalidArgumentError(
        fmt::format("no result is of device {}; they are of {}", device, fmt::join(names, ", ")));
  }
  KB_RETURN_IF_ERROR(OneDevice(chosen));
  Evidence evidence;
  evidence.device = chosen.front().device();
  std::vector<std::vector<const Result*>> groups;  // by case, in their order
  std::map<std::string, std::size_t> places;
  for (const Result& result : chosen) {
    const std::string job = JobId(result.job());
    if (!job.empty() &&
        std::find(evidence.jobs.begin(), evidence.jobs.end(), job) == evidence.jobs.end()) {
      evidence.jobs.push_back(job);
    }
    if (!result.environment().device_name().empty()) evidence.environment = result.environment();
    if (ModeOf(result) != "cold") {
      evidence.other_modes.push_back(result);
      continue;
    }
    const std::string key = fmt::format("{} {} {}", result.case_().kernel(), result.case_().dtype(),
                                        ShapeOf(result.case_()));
    const auto [place, is_new] = places.emplace(key, groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(&result);
  }
  int replaced = 0;
  for (const auto& group : groups) AddRows(group, &evidence, &replaced);
  if (replaced > 0) {
    evidence.notes.push_back(fmt::format(
        "Where several jobs measured a case, the later one counts: {} earlier rows are left out.",
        replaced));
  }
  if (!evidence.other_modes.empty()) {
    evidence.notes.push_back(
        fmt::format("{} rows are of other modes than cold; they are listed and used for nothing.",
                    evidence.other_modes.size()));
  }
  NoteDifferences(chosen, &evidence.notes);
  return evidence;
}

}  // namespace kbench::client
