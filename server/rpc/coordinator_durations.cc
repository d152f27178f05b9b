// How long cases take: history in, estimates out.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "proto/support/clock.h"
#include "proto/support/error.h"
#include "server/rpc/coordinator.h"
#include "server/rpc/selection.h"
#include "server/rpc/validate.h"

namespace kbench::server {
namespace {

using kbench::v1::CaseSpec;
using kbench::v1::Device;
using kbench::v1::JobSpec;
using kbench::v1::Result;

constexpr int kMostResults = 20'000;  // to learn from at a start
constexpr double kCaseBudgetSeconds = 60;

history::CaseKey KeyOf(const CaseSpec& spec, const std::string& device) {
  return {spec.kernel(), spec.dtype(), spec.shape(), spec.mode(), device, {}};
}

double BudgetOf(const JobSpec& spec) {
  return spec.policy().has_case_budget() ? ToSeconds(spec.policy().case_budget())
                                         : kCaseBudgetSeconds;
}

}  // namespace

void Coordinator::ResetScheduler() {
  scheduler_ = scheduler::Scheduler(options_.scheduler);
  // Called within the scheduler's methods, so with the lock held.
  scheduler_.SetEstimator([this](scheduler::Case& item, const std::string& device)
                              ABSL_NO_THREAD_SAFETY_ANALYSIS {
                                const auto job = active_.find(item.ref.job);
                                if (job == active_.end()) return;
                                EstimateOn(*job->second.spec, devices_.Find(device), item);
                              });
}

absl::Status Coordinator::LoadDurations() {
  KB_ASSIGN_OR_RETURN(const auto cases, store_.RecentDurations(kMostResults));
  MutexLock lock(mutex_);
  for (const store::CaseDuration& item : cases) {
    durations_.Record(
        {item.kernel, item.dtype, item.shape, item.mode, item.device, item.implementations},
        item.seconds);
  }
  return absl::OkStatus();
}

void Coordinator::EstimateOn(const JobSpec& spec, const Device* device, scheduler::Case& item) {
  if (spec.has_hold()) {
    // Held until its time is over, unless it is given back before.
    item.estimate = item.estimate_high = ToSeconds(spec.hold().duration());
    item.estimate_low = 0;
    return;
  }
  if (item.ref.index >= spec.cases_size()) return;
  const CaseSpec& what = spec.cases(item.ref.index);
  history::CaseKey key = KeyOf(what, device != nullptr ? device->name() : spec.device());
  if (device != nullptr) {
    key.implementations =
        SelectImplementations({spec.implementations().begin(), spec.implementations().end()},
                              *device, what,
                              {spec.environments().begin(), spec.environments().end()})
            .implementations;
  }
  const history::Duration duration = durations_.Of(key, BudgetOf(spec));
  item.estimate = duration.seconds;
  item.estimate_low = duration.low;
  item.estimate_high = duration.high;
}

void Coordinator::FillEstimates(const JobSpec& spec, scheduler::JobEntry& entry) {
  // The cases of a sweep mostly need the same, and go to the same device.
  std::map<std::string, const Device*> chosen;
  for (scheduler::Case& item : entry.cases) {
    const Device* device = nullptr;
    if (item.ref.index < spec.cases_size()) {
      const auto [found, added] = chosen.try_emplace(item.need, nullptr);
      if (added) {
        const auto devices = CandidateDevices(spec.device(), spec.cases(item.ref.index), devices_);
        if (!devices.empty()) found->second = devices.front();
      }
      device = found->second;
    }
    EstimateOn(spec, device, item);
  }
}

void Coordinator::RecordDuration(const scheduler::Effects& effects,
                                 const std::vector<Result>& results) {
  if (results.empty()) return;
  for (const auto& [item] : effects.cases) {
    const bool ours =
        item.ref.job == results.front().job() && item.ref.index == results.front().case_index();
    if (!ours || item.state != scheduler::State::kSucceeded || item.started_at <= 0) continue;
    history::CaseKey key = KeyOf(results.front().case_(), item.device);
    for (const Result& result : results) key.implementations.push_back(result.implementation());
    durations_.Record(key, item.ended_at - item.started_at);
  }
}

}  // namespace kbench::server
