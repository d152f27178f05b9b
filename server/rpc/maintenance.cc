#include "server/rpc/maintenance.h"

#include <algorithm>
#include <ctime>

#include "proto/support/clock.h"
#include "proto/support/error.h"

namespace kbench::server {

using kbench::v1::DeviceFault;
using kbench::v1::Maintenance;

namespace {

constexpr char kByKbench[] = "kbench";
constexpr std::size_t kMostReasonBytes = 256;

bool IsReason(const std::string& kind) {
  return kind == "XID" || kind == "ECC" || kind == "WRONG_RESULTS";
}

// Takes it away, and notes that for the store.
void Finish(const std::string& device, bool automatic, std::optional<Maintenance>& maintenance,
            std::vector<store::MaintenanceRecord>& ended) {
  if (!maintenance) return;
  ended.push_back({device, automatic, *maintenance, true});
  maintenance.reset();
}

}  // namespace

std::vector<const Maintenance*> MaintenanceBook::Entry::Standing() const {
  std::vector<const Maintenance*> standing;
  for (const auto* one : {&asked, &automatic, &drain}) {
    if (*one) standing.push_back(&**one);
  }
  return standing;
}

void MaintenanceBook::Restore(const store::StoredDevices& stored) {
  entries_.clear();
  for (const auto& record : stored.maintenance) {
    Entry& entry = entries_[record.device];
    if (record.automatic) {
      entry.automatic = record.maintenance;
    } else {
      (record.maintenance.kind() == "drain" ? entry.drain : entry.asked) = record.maintenance;
    }
  }
  for (const auto& fault : stored.faults) {
    entries_[fault.device].boot_id = fault.boot_id;
    entries_[fault.device].fault = fault.number;
  }
}

store::MaintenanceRecord MaintenanceBook::Ask(const std::string& device, const std::string& kind,
                                              const std::string& reason, const std::string& by,
                                              std::int64_t now_micros) {
  Entry& entry = entries_[device];
  std::optional<Maintenance>& asked = kind == "drain" ? entry.drain : entry.asked;
  if (!asked) {
    asked.emplace();
    asked->set_kind(kind);
    *asked->mutable_since() = ToTimestamp(now_micros);
  }
  asked->set_reason(reason);
  asked->set_by(by);
  return {device, false, *asked, false};
}

std::vector<store::MaintenanceRecord> MaintenanceBook::End(const std::string& device,
                                                           const std::string& kind) {
  std::vector<store::MaintenanceRecord> ended;
  const auto found = entries_.find(device);
  if (found == entries_.end()) return ended;
  Entry& entry = found->second;
  const bool only_drain = kind == "drain" || (kind.empty() && entry.drain);
  if (kind != "quarantine") Finish(device, false, entry.drain, ended);
  if (only_drain) return ended;
  Finish(device, false, entry.asked, ended);
  Finish(device, true, entry.automatic, ended);
  return ended;
}

MaintenanceBook::Change MaintenanceBook::OnFaults(
    const std::string& device, const std::string& boot_id,
    const google::protobuf::RepeatedPtrField<DeviceFault>& faults, std::int64_t now_micros) {
  Change change;
  if (faults.empty()) return change;
  Entry& entry = entries_[device];
  std::int64_t newest = entry.boot_id == boot_id ? entry.fault : 0;
  const std::int64_t handled = newest;
  for (const DeviceFault& fault : faults) {
    if (fault.number() <= handled || !IsReason(fault.kind())) continue;
    newest = std::max(newest, fault.number());
    std::optional<Maintenance>& automatic = entry.automatic;
    if (!automatic) {
      automatic.emplace();
      automatic->set_kind("quarantine");
      automatic->set_by(kByKbench);
      *automatic->mutable_since() = ToTimestamp(now_micros);
    }
    automatic->set_reason(fault.kind() + ": " + CutText(fault.message(), kMostReasonBytes));
    automatic->set_good_canaries(0);
    change.quarantined.push_back(fault.kind());
  }
  if (newest == handled) return change;
  entry.boot_id = boot_id;
  entry.fault = newest;
  change.stored.faults.push_back({device, boot_id, newest});
  change.stored.maintenance.push_back({device, true, *entry.automatic, false});
  return change;
}

MaintenanceBook::Change MaintenanceBook::OnCanary(const std::string& device,
                                                  const std::string& boot_id,
                                                  const kbench::v1::CanaryState& canary) {
  Change change;
  Entry& entry = entries_[device];
  const bool known = entry.canary_boot == boot_id;
  const bool fresh = known && canary.count() > entry.canary_count;
  entry.canary_boot = boot_id;
  entry.canary_count = canary.count();
  // The first one heard of a boot may have been flown before the fault.
  if (!fresh || !entry.automatic) return change;
  entry.automatic->set_good_canaries(canary.drifting() ? 0 : entry.automatic->good_canaries() + 1);
  change.released = entry.automatic->good_canaries() >= kGoodCanaries;
  change.stored.maintenance.push_back({device, true, *entry.automatic, change.released});
  if (change.released) entry.automatic.reset();
  return change;
}

const Maintenance* MaintenanceBook::Of(const std::string& device) const {
  const auto found = entries_.find(device);
  if (found == entries_.end()) return nullptr;
  const std::vector<const Maintenance*> standing = found->second.Standing();
  return standing.empty() ? nullptr : standing.front();
}

std::set<std::string> MaintenanceBook::KindsOf(const std::string& device) const {
  std::set<std::string> kinds;
  const auto found = entries_.find(device);
  if (found == entries_.end()) return kinds;
  for (const Maintenance* one : found->second.Standing()) kinds.insert(one->kind());
  return kinds;
}

std::string MaintenanceBook::TextOf(const std::string& device) const {
  std::string text;
  const auto found = entries_.find(device);
  if (found == entries_.end()) return text;
  for (const Maintenance* one : found->second.Standing()) {
    if (!text.empty()) text += one->kind() == "drain" ? "; drained too: " : "; and: ";
    text += one->reason() + " (" + MaintenanceText(*one) + ")";
  }
  return text;
}

std::string MaintenanceBook::Blocked(const std::string& device) const {
  const Maintenance* maintenance = Of(device);
  if (maintenance == nullptr) return "";
  return maintenance->kind() == "drain" ? "DRAINING" : "QUARANTINED";
}

std::string MaintenanceBook::FaultOf(const std::string& device) const {
  const auto found = entries_.find(device);
  if (found == entries_.end() || found->second.asked || !found->second.automatic) return "";
  const std::string& reason = found->second.automatic->reason();
  return reason.substr(0, reason.find(':'));
}

std::string ShownState(const kbench::v1::Device& device, bool runs) {
  const std::string& state = device.state();
  if (!device.has_maintenance() || state == "OFFLINE" || state == "WEDGED" || state == "FAILED") {
    return state;
  }
  if (device.maintenance().kind() != "drain") return "QUARANTINED";
  return runs || state == "BUSY" || state == "HELD" ? "DRAINING" : "DRAINED";
}

std::string MaintenanceText(const Maintenance& maintenance) {
  const std::time_t seconds = maintenance.since().seconds();
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[40] = {};
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &utc);
  return std::string("since ") + text + (maintenance.by().empty() ? "" : " by " + maintenance.by());
}

}  // namespace kbench::server
