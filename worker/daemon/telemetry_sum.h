// The telemetry of many visits as one: means weighted by time, the hottest temperature, all
// throttle reasons with their seconds, lowest and highest clock, energy a launch. A plain value.
#pragma once

#include <set>
#include <string>

#include "kbench/v1/result.pb.h"

namespace kbench {

class TelemetrySum {
 public:
  // A visit of `launches` launches that was watched for `seconds`.
  void Add(const v1::Telemetry& telemetry, double seconds, double launches);
  v1::Telemetry Mean() const;
  // The device named the power cap as a reason for its clock in some visit.
  bool PowerLimited() const { return reasons_.count("POWER_CAP") > 0; }

 private:
  v1::Telemetry sum_;   // products with seconds
  v1::Telemetry peak_;  // extremes, and what simply adds up
  std::set<std::string> reasons_;
  double seconds_ = 0;
  double told_seconds_ = 0;     // in which the driver told what others computed
  bool untold_ = false;         // others were there, and the driver did not tell
  double energy_launches_ = 0;  // of the visits whose energy is known
};

}  // namespace kbench
