// One case on several devices, side by side. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kbench/v1/job.pb.h"

namespace kbench::client {

struct OnColumn {
  std::string device;             // as typed
  kbench::v1::CaseStatus status;  // ended
  std::int64_t submitted_micros = 0;
};

// The case, a row an implementation, a column a device, then how many times as fast as on the first
// device; what is to be known of single numbers beneath. At most 90 columns: where the devices are
// many, intervals and then the ratios are left out.
std::string OnTableText(const std::vector<OnColumn>& columns);

// What the ratios are: a description, without a verdict.
std::string OnFooter(const std::vector<std::string>& devices);

}  // namespace kbench::client
