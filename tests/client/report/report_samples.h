// Rows of results with numbers that a test can follow by hand.
#pragma once

#include <string>
#include <vector>

#include "kbench/v1/result.pb.h"

namespace kbench::client::testing {

struct Row {
  std::string kernel = "sum";
  std::string dtype = "fp32";
  std::string shape = "n=1048576";
  std::string implementation = "cuda/vectorized";
  double seconds = 1e-3;  // device
  double submit = 0;      // host
  double call = 0;        // end to end
  std::string regime = "memory-bound";
  int case_index = 0;
  std::string job = "jobs/aaaaaaaa";
  std::string device = "gpu0";
  double spread = 0.001;  // half of every interval, as a share
  double error = 1e-7;
};

// Eight rounds of the same median, and intervals of `spread` around everything.
inline kbench::v1::Result Made(const Row& row) {
  kbench::v1::Result result;
  // A row is known by its name.
  result.set_name("results/" + row.job.substr(5) + "-" + std::to_string(row.case_index) + "-" +
                  row.kernel + row.dtype + row.shape + row.implementation + row.device);
  result.set_job(row.job);
  result.set_case_index(row.case_index);
  result.set_attempt(1);
  result.mutable_case_()->set_kernel(row.kernel);
  result.mutable_case_()->set_dtype(row.dtype);
  result.mutable_case_()->set_size(row.shape);
  result.mutable_case_()->set_shape(row.shape);
  result.mutable_case_()->set_mode("cold");
  result.set_implementation(row.implementation);
  result.set_device(row.device);
  result.set_outcome(kbench::v1::OUTCOME_OK);
  result.set_verdict(kbench::v1::VERDICT_VALID);
  const auto fill = [&](kbench::v1::TimeDistribution* time, double seconds) {
    if (seconds <= 0) return;
    time->set_median(seconds);
    time->set_low(seconds * (1 - row.spread));
    time->set_high(seconds * (1 + row.spread));
    time->set_history_low(seconds * (1 - 2 * row.spread));
    time->set_history_high(seconds * (1 + 2 * row.spread));
  };
  fill(result.mutable_device_time(), row.seconds);
  for (int round = 0; round < 8; ++round) {
    result.mutable_device_time()->add_round_numbers(round);
    result.mutable_device_time()->add_round_medians(row.seconds);
  }
  if (row.submit > 0) fill(result.mutable_host_submit_time(), row.submit);
  if (row.call > 0) {
    fill(result.mutable_end_to_end_time(), row.call);
    result.set_end_to_end_seconds(row.call);
  }
  result.set_regime(row.regime);
  result.set_regime_reason("because");
  result.mutable_verification()->set_verified(true);
  result.mutable_verification()->set_relative_error(row.error);
  auto& rates = *result.mutable_throughput();
  rates.set_flops(1e9);
  rates.set_bytes(4e9);
  rates.set_flops_per_second(1e9 / row.seconds);
  rates.set_bytes_per_second(4e9 / row.seconds);
  result.mutable_environment()->set_device_name("Test GPU");
  result.mutable_environment()->set_hostname("here");
  return result;
}

// A kernel by size: what `implementation` takes at each extent of n.
struct Sweep {
  std::string implementation;
  std::vector<double> seconds;
  std::vector<double> calls = {};
  std::vector<std::string> regimes = {};  // memory-bound where it is shorter
};
inline std::vector<kbench::v1::Result> SumByN(const std::vector<double>& extents,
                                              const std::vector<Sweep>& sweeps) {
  std::vector<kbench::v1::Result> rows;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    for (const Sweep& sweep : sweeps) {
      if (sweep.seconds[i] <= 0) continue;  // did not run
      Row row;
      row.shape = "n=" + std::to_string(static_cast<long>(extents[i]));
      row.case_index = static_cast<int>(i);
      row.implementation = sweep.implementation;
      row.seconds = sweep.seconds[i];
      row.call = i < sweep.calls.size() ? sweep.calls[i] : sweep.seconds[i];
      if (i < sweep.regimes.size()) row.regime = sweep.regimes[i];
      rows.push_back(Made(row));
    }
  }
  return rows;
}

}  // namespace kbench::client::testing
