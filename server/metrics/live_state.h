// What is true right now (queue, devices, workers), asked for at each scrape so that what has gone
// leaves no series behind. Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kbench/v1/device.pb.h"
#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "proto/support/mutex.h"
#include "server/scheduler/backlog.h"

namespace kbench::metrics {

struct LiveState {
  std::vector<std::pair<std::string, scheduler::Waiting>> waiting;  // by class
  int queued_jobs = 0;  // that have not begun, or of which nothing runs now
  int running_jobs = 0;
  int running_cases = 0;
  int watchers = 0;
  std::vector<kbench::v1::Device> devices;
};

class LiveCollector final : public prometheus::Collectable {
 public:
  // `source` must be quick, must not throw, and is called on the exposer's thread. Null: nothing.
  void SetSource(std::function<LiveState()> source);
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  mutable Mutex mutex_;
  std::function<LiveState()> source_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kbench::metrics
