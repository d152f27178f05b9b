#include "server/metrics/schedule_series.h"

#include <algorithm>
#include <utility>

#include "server/metrics/family.h"

namespace kbench::metrics {

using prometheus::MetricFamily;

void ScheduleCollector::SetSource(std::function<std::vector<ScheduleState>()> source) {
  MutexLock lock(mutex_);
  source_ = std::move(source);
}

std::vector<MetricFamily> ScheduleCollector::Collect() const {
  std::vector<MetricFamily> families;
  MutexLock lock(mutex_);  // also during the call: SetSource(nullptr) waits for a scrape to end
  if (!source_) return families;
  MetricFamily next = MakeGauge("kbench_schedule_next_timestamp_seconds",
                                "When the schedule runs next; absent while it is paused.");
  MetricFamily last = MakeGauge("kbench_schedule_last_timestamp_seconds",
                                "When the last run that was not skipped ended.");
  MetricFamily awaited = MakeGauge(
      "kbench_schedule_awaited_timestamp_seconds",
      "Since when the end of a run is awaited: since that of the last one, or since the schedule "
      "was made, went on or had a device again; absent while it is paused.");
  MetricFamily interval =
      MakeGauge("kbench_schedule_interval_seconds", "Longest time between two runs.");
  MetricFamily skipped = MakeCounter("kbench_schedule_skipped_total", "Runs that were skipped.");
  MetricFamily info = MakeGauge("kbench_schedule_info",
                                "A device that the schedule's jobs may run on; the value is 1.");
  for (const ScheduleState& one : source_()) {
    const Labels labels = {{"schedule", one.name}};
    if (one.next > 0) Add(next, labels, one.next);
    if (one.last_ended > 0) Add(last, labels, one.last_ended);
    if (one.awaited > 0) Add(awaited, labels, std::max(one.awaited, one.last_ended));
    if (one.interval_seconds > 0) Add(interval, labels, one.interval_seconds);
    Add(skipped, labels, static_cast<double>(one.skipped));
    for (const std::string& device : one.devices) {
      Add(info, {{"schedule", one.name}, {"suite", one.suite}, {"device", device}}, 1);
    }
  }
  for (MetricFamily* family : {&next, &last, &awaited, &interval, &skipped, &info}) {
    Keep(std::move(*family), families);
  }
  return families;
}

}  // namespace kbench::metrics
