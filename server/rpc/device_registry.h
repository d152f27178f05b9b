// The devices this coordinator knows, with what their workers said: state, telemetry, calibration,
// implementations. A device stays known while its worker is away, also across a restart. Not
// thread-safe: owned by the coordinator, under its lock.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kbench/v1/device.pb.h"
#include "kbench/v1/worker_service.pb.h"
#include "server/scheduler/types.h"

namespace kbench::server {

class DeviceRegistry {
 public:
  // A device from before a restart: OFFLINE until its worker comes. One that is known already stays
  // as it is.
  void Restore(const kbench::v1::Device& device);
  // What a worker says of a device it cannot reach (OFFLINE), with what is known of it.
  kbench::v1::Device Completed(kbench::v1::Device device) const;
  // The names under which the worker offered it before and does no longer.
  std::vector<std::string> WorkerSaidHello(const kbench::v1::Device& device,
                                           const std::string& worker_id, std::int64_t now_micros);
  void WorkerBeat(const std::string& worker_id, const kbench::v1::Heartbeat& heartbeat,
                  std::int64_t now_micros);
  void WorkerLeft(const std::string& worker_id);
  // Until its next heartbeat.
  void WorkerSilent(const std::string& worker_id);
  // Brings Device.environment_epoch in step with what is said of the device; true: it is another
  // environment than the last one known. A device that is out of reach, or whose calibration is not
  // known yet (its worker has just begun), says too little: the former one stands.
  bool FollowEnvironment(const std::string& name);
  // Null: it has none.
  void SetMaintenance(const std::string& name, const kbench::v1::Maintenance* maintenance);

  bool empty() const { return devices_.empty(); }
  const kbench::v1::Device* Find(const std::string& name) const;
  const kbench::v1::Device* OfWorker(const std::string& worker_id) const;
  std::vector<const kbench::v1::Device*> All() const;
  std::vector<std::string> Names() const;

  // The stable name for a UUID; any other selector unchanged, without spaces around it.
  std::string Resolve(const std::string& selector) const;
  // Devices a selector names (server/scheduler/selector.h); the empty one: all.
  std::vector<const kbench::v1::Device*> Matching(const std::string& selector) const;

 private:
  std::map<std::string, kbench::v1::Device> devices_;  // by name
};

// What selectors go by.
scheduler::WorkerEntry SelectableOf(const kbench::v1::Device& device);

// What tells two physical devices apart: two live workers must not share it.
std::string DeviceKey(const kbench::v1::Device& device);

}  // namespace kbench::server
