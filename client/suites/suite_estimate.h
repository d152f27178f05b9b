// How long jobs will take and how long they will wait, from what the coordinator remembers of
// others. Pure; thread-safe.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kbench/v1/device_service.pb.h"
#include "kbench/v1/job.pb.h"

namespace kbench::client {

// Where nothing is remembered: what a case takes as a rule, from its assignment to its result.
inline constexpr double kTypicalCaseSeconds = 4;
// What the coordinator gives a case without a budget of its own.
inline constexpr double kDefaultBudgetSeconds = 60;

// The names of the devices that a job for `selector` may run on: a name, a UUID, "gpu", "cpu";
// empty: GPUs where there are any, else all. For any other selector all.
std::set<std::string> DevicesFor(const kbench::v1::ListDevicesResponse& known,
                                 const std::string& selector);

// How long cases took the last time: of the same kernel, dtype, shape, mode, implementations,
// environments and precision, on one of the devices.
class CaseHistory {
 public:
  explicit CaseHistory(std::set<std::string> devices = {}) : devices_(std::move(devices)) {}

  // Whether the job measured one of `wanted` that is not known yet. Its spec is enough.
  bool MayTell(const kbench::v1::Job& job, const std::vector<kbench::v1::JobSpec>& wanted) const;
  // Newest first: what is known stays. The job with its cases.
  void Add(const kbench::v1::Job& job);

  std::optional<double> Seconds(const kbench::v1::JobSpec& job,
                                const kbench::v1::CaseSpec& spec) const;

 private:
  std::set<std::string> devices_;
  std::map<std::string, double> seconds_;
};

struct Estimate {
  int cases = 0;
  int remembered = 0;       // of them, with a history
  double seconds = 0;       // one device, one case after the other
  double most_seconds = 0;  // by the budgets
};
Estimate EstimateJobs(const std::vector<kbench::v1::JobSpec>& jobs, const CaseHistory& history);

// What stands before a new job on these devices: queued and running jobs but batch ones of
// lower priority; of a running one the cases that have not ended. Their specs are enough.
struct Ahead {
  int jobs = 0;
  int cases = 0;
  double seconds = 0;
};
Ahead AheadOf(const std::vector<kbench::v1::Job>& waiting,
              const kbench::v1::ListDevicesResponse& known, const std::set<std::string>& devices,
              const CaseHistory& history);

// "28 s on one device (2 of 7 cases as long as their last run, the others 4 s, as a rule); at most
// 7.0 min by the cases' budgets".
std::string EstimateText(const Estimate& estimate);
// "none, nothing is queued on cpu", "about 8 s on cpu, behind 2 cases of 1 job".
std::string AheadText(const Ahead& ahead, const std::set<std::string>& devices);

}  // namespace kbench::client
