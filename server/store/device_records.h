// What the store keeps of devices beside what their workers say anew: so that a job may wait for a
// device whose worker is away across a restart, and that a drain or a quarantine outlives it. Plain
// values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kbench/v1/device.pb.h"

namespace kbench::store {

// A device as its worker last offered it, without what changes with every heartbeat.
struct KnownDevice {
  kbench::v1::Device device;  // with name and worker
  double seen_at = 0;         // when it was stored
};

// Why a device takes nothing. A drain, a quarantine that a person asked for and one that kbench
// began stand side by side, one of each: good canaries end the last one only.
struct MaintenanceRecord {
  std::string device;
  bool automatic = false;
  kbench::v1::Maintenance maintenance;
  bool ended = false;
};

// The newest fault of a device that was acted upon: it is acted upon once, also after a restart.
struct HandledFault {
  std::string device;
  std::string boot_id;  // of the worker that saw it
  std::int64_t number = 0;
};

// What a job without a device runs on.
struct DefaultDevice {
  std::string owner;   // empty: everybody
  std::string device;  // a selector; empty: none any more
};

// Changes of one step. Applied in this order.
struct DeviceChanges {
  std::vector<std::string> forgotten;  // names
  std::vector<KnownDevice> known;
  std::vector<MaintenanceRecord> maintenance;
  std::vector<HandledFault> faults;
  std::vector<DefaultDevice> defaults;

  bool empty() const {
    return forgotten.empty() && known.empty() && maintenance.empty() && faults.empty() &&
           defaults.empty();
  }
};

// All that is kept.
struct StoredDevices {
  std::vector<KnownDevice> known;
  std::vector<MaintenanceRecord> maintenance;
  std::vector<HandledFault> faults;
  std::vector<DefaultDevice> defaults;
};

}  // namespace kbench::store
