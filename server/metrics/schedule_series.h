// The schedules as they stand, asked for at each scrape. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "proto/support/mutex.h"

namespace kbench::metrics {

// Times are seconds since the epoch; 0: there is none.
struct ScheduleState {
  std::string name;
  std::string suite;
  std::vector<std::string> devices;  // on which its jobs may run, each once
  double next = 0;                   // 0: paused
  double last_ended = 0;             // of the last run that was not skipped
  double awaited = 0;                // when it was made, went on or had a device again; 0: paused
  double interval_seconds = 0;       // between two runs, at most
  std::int64_t skipped = 0;
};

class ScheduleCollector final : public prometheus::Collectable {
 public:
  // As LiveCollector's.
  void SetSource(std::function<std::vector<ScheduleState>()> source);
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  mutable Mutex mutex_;
  std::function<std::vector<ScheduleState>()> source_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kbench::metrics
