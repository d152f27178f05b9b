// A suite against the devices there are. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "kbench/v1/device_service.pb.h"
#include "kbench/v1/suite.pb.h"

namespace kbench::client {

// What no device has, a sentence each: "entry 2: no device has the implementation triton-aot",
// "entry 3: no device has an implementation of attention for tf32".
std::vector<std::string> MissingOnDevices(const kbench::v1::Suite& suite,
                                          const kbench::v1::ListDevicesResponse& known);

}  // namespace kbench::client
