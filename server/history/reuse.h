// When the results of one run answer another case: for single-flight, where both are the same, and
// for an earlier result, which must be as good. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kbench/v1/case.pb.h"
#include "kbench/v1/device.pb.h"
#include "kbench/v1/result.pb.h"

namespace kbench::history {

// A hash of what a case would find out as far as its request says: kernel, dtype, canonical shape,
// mode and policy. Never 0. Equal hashes are to be confirmed by SameContent.
std::uint64_t ContentOf(const kbench::v1::CaseSpec& spec,
                        const kbench::v1::MeasurementPolicy& policy);
bool SameContent(const kbench::v1::CaseSpec& a, const kbench::v1::MeasurementPolicy& a_policy,
                 const kbench::v1::CaseSpec& b, const kbench::v1::MeasurementPolicy& b_policy);

// What an earlier result must match.
struct ReuseRequest {
  std::vector<std::string> implementations;  // exact names, as they would run on the device
  kbench::v1::MeasurementPolicy policy;
  const kbench::v1::Device* device = nullptr;  // as it is now
  std::string worker_version;                  // of the worker that has it now
};

// Why the rows of one case cannot stand for a new run of it; empty: they can. They can when each
// implementation asked for has a VALID row (or one that says UNSUPPORTED, which is no measurement
// that ages) and there is no other one, seed, flush and margin are the same, the precision asked
// for then was at least as high, a profile is there where one is wanted, and device, driver,
// settings, engine and kbench are what they are now.
std::string WhyNotReusable(const std::vector<kbench::v1::Result>& results,
                           const ReuseRequest& request);

}  // namespace kbench::history
