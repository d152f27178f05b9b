// The device's calibration and its canaries on disk, so that a restart of the worker is immediate.
// One JSON file. Used from the case thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kbench/v1/device.pb.h"
#include "worker/daemon/canary_stats.h"

namespace kbench {

struct StoredCalibration {
  // Only one that passed and is at most 24 h old.
  std::optional<v1::Calibration> calibration;
  std::int64_t measured_micros = 0;  // wall time
  std::vector<CanarySession> sessions;
  std::int64_t last_session_micros = 0;  // wall time; 0: never
};

class CalibrationStore {
 public:
  // `key`: everything that makes an old calibration void (device, driver, versions, boot).
  CalibrationStore(std::string path, std::string key)
      : path_(std::move(path)), key_(std::move(key)) {}

  // Empty when there is none for the key, or when the file cannot be read.
  StoredCalibration Load(std::int64_t now_micros) const;
  absl::Status Save(const StoredCalibration& stored) const;

 private:
  const std::string path_;
  const std::string key_;
};

// Differs after each boot of the machine; empty where the kernel does not tell.
std::string MachineBootId();

}  // namespace kbench
