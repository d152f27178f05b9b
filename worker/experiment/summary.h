// From records to the numbers of a result: distributions and rates. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "kbench/v1/device.pb.h"
#include "kbench/v1/result.pb.h"
#include "worker/experiment/records.h"
#include "worker/stats/comparison.h"

namespace kbench::experiment {

// Centre and interval from round medians, quantiles from all samples, the medians themselves with
// their rounds' numbers and clocks. The interval for history is widened by the standard deviation
// of medians between sessions (ratio). Empty records give zeros.
v1::TimeDistribution DeviceTime(const CellRecord& record,
                                double between_session_ratio = stats::kBetweenSessionPrior);
// Neither history nor rounds.
v1::TimeDistribution SubmitTime(const CellRecord& record);

// Of calls that stand for themselves, seconds: each counts as a round.
v1::TimeDistribution CallTime(const std::vector<double>& calls);

// What one launch does and what the device could do at best; zeros mean unknown.
struct Work {
  double flops = 0;
  double bytes = 0;
  double peak_flops = 0;      // datasheet, FLOP/s for the case's dtype
  double peak_bandwidth = 0;  // datasheet, byte/s
  double roof_flops = 0;      // measured, FLOP/s of the best library product of the dtype
  double roof_bandwidth = 0;  // measured, byte/s
  std::string traffic = {};   // which roof of the memory that is: read, write, copy
};
// Fills in the measured roofs. That of the memory is the one a kernel's traffic resembles: below a
// quarter of writes a read, above three quarters a write, else a copy. `read_bytes` and
// `written_bytes` are those of one launch.
void AddRoofs(const v1::Calibration& calibration, const std::string& dtype, double read_bytes,
              double written_bytes, Work* work);
v1::Throughput Rates(const Work& work, double seconds);

// Mean clock of the rounds times the median time; 0 when no clock is known.
double DeviceCycles(const CellRecord& record, double median_seconds);

}  // namespace kbench::experiment
