// One canary session: known cells measured and checked in fresh processes while the device is idle,
// to learn how far a median moves from session to session and whether the device still computes
// rightly. Called from the case thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/daemon/canary_stats.h"
#include "worker/daemon/cancel.h"
#include "worker/daemon/runner_pool.h"
#include "worker/device/device.h"

namespace kbench {

// One entry a cell. FAILED_PRECONDITION when the device is not ours alone or offers no canary's
// kernel; INTERNAL when a runner failed; DATA_LOSS when a canary computed wrongly. Cancelling ends
// it within milliseconds.
absl::StatusOr<std::vector<CanarySession>> FlyCanarySession(
    RunnerPool& pool, DeviceMonitor& monitor, const DeviceFacts& facts, std::int64_t flush_bytes,
    const std::string& scratch_dir, const CancelToken& cancel);

}  // namespace kbench
