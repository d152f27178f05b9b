// Devices beside their sessions: drains and quarantines, defaults, and what is kept of devices over
// a restart.
#include <future>
#include <utility>

#include "fmt/format.h"
#include "proto/support/error.h"
#include "server/rpc/coordinator.h"
#include "server/rpc/selection.h"
#include "server/rpc/validate.h"
#include "server/scheduler/selector.h"
#include "spdlog/spdlog.h"

namespace kbench::server {

using kbench::v1::Device;

namespace {

constexpr std::size_t kMostReasonBytes = 256;
// A device nobody has heard of for so long is forgotten at a start; one that is there is written
// again now and then, so that it does not look so.
constexpr double kForgetSeconds = 30.0 * 24 * 3600;
constexpr double kRewriteSeconds = 24.0 * 3600;

absl::Status CheckReason(const std::string& reason) {
  const bool blank = reason.find_first_not_of(" \t") == std::string::npos;
  if (blank) {
    return FieldError("reason", "NO_REASON",
                      "a reason is missing: everybody who waits will read it; give --reason TEXT");
  }
  if (reason.size() > kMostReasonBytes) {
    return FieldError("reason", "TOO_LONG",
                      fmt::format("the reason has {} bytes, at most {} are allowed", reason.size(),
                                  kMostReasonBytes));
  }
  for (const char c : reason) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      return FieldError("reason", "CONTROL_CHARACTER", "a reason has no control characters");
    }
  }
  return absl::OkStatus();
}

// A selector is a field of its own here, and no part of a job's specification.
absl::Status AboutDevice(const absl::Status& status) {
  ErrorDetails details = DetailsOf(status);
  for (FieldViolation& violation : details.violations) violation.field = "device";
  return MakeError(status.code(), MessageOf(status), details);
}

// "gpu0 is ...".
std::string SetAsideText(const std::string& kind) {
  return kind == "drain" ? "being drained" : "in quarantine";
}

// What is the same after a restart. When a worker that is there was last heard is not: it will be
// heard again, or nobody knows for how long it has been silent.
Device Lasting(Device device) {
  if (device.state() != "OFFLINE") device.clear_last_heartbeat_time();
  device.clear_telemetry();
  device.clear_state();
  device.clear_state_message();
  device.clear_state_reason();
  device.clear_current_job();
  device.clear_foreign();
  device.clear_kept_bytes();
  device.clear_totals();
  device.clear_maintenance();
  device.clear_canary();
  return device;
}

}  // namespace

absl::StatusOr<std::string> Coordinator::KnownDevice(const std::string& typed) {
  const std::string word = typed.rfind("devices/", 0) == 0 ? typed.substr(8) : typed;
  const std::string name = devices_.Resolve(word);
  if (devices_.Find(name) != nullptr) return name;
  const std::vector<std::string> known = devices_.Names();
  const std::string names = fmt::format("{}", fmt::join(known, ", "));
  const std::string nearest = fmt::format("{}", fmt::join(NearestWords(word, known), ", "));
  return MakeError(
      absl::StatusCode::kNotFound,
      known.empty() ? "no device is known: no worker has connected yet"
                    : "there is no device " + word + "; known devices: " + names,
      {.reason = "UNKNOWN_DEVICE", .metadata = {{"devices", names}, {"nearest", nearest}}});
}

std::string Coordinator::BlockedBy(const std::string& device) {
  std::string blocked = maintenance_.Blocked(device);
  const Device* known = devices_.Find(device);
  if (blocked.empty() && known != nullptr && known->state_reason() == "DRIVER_MISMATCH") {
    blocked = "DRIVER_MISMATCH";
  }
  return blocked;
}

absl::StatusOr<Device> Coordinator::ChangeMaintenance(
    const std::string& typed,
    const std::function<std::vector<store::MaintenanceRecord>(const std::string&)>& change) {
  std::promise<absl::Status> promise;
  std::string name;
  {
    MutexLock lock(mutex_);
    KB_RETURN_IF_ERROR(CheckServing());
    KB_ASSIGN_OR_RETURN(name, KnownDevice(typed));
    Step step;
    step.batch.devices.maintenance = change(name);
    step.done = [&promise](const absl::Status& status) { promise.set_value(status); };
    AddEffects(FollowMaintenance(name), nullptr, step);
    Commit(std::move(step));
  }
  KB_RETURN_IF_ERROR(promise.get_future().get());
  for (Device& device : Devices()) {
    if (device.name() == name) return std::move(device);
  }
  return absl::InternalError("the device " + name + " has vanished");
}

absl::StatusOr<Device> Coordinator::BlockDevice(const std::string& device, const std::string& kind,
                                                const std::string& reason, const std::string& by) {
  KB_RETURN_IF_ERROR(CheckReason(reason));
  return ChangeMaintenance(device, [&](const std::string& name) {
    spdlog::info("{} of {}: {} ({})", kind, name, reason, by);
    if (kind == "quarantine") metrics_.DeviceQuarantined(name, "ASKED");
    const std::int64_t now = clock_.WallMicros();
    return std::vector{maintenance_.Ask(name, kind, reason, by, now)};
  });
}

absl::StatusOr<Device> Coordinator::ResumeDevice(const std::string& device, const std::string& kind,
                                                 const std::string& by) {
  if (!kind.empty() && kind != "drain" && kind != "quarantine" && kind != "all") {
    return FieldError("kind", "UNKNOWN_KIND",
                      "'" + kind + "' cannot be ended; there are drain, quarantine and all");
  }
  return ChangeMaintenance(device, [&](const std::string& name) {
    auto ended = maintenance_.End(name, kind);
    for (const auto& one : ended)
      spdlog::info("{} of {} ends ({})", one.maintenance.kind(), name, by);
    return ended;
  });
}

absl::Status Coordinator::SetDefaultDevice(const std::string& device, const std::string& owner) {
  std::promise<absl::Status> promise;
  {
    MutexLock lock(mutex_);
    KB_RETURN_IF_ERROR(CheckServing());
    std::string selector;
    if (!device.empty()) {
      // As a submission would find it when it names nothing.
      const auto resolved = ResolveDevice("", {&devices_, false, device});
      if (!resolved.ok()) return AboutDevice(resolved.status());
      selector = *resolved;
    }
    Step step;
    step.batch.devices.defaults.push_back({owner, selector});
    step.done = [&promise](const absl::Status& status) { promise.set_value(status); };
    if (selector.empty()) {
      defaults_.erase(owner);
    } else {
      defaults_[owner] = selector;
    }
    Commit(std::move(step));
  }
  return promise.get_future().get();
}

std::pair<std::string, bool> Coordinator::DefaultDeviceOf(const std::string& owner) {
  MutexLock lock(mutex_);
  return DefaultOf(owner);
}

std::pair<std::string, bool> Coordinator::DefaultOf(const std::string& owner) {
  for (const std::string& whose : {owner, std::string()}) {
    const auto found = defaults_.find(whose);
    if (found != defaults_.end()) return {found->second, !whose.empty()};
  }
  return {"", false};
}

DeviceContext Coordinator::DeviceContextFor(const std::string& owner) {
  return {&devices_, Now() - started_at_ < options_.known_again_seconds, DefaultOf(owner).first};
}

std::vector<Device> Coordinator::Devices() {
  MutexLock lock(mutex_);
  return DevicesNow();
}

std::vector<Device> Coordinator::DevicesNow() {
  std::vector<Device> devices;
  for (const Device* known : devices_.All()) {
    Device& device = devices.emplace_back(*known);
    const auto running = scheduler_.RunningOn(device.name());
    if (running) device.set_current_job(running->job);
    const std::string state = ShownState(device, running.has_value());
    if (state == device.state()) {
      // It is away or broken besides, and still not taken into use when it comes back.
      if (device.has_maintenance() && state != "DRAINING" && state != "DRAINED") {
        const std::string own = device.state_message();
        device.set_state_message(fmt::format("{}{}{}: {}", own, own.empty() ? "" : "; ",
                                             SetAsideText(device.maintenance().kind()),
                                             maintenance_.TextOf(device.name())));
      }
      continue;
    }
    device.set_state(state);
    device.set_state_reason(maintenance_.FaultOf(device.name()));
    device.set_state_message(maintenance_.TextOf(device.name()));
  }
  return devices;
}

scheduler::Effects Coordinator::FollowMaintenance(const std::string& device) {
  devices_.SetMaintenance(device, maintenance_.Of(device));
  return scheduler_.BlockDevice(Now(), device, BlockedBy(device));
}

void Coordinator::LookForSilence() {
  for (const auto& [link, session] : sessions_) {
    const Device* device = devices_.OfWorker(session.worker_id);
    const bool told = device == nullptr || device->state_reason() == "WORKER_SILENT";
    if (told || !scheduler_.IsSilent(Now(), session.worker_id)) continue;
    spdlog::warn("worker {} is connected and has said nothing for a lease: {} is OFFLINE",
                 session.worker_id, device->name());
    devices_.WorkerSilent(session.worker_id);
  }
}

std::string Coordinator::BlockedText(const std::string& job, const std::string& reason) {
  const scheduler::JobEntry* entry = scheduler_.FindJob(job);
  if (entry == nullptr) return "";
  for (const Device* device : devices_.Matching(entry->device)) {
    if (BlockedBy(device->name()) != reason) continue;
    if (maintenance_.Of(device->name()) == nullptr) {
      if (device->state_message().empty()) continue;
      return device->name() + ": " + device->state_message();
    }
    return fmt::format("{} is {}: {}; the job runs when it is resumed", device->name(),
                       SetAsideText(reason == "DRAINING" ? "drain" : "quarantine"),
                       maintenance_.TextOf(device->name()));
  }
  return "";
}

void Coordinator::RestoreDevices(const store::StoredDevices& stored) {
  maintenance_.Restore(stored);
  defaults_.clear();
  for (const auto& chosen : stored.defaults) defaults_[chosen.owner] = chosen.device;
  Step step;
  for (const auto& known : stored.known) {
    const std::string& name = known.device.name();
    if (Now() - known.seen_at > kForgetSeconds) {
      step.batch.devices.forgotten.push_back(name);
      continue;
    }
    devices_.Restore(known.device);
    devices_.SetMaintenance(name, maintenance_.Of(name));
    if (!known.device.environment_epoch().empty()) metrics_.DeviceEnvironment(name, false);
    scheduler::WorkerEntry worker = SelectableOf(*devices_.Find(name));
    worker.worker_id = known.device.worker();
    worker.device_key = DeviceKey(known.device);
    worker.capabilities = CapabilitiesOf(known.device);
    worker.blocked = BlockedBy(name);
    scheduler_.KnowWorker(Now(), std::move(worker));
    written_at_[name] = known.seen_at;
  }
  if (!step.batch.devices.empty()) Commit(std::move(step));
}

// Counted at once, not when it is durable: what is counted is what the registry takes for new.
void Coordinator::FollowEnvironment(const std::string& device) {
  const bool changed = devices_.FollowEnvironment(device);
  const std::string& epoch = devices_.Find(device)->environment_epoch();
  if (changed) spdlog::warn("{} is in another environment now: epoch {}", device, epoch);
  if (!epoch.empty()) metrics_.DeviceEnvironment(device, changed);
}

void Coordinator::KeepDevice(const Device& device, Step& step) {
  written_at_[device.name()] = Now();
  step.batch.devices.known.push_back({Lasting(device), Now()});
}

void Coordinator::OnDeviceNews(const Session& session, const kbench::v1::Heartbeat& heartbeat) {
  const Device* device = devices_.OfWorker(session.worker_id);
  if (device == nullptr) return;
  const std::string name = device->name();
  if (heartbeat.has_calibration()) FollowEnvironment(name);
  Step step;
  if (heartbeat.has_offer() || heartbeat.has_calibration() ||
      Now() - written_at_[name] > kRewriteSeconds) {
    KeepDevice(*device, step);
  }
  // The canary first: it was flown before the fault of the same heartbeat was told.
  if (heartbeat.has_canary()) {
    auto change = maintenance_.OnCanary(name, session.boot_id, heartbeat.canary());
    if (change.released) spdlog::info("{} leaves its quarantine: its canaries are good", name);
    for (auto& record : change.stored.maintenance) {
      step.batch.devices.maintenance.push_back(std::move(record));
    }
  }
  auto change =
      maintenance_.OnFaults(name, session.boot_id, heartbeat.faults(), clock_.WallMicros());
  for (const std::string& kind : change.quarantined) {
    spdlog::warn("{} goes into quarantine: {}", name,
                 change.stored.maintenance[0].maintenance.reason());
    metrics_.DeviceQuarantined(name, kind);
  }
  for (auto& record : change.stored.maintenance) {
    step.batch.devices.maintenance.push_back(std::move(record));
  }
  step.batch.devices.faults = std::move(change.stored.faults);
  scheduler::Effects effects = FollowMaintenance(name);
  if (step.batch.devices.empty() && effects.empty()) return;
  AddEffects(std::move(effects), nullptr, step);
  Commit(std::move(step));
}

}  // namespace kbench::server
