#include "server/metrics/live_state.h"

#include <utility>

namespace kbench::metrics {

void LiveCollector::SetSource(std::function<LiveState()> source) {
  MutexLock lock(mutex_);
  source_ = std::move(source);
}

std::vector<prometheus::MetricFamily> LiveCollector::Collect() const {
  std::vector<prometheus::MetricFamily> families;
  // Held during the call: SetSource(nullptr) returns only when no scrape uses the source any more.
  MutexLock lock(mutex_);
  if (!source_) return families;
  const LiveState state = source_();
  AddQueue(state, families);
  AddDevices(state, families);
  return families;
}

}  // namespace kbench::metrics
