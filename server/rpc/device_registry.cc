#include "server/rpc/device_registry.h"

#include <algorithm>

#include "proto/support/clock.h"

namespace kbench::server {

using kbench::v1::Device;

namespace {

constexpr int kMostForeign = 64;  // processes; what a worker tells beyond is dropped

}  // namespace

void DeviceRegistry::WorkerSaidHello(const Device& device, const std::string& worker_id,
                                     std::int64_t now_micros) {
  // A worker that now offers its device under another name leaves no ghost behind.
  std::erase_if(devices_, [&](const auto& known) {
    return known.second.worker() == worker_id && known.first != device.name();
  });
  Device& known = devices_[device.name()];
  known = device;
  known.set_worker(worker_id);
  if (known.state().empty()) known.set_state("READY");
  *known.mutable_last_heartbeat_time() = ToTimestamp(now_micros);
}

void DeviceRegistry::WorkerBeat(const std::string& worker_id,
                                const kbench::v1::Heartbeat& heartbeat, std::int64_t now_micros) {
  const std::string& state = heartbeat.device_state();
  for (auto& [name, device] : devices_) {
    if (device.worker() != worker_id) continue;
    device.set_state(state.empty() ? "READY" : state);
    device.set_state_message(heartbeat.device_message());
    *device.mutable_telemetry() = heartbeat.telemetry();
    *device.mutable_foreign() = heartbeat.foreign();
    while (device.foreign_size() > kMostForeign) device.mutable_foreign()->RemoveLast();
    if (heartbeat.has_offer()) {
      *device.mutable_implementations() = heartbeat.offer().implementations();
      *device.mutable_absent() = heartbeat.offer().absent();
    }
    if (heartbeat.has_calibration()) *device.mutable_calibration() = heartbeat.calibration();
    *device.mutable_last_heartbeat_time() = ToTimestamp(now_micros);
  }
}

void DeviceRegistry::WorkerLeft(const std::string& worker_id) {
  for (auto& [name, device] : devices_) {
    if (device.worker() != worker_id) continue;
    device.set_state("OFFLINE");
    device.set_state_message("its worker is not connected");
    device.clear_telemetry();
    device.clear_foreign();
  }
}

const Device* DeviceRegistry::Find(const std::string& name) const {
  const auto found = devices_.find(name);
  return found == devices_.end() ? nullptr : &found->second;
}

const Device* DeviceRegistry::OfWorker(const std::string& worker_id) const {
  for (const auto& [name, device] : devices_) {
    if (device.worker() == worker_id) return &device;
  }
  return nullptr;
}

std::vector<const Device*> DeviceRegistry::All() const {
  std::vector<const Device*> all;
  for (const auto& [name, device] : devices_) all.push_back(&device);
  return all;
}

std::vector<std::string> DeviceRegistry::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, device] : devices_) names.push_back(name);
  return names;
}

std::string DeviceRegistry::Resolve(const std::string& selector) const {
  for (const auto& [name, device] : devices_) {
    if (!selector.empty() && device.uuid() == selector) return name;
  }
  return selector;
}

std::vector<const Device*> DeviceRegistry::Matching(const std::string& selector) const {
  std::vector<const Device*> matching;
  for (const auto& [name, device] : devices_) {
    const bool by_kind = (selector == "gpu" && device.kind() == "cuda") ||
                         (selector == "cpu" && device.kind() == "cpu") || selector.empty();
    if (selector == name || by_kind) matching.push_back(&device);
  }
  return matching;
}

std::string DeviceKey(const Device& device) {
  if (!device.uuid().empty()) return device.hostname() + "/" + device.uuid();
  const auto cpus = device.settings().find("cpus");
  return device.hostname() + "/" + device.kind() + "/" +
         (cpus != device.settings().end() ? cpus->second : device.name());
}

}  // namespace kbench::server
