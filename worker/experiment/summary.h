// From records to the numbers of a result: distributions, rates, regime, comparison. Pure;
// thread-safe.
#pragma once

#include <string>

#include "kbench/v1/result.pb.h"
#include "worker/experiment/records.h"

namespace kbench::experiment {

// Centre and interval from round medians, quantiles from all samples. Empty records give zeros.
v1::TimeDistribution DeviceTime(const CellRecord& record);
v1::TimeDistribution SubmitTime(const CellRecord& record);

// What one launch does and what the device could do at best; zeros mean unknown.
struct Work {
  double flops = 0;
  double bytes = 0;
  double peak_flops = 0;      // FLOP/s for the case's dtype
  double peak_bandwidth = 0;  // byte/s
};
v1::Throughput Rates(const Work& work, double seconds);

// launch-bound: enqueueing a launch costs more than running it. Otherwise by the larger share of a
// datasheet peak; where the peaks are unknown by arithmetic intensity, or empty between the clear
// cases.
std::string Regime(const Work& work, const v1::Throughput& rates, double device_seconds,
                   double submit_seconds);

// Paired over the rounds that visited both cells. False when there is none.
bool Compare(const std::string& baseline_name, const CellRecord& baseline, const CellRecord& own,
             v1::BaselineComparison* comparison);

// Mean clock of the rounds times the median time; 0 when no clock is known.
double DeviceCycles(const CellRecord& record, double median_seconds);

}  // namespace kbench::experiment
