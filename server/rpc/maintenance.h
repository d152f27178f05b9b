// Which devices take nothing new though their workers are well, and why: drains and quarantines
// that a person asked for, and quarantines that kbench began after a fault. They are facts beside
// each other: none replaces or ends another one. A quarantine counts before a drain, a person's
// before kbench's; what a person asked for only a person ends. Says what is to be stored; holds no
// clock. Not thread-safe: owned by the coordinator, under its lock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kbench/v1/device.pb.h"
#include "kbench/v1/worker_service.pb.h"
#include "server/store/device_records.h"

namespace kbench::server {

// So many good canaries in a row end a quarantine that kbench began.
inline constexpr int kGoodCanaries = 3;

class MaintenanceBook {
 public:
  // Forgets what it held.
  void Restore(const store::StoredDevices& stored);

  // `kind`: drain, quarantine. The same again keeps its time.
  store::MaintenanceRecord Ask(const std::string& device, const std::string& kind,
                               const std::string& reason, const std::string& by,
                               std::int64_t now_micros);
  // `kind`: drain, quarantine (a person's and kbench's), all, or empty for the drain and, where
  // there is none, the quarantine. Empty when there was nothing to end.
  std::vector<store::MaintenanceRecord> End(const std::string& device, const std::string& kind);

  struct Change {
    store::DeviceChanges stored;
    std::vector<std::string> quarantined;  // a fault's kind for each quarantine that began
    bool released = false;                 // by good canaries
  };
  // Faults of the worker's boot, also old ones: each is acted upon once. One of a kind that is no
  // reason for a quarantine is ignored.
  Change OnFaults(const std::string& device, const std::string& boot_id,
                  const google::protobuf::RepeatedPtrField<kbench::v1::DeviceFault>& faults,
                  std::int64_t now_micros);
  // The newest canary's state; counts one that has not been seen before.
  Change OnCanary(const std::string& device, const std::string& boot_id,
                  const kbench::v1::CanaryState& canary);

  // The one that counts, or nullptr.
  const kbench::v1::Maintenance* Of(const std::string& device) const;
  // The kinds of all of them: drain, quarantine.
  std::set<std::string> KindsOf(const std::string& device) const;
  // All of them for people, with who asked and since when; empty: there is none.
  std::string TextOf(const std::string& device) const;
  // As scheduler::WorkerEntry::blocked: "", DRAINING, QUARANTINED.
  std::string Blocked(const std::string& device) const;
  // The kind of fault behind a quarantine that kbench began: XID, ECC, WRONG_RESULTS; else empty.
  std::string FaultOf(const std::string& device) const;

 private:
  struct Entry {
    std::optional<kbench::v1::Maintenance> asked;  // a person's quarantine
    std::optional<kbench::v1::Maintenance> automatic;
    std::optional<kbench::v1::Maintenance> drain;

    // In the order in which they count.
    std::vector<const kbench::v1::Maintenance*> Standing() const;
    std::string boot_id;      // of the newest fault that was acted upon
    std::int64_t fault = 0;   // its number
    std::string canary_boot;  // of the newest canary seen; empty: none
    std::int64_t canary_count = 0;
  };
  std::map<std::string, Entry> entries_;  // by the device's name
};

// The state that people see: that of the worker, or what the device's maintenance makes of it.
// `runs`: a case is on it. What is worse than a drain stays.
std::string ShownState(const kbench::v1::Device& device, bool runs);

// "since 14:03 UTC by ada", "since ... by kbench".
std::string MaintenanceText(const kbench::v1::Maintenance& maintenance);

}  // namespace kbench::server
