// The device of a submission: a selector (server/scheduler/selector.h), or nothing. Every error
// names the devices that are known and what to type. Pure.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/rpc/device_registry.h"

namespace kbench::server {

struct DeviceContext {
  const DeviceRegistry* devices = nullptr;
  // Soon after a start, workers that were there before may not have come back yet.
  bool just_started = false;
  // What a job without a device runs on, as it was set; empty: nothing is.
  std::string default_device = "";
};

// What JobSpec.device stands for: a UUID becomes the device's name, nothing the default. Refused:
// what cannot be read (INVALID_ARGUMENT), what no known device is, and what would choose among
// devices of several models (FAILED_PRECONDITION). Still empty: a GPU where the lab has one, else
// the CPU.
absl::StatusOr<std::string> ResolveDevice(const std::string& selector,
                                          const DeviceContext& context);

}  // namespace kbench::server
