// The queue and what runs.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "server/metrics/family.h"
#include "server/metrics/live_state.h"

namespace kbench::metrics {
namespace {

using prometheus::MetricFamily;

void AddNext(const LiveState& state, std::vector<MetricFamily>& families) {
  MetricFamily next =
      MakeGauge("kbench_queue_next_info",
                "A waiting job, by its place in the order of starts; the value is 1.");
  for (std::size_t i = 0; i < state.next.size(); ++i) {
    const NextJob& job = state.next[i];
    Add(next,
        {{"position", std::to_string(i + 1)},
         {"owner", job.owner},
         {"class", job.priority_class},
         {"case", job.text},
         {"selector", job.selector}},
        1);
  }
  Keep(std::move(next), families);
}

void AddRunning(const LiveState& state, std::vector<MetricFamily>& families) {
  MetricFamily info =
      MakeGauge("kbench_device_running_info", "What runs on the device; the value is 1.");
  MetricFamily start = MakeGauge("kbench_device_running_start_timestamp_seconds",
                                 "When what runs on the device began.");
  for (const RunningCase& one : state.running) {
    Add(info,
        {{"device", one.device},
         {"owner", one.owner},
         {"class", one.priority_class},
         {"case", one.text}},
        1);
    Add(start, {{"device", one.device}}, one.started_at);
  }
  for (MetricFamily* family : {&info, &start}) Keep(std::move(*family), families);
}

}  // namespace

void AddQueue(const LiveState& state, std::vector<MetricFamily>& families) {
  MetricFamily cases = MakeGauge("kbench_queue_cases", "Cases that wait for a device, by class.");
  MetricFamily jobs = MakeGauge("kbench_queue_jobs", "Jobs with cases that wait, by class.");
  MetricFamily oldest = MakeGauge("kbench_queue_oldest_job_timestamp_seconds",
                                  "When the oldest of those jobs was submitted.");
  for (const auto& [name, waiting] : state.waiting) {
    Add(cases, {{"class", name}}, static_cast<double>(waiting.cases));
    Add(jobs, {{"class", name}}, static_cast<double>(waiting.jobs));
    if (waiting.jobs > 0) Add(oldest, {{"class", name}}, waiting.oldest_submitted);
  }
  MetricFamily by_state = MakeGauge("kbench_jobs", "Jobs that have not ended, by state.");
  Add(by_state, {{"state", "queued"}}, state.queued_jobs);
  Add(by_state, {{"state", "running"}}, state.running_jobs);
  MetricFamily running = MakeGauge("kbench_running_cases", "Cases that a worker is running.");
  Add(running, {}, state.running_cases);
  MetricFamily leases = MakeGauge("kbench_leases", "Rights of workers to try a case, held now.");
  Add(leases, {}, state.running_cases);
  MetricFamily watchers = MakeGauge("kbench_watchers", "Open streams of WatchJob and WatchQueue.");
  Add(watchers, {}, state.watchers);
  for (MetricFamily* family : {&cases, &jobs, &oldest, &by_state, &running, &leases, &watchers}) {
    Keep(std::move(*family), families);
  }
  AddNext(state, families);
  AddRunning(state, families);
}

}  // namespace kbench::metrics
