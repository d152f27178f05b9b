// The devices this coordinator has heard of since it started, with what their workers said: state,
// telemetry, calibration, implementations. A device stays known while its worker is away. Not
// thread-safe: owned by the coordinator, under its lock.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kbench/v1/device.pb.h"
#include "kbench/v1/worker_service.pb.h"

namespace kbench::server {

class DeviceRegistry {
 public:
  void WorkerSaidHello(const kbench::v1::Device& device, const std::string& worker_id,
                       std::int64_t now_micros);
  void WorkerBeat(const std::string& worker_id, const kbench::v1::Heartbeat& heartbeat,
                  std::int64_t now_micros);
  void WorkerLeft(const std::string& worker_id);

  bool empty() const { return devices_.empty(); }
  const kbench::v1::Device* Find(const std::string& name) const;
  const kbench::v1::Device* OfWorker(const std::string& worker_id) const;
  std::vector<const kbench::v1::Device*> All() const;
  std::vector<std::string> Names() const;

  // The stable name for a UUID; any other selector unchanged.
  std::string Resolve(const std::string& selector) const;
  // Devices a selector (a resolved one) names: by name, by kind ("gpu", "cpu"); the empty one: all.
  std::vector<const kbench::v1::Device*> Matching(const std::string& selector) const;

 private:
  std::map<std::string, kbench::v1::Device> devices_;  // by name
};

// What tells two physical devices apart: two live workers must not share it.
std::string DeviceKey(const kbench::v1::Device& device);

}  // namespace kbench::server
