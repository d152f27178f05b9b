// Which devices a job may run on.
#include "server/scheduler/fit.h"

#include <algorithm>

#include "server/scheduler/scheduler.h"
#include "server/scheduler/selector.h"

namespace kbench::scheduler {

std::string Scheduler::Hindrance(double now, const JobState& job, const WorkerState& worker) const {
  const auto each = [&](const auto& holds) {
    return std::any_of(job.entry.cases.begin(), job.entry.cases.end(),
                       [&](const Case& item) { return !IsFinal(item.state) && holds(item); });
  };
  if (!Selects(job.entry.device, worker.entry)) return "NOT_SELECTED";
  if (!each([&](const Case& item) { return Able(item.need, worker.entry); })) {
    return "DEVICE_LACKS_KERNEL";
  }
  if (!MatchesSome(job, worker.entry)) return "GPU_FIRST";
  if (!Live(worker, now)) return "DEVICE_OFFLINE";
  if (!worker.entry.blocked.empty()) return worker.entry.blocked;
  if (worker.entry.draining) return "WORKER_STOPPING";
  if (!worker.entry.ready || worker.needs_heartbeat) return "DEVICE_NOT_READY";
  const bool elsewhere = job.pinned_device != worker.entry.device &&
                         std::any_of(workers_.begin(), workers_.end(), [&](const auto& other) {
                           return other.second.entry.device == job.pinned_device &&
                                  other.second.holds_pins && MatchesSome(job, other.second.entry);
                         });
  if (elsewhere) return "OTHER_DEVICE";
  const bool its_model = std::any_of(workers_.begin(), workers_.end(), [&](const auto& other) {
    return !OtherModel(job, other.second.entry) && MatchesSome(job, other.second.entry);
  });
  return its_model && OtherModel(job, worker.entry) ? "OTHER_MODEL" : "";
}

std::vector<Fit> Scheduler::Fits(double now, const std::string& job) const {
  std::vector<Fit> fits;
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return fits;
  // A device that has moved to another worker is where that one is.
  std::map<std::string, const WorkerState*> devices;
  for (const auto& [id, worker] : workers_) {
    const WorkerState*& known = devices[worker.entry.device];
    if (known == nullptr || Live(worker, now)) known = &worker;
  }
  for (const auto& [device, worker] : devices) {
    const std::string reason = Hindrance(now, found->second, *worker);
    fits.push_back({device, reason != "NOT_SELECTED", reason});
  }
  return fits;
}

}  // namespace kbench::scheduler
