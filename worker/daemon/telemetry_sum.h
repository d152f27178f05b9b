// The telemetry of many rounds as one: means weighted by time, the hottest temperature, all
// throttle reasons. A plain value.
#pragma once

#include <set>
#include <string>

#include "kbench/v1/result.pb.h"

namespace kbench {

class TelemetrySum {
 public:
  void Add(const v1::Telemetry& telemetry, double seconds);
  v1::Telemetry Mean() const;

 private:
  v1::Telemetry sum_;  // products with seconds
  v1::Telemetry peak_;
  std::set<std::string> reasons_;
  double seconds_ = 0;
};

}  // namespace kbench
