// The last default result of each (kernel, implementation, dtype, size, mode, device) as gauges.
// Bounded: at most `most` label sets, the one longest without a new result goes first. A
// Collectable: series vanish by themselves, no reference into a registry is ever kept. Thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <vector>

#include "kbench/v1/result.pb.h"
#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "proto/support/mutex.h"

namespace kbench::metrics {

class ResultSeries final : public prometheus::Collectable {
 public:
  explicit ResultSeries(std::size_t most) : most_(most) {}

  // Ignores results that are not default ones (store::IsDefaultResult) and those of hidden
  // implementations, the fixtures of the self-test.
  void Record(const kbench::v1::Result& result);
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  using Labels = std::vector<prometheus::ClientMetric::Label>;
  struct Entry {
    Labels labels;
    std::vector<double> values;  // one a family; NaN: not known, not exported
  };

  const std::size_t most_;
  mutable Mutex mutex_;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // newest first
  std::map<Labels, std::list<Entry>::iterator> index_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t evicted_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace kbench::metrics
