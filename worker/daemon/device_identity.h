// Which device this worker offers, kept in its data folder at a good start: so that a worker whose
// driver does not fit its library (driver_versions.h), and which can ask it nothing, still says
// whose jobs wait. Used from main().
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kbench/v1/device.pb.h"

namespace kbench {

// `device`: with its stable name, and what its runners offered. One file for each --device.
absl::Status SaveIdentity(const std::string& data_dir, const std::string& spec,
                          const v1::Device& device);

// What was saved; without a file what `spec` (GPU-<uuid>, MIG-<uuid>) and `name` tell.
// FAILED_PRECONDITION when that is not enough.
absl::StatusOr<v1::Device> LoadIdentity(const std::string& data_dir, const std::string& spec,
                                        const std::string& name);

}  // namespace kbench
