// Building families by hand, for collectables. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "prometheus/metric_family.h"

namespace kbench::metrics {

using Labels = std::vector<prometheus::ClientMetric::Label>;

inline prometheus::MetricFamily MakeFamily(const char* name, const char* help,
                                           prometheus::MetricType type) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  return family;
}

inline prometheus::MetricFamily MakeGauge(const char* name, const char* help) {
  return MakeFamily(name, help, prometheus::MetricType::Gauge);
}

inline prometheus::MetricFamily MakeCounter(const char* name, const char* help) {
  return MakeFamily(name, help, prometheus::MetricType::Counter);
}

inline void Add(prometheus::MetricFamily& family, Labels labels, double value) {
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  metric.label = std::move(labels);
  if (family.type == prometheus::MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
}

// Families without a series are not exported.
inline void Keep(prometheus::MetricFamily family, std::vector<prometheus::MetricFamily>& families) {
  if (!family.metric.empty()) families.push_back(std::move(family));
}

}  // namespace kbench::metrics
