#include "server/rpc/device_registry.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "proto/support/clock.h"
#include "server/history/environment.h"
#include "server/scheduler/selector.h"

namespace kbench::server {

using kbench::v1::Device;

namespace {

constexpr int kMostThrottleReasons = 32;
constexpr int kMostForeign = 64;  // processes; what a worker tells beyond is dropped
// Of what a worker keeps: they are labels of a metric, so none is taken that is not known.
constexpr const char* kKept[] = {"spool", "caches", "tuning", "scratch", "logs"};

void SetOffline(Device& device, const std::string& reason, const std::string& message) {
  device.set_state("OFFLINE");
  device.set_state_reason(reason);
  device.set_state_message(message);
  device.clear_telemetry();
  device.clear_foreign();
  device.clear_kept_bytes();
  device.clear_totals();
}

// Its process is about to end: what runs is finished or handed back, nothing new begins.
void SetStopping(Device& device) {
  if (device.state() == "OFFLINE" || device.state() == "WEDGED" || device.state() == "FAILED")
    return;
  const bool runs = device.state() == "BUSY" || device.state() == "HELD";
  device.set_state(runs ? "DRAINING" : "DRAINED");
  device.set_state_reason("WORKER_STOPPING");
  device.set_state_message("its worker is stopping and takes nothing new");
}

// Its runners could not be started: what they offered is what they will offer again.
void TakeOver(const Device& known, Device& device) {
  if (device.implementations().empty()) {
    *device.mutable_implementations() = known.implementations();
    *device.mutable_absent() = known.absent();
  }
  if (!device.has_calibration() && known.has_calibration()) {
    *device.mutable_calibration() = known.calibration();
  }
  if (device.model().empty()) device.set_model(known.model());
  if (device.architecture().empty()) device.set_architecture(known.architecture());
  if (device.memory_bytes() == 0) device.set_memory_bytes(known.memory_bytes());
}

// A worker's word: names become labels, and what is no amount must not spoil a counter.
void SetTotals(const kbench::v1::Heartbeat& heartbeat, Device& device) {
  device.clear_totals();
  if (!heartbeat.has_totals()) return;
  kbench::v1::DeviceTotals& totals = *device.mutable_totals();
  for (const auto& [reason, seconds] : heartbeat.totals().throttle_seconds()) {
    const bool plain =
        !reason.empty() && reason.size() <= 64 &&
        reason.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string::npos;
    if (!plain || !(seconds >= 0) || !std::isfinite(seconds)) continue;
    if (totals.throttle_seconds_size() == kMostThrottleReasons) break;
    (*totals.mutable_throttle_seconds())[reason] = seconds;
  }
  const double joules = heartbeat.totals().energy_joules();
  if (joules > 0 && std::isfinite(joules)) totals.set_energy_joules(joules);
}

}  // namespace

void DeviceRegistry::Restore(const Device& device) {
  const auto [at, is_new] = devices_.try_emplace(device.name(), device);
  if (is_new) {
    SetOffline(at->second, "NO_WORKER",
               "its worker has not come back since the coordinator's start");
  }
}

Device DeviceRegistry::Completed(Device device) const {
  const Device* known = Find(device.name());
  if (device.state() == "OFFLINE" && known != nullptr && known->kind() == device.kind()) {
    TakeOver(*known, device);
  }
  return device;
}

std::vector<std::string> DeviceRegistry::WorkerSaidHello(const Device& device,
                                                         const std::string& worker_id,
                                                         std::int64_t now_micros) {
  // A worker that now offers its device under another name leaves no ghost behind.
  std::vector<std::string> former;
  for (const auto& [name, known] : devices_) {
    if (known.worker() == worker_id && name != device.name()) former.push_back(name);
  }
  for (const std::string& name : former) devices_.erase(name);
  Device& known = devices_[device.name()];
  const std::string epoch = known.environment_epoch();
  known = device;
  known.set_environment_epoch(epoch);  // ours to say: FollowEnvironment
  known.set_worker(worker_id);
  if (known.state().empty()) known.set_state("READY");
  *known.mutable_last_heartbeat_time() = ToTimestamp(now_micros);
  return former;
}

void DeviceRegistry::WorkerBeat(const std::string& worker_id,
                                const kbench::v1::Heartbeat& heartbeat, std::int64_t now_micros) {
  const std::string& state = heartbeat.device_state();
  for (auto& [name, device] : devices_) {
    if (device.worker() != worker_id) continue;
    device.set_state(state.empty() ? "READY" : state);
    device.set_state_message(heartbeat.device_message());
    device.set_state_reason(heartbeat.device_reason());
    if (heartbeat.draining()) SetStopping(device);
    if (heartbeat.has_canary()) *device.mutable_canary() = heartbeat.canary();
    *device.mutable_telemetry() = heartbeat.telemetry();
    *device.mutable_foreign() = heartbeat.foreign();
    while (device.foreign_size() > kMostForeign) device.mutable_foreign()->RemoveLast();
    SetTotals(heartbeat, device);
    device.clear_kept_bytes();
    for (const char* kind : kKept) {
      const auto kept = heartbeat.kept_bytes().find(kind);
      if (kept == heartbeat.kept_bytes().end() || kept->second < 0) continue;
      (*device.mutable_kept_bytes())[kind] = kept->second;
    }
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
    SetOffline(device, "NO_WORKER", "its worker is not connected");
  }
}

void DeviceRegistry::WorkerSilent(const std::string& worker_id) {
  for (auto& [name, device] : devices_) {
    if (device.worker() != worker_id) continue;
    SetOffline(device, "WORKER_SILENT", "its worker is connected and says nothing");
  }
}

bool DeviceRegistry::FollowEnvironment(const std::string& name) {
  const auto found = devices_.find(name);
  if (found == devices_.end()) return false;
  Device& device = found->second;
  if (device.state() == "OFFLINE" || device.calibration().engine_version().empty()) return false;
  const std::string now = history::EpochId(history::EnvironmentOf(device));
  const std::string before = std::exchange(*device.mutable_environment_epoch(), now);
  return !before.empty() && before != now;
}

void DeviceRegistry::SetMaintenance(const std::string& name,
                                    const kbench::v1::Maintenance* maintenance) {
  const auto found = devices_.find(name);
  if (found == devices_.end()) return;
  found->second.clear_maintenance();
  if (maintenance != nullptr) *found->second.mutable_maintenance() = *maintenance;
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
  const std::size_t begin = selector.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  std::string text = selector.substr(begin, selector.find_last_not_of(' ') + 1 - begin);
  for (const auto& [name, device] : devices_) {
    if (device.uuid() == text) return name;
  }
  return text;
}

std::vector<const Device*> DeviceRegistry::Matching(const std::string& selector) const {
  std::vector<const Device*> matching;
  scheduler::Selector parsed;
  std::string error;
  if (!scheduler::ParseSelector(selector, &parsed, &error)) return matching;
  for (const auto& [name, device] : devices_) {
    if (scheduler::Selects(parsed, SelectableOf(device))) matching.push_back(&device);
  }
  return matching;
}

scheduler::WorkerEntry SelectableOf(const Device& device) {
  scheduler::WorkerEntry entry;
  entry.device = device.name();
  entry.device_kind = device.kind();
  entry.uuid = device.uuid();
  entry.model = device.model();
  entry.architecture = device.architecture();
  entry.labels = {device.labels().begin(), device.labels().end()};
  return entry;
}

std::string DeviceKey(const Device& device) {
  if (!device.uuid().empty()) return device.hostname() + "/" + device.uuid();
  const auto cpus = device.settings().find("cpus");
  return device.hostname() + "/" + device.kind() + "/" +
         (cpus != device.settings().end() ? cpus->second : device.name());
}

}  // namespace kbench::server
