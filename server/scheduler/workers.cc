// The workers' sessions: hello, heartbeat, gone.
#include <algorithm>
#include <tuple>
#include <utility>

#include "server/scheduler/scheduler.h"

namespace kbench::scheduler {
namespace {

// Whether both may run the same cases.
bool SameOffer(const WorkerEntry& a, const WorkerEntry& b) {
  const auto key = [](const WorkerEntry& worker) {
    return std::tie(worker.worker_id, worker.device, worker.device_kind, worker.capabilities,
                    worker.uuid, worker.model, worker.architecture, worker.labels);
  };
  return key(a) == key(b);
}

}  // namespace

bool Scheduler::Live(const WorkerState& worker, double now) const {
  return worker.connected && now - worker.last_seen < options_.lease_seconds;
}

bool Scheduler::IsSilent(double now, const std::string& worker_id) const {
  const auto worker = workers_.find(worker_id);
  return worker != workers_.end() && worker->second.connected && !Live(worker->second, now);
}

bool Scheduler::RefuseHello(double now, const WorkerEntry& worker, HelloAnswer& answer) const {
  for (const auto& [id, other] : workers_) {
    if (id == worker.worker_id || !Live(other, now)) continue;
    if (other.entry.device_key == worker.device_key) {
      answer.refusal_reason = "DEVICE_HELD";
      answer.refusal = "device " + worker.device + " is held by the live worker " + id +
                       "; stop that one first, or give this one another --device";
      return true;
    }
    if (other.entry.device == worker.device) {
      answer.refusal_reason = "DEVICE_NAME_TAKEN";
      answer.refusal = "the device name " + worker.device + " is taken by the live worker " + id +
                       "; give this one another --name";
      return true;
    }
  }
  return false;
}

HeldAction Scheduler::JudgeHeld(double now, const WorkerEntry& worker, const Held& held,
                                Effects& effects) {
  Case* item = OpenCase(worker.worker_id, held);
  if (item == nullptr) return HeldAction::kKill;
  if (held.finished && item->finished_since == 0) item->finished_since = now;
  // It may still send the result, but holds nothing up any more.
  if (held.finished && !item->lease && now >= ResultDue(*item)) return HeldAction::kResend;
  // Taken up again only when the device has no other attempt by now.
  const bool other_lease = std::any_of(leases_.begin(), leases_.end(), [&](const auto& lease) {
    return lease.first != held.epoch && FindCase(lease.second.ref)->device == worker.device;
  });
  if (!item->lease && other_lease) return held.finished ? HeldAction::kResend : HeldAction::kKill;
  TakeUp(now, worker, *item, held, effects);
  return held.finished ? HeldAction::kResend : HeldAction::kKeep;
}

void Scheduler::DropUnnamed(double now, const WorkerEntry& worker, bool hello,
                            const std::vector<Held>& held, Effects& effects) {
  std::vector<CaseRef> lost;
  for (const auto& [epoch, running] : leases_) {
    const CaseRef& ref = running.ref;
    const Lease& lease = *FindCase(ref)->lease;
    if (lease.worker_id != worker.worker_id) continue;
    const bool named =
        std::any_of(held.begin(), held.end(), [e = epoch](const Held& h) { return h.epoch == e; });
    // A heartbeat may have been sent before the assignment came.
    if (!named && (hello || lease.confirmed)) lost.push_back(ref);
  }
  for (const CaseRef& ref : lost) {
    Case& item = *FindCase(ref);
    const bool died = item.lease->boot_id != worker.boot_id;
    LoseLease(now, item, died ? Loss::kDeath : Loss::kLost, effects);
    Settle(now, ref.job, effects);
  }
}

HelloAnswer Scheduler::WorkerHello(double now, const WorkerEntry& worker,
                                   const std::vector<Held>& held) {
  HelloAnswer answer;
  if (RefuseHello(now, worker, answer)) return answer;
  answer.accepted = true;
  WorkerState& state = workers_[worker.worker_id];
  const bool runs_the_same = SameOffer(state.entry, worker);
  state.entry = worker;
  if (!runs_the_same) RelineAll(now);
  state.connected = true;
  state.last_seen = now;
  state.needs_heartbeat = false;
  state.busy.clear();
  // After a restore from an older backup workers may hold epochs that the store knows nothing of.
  for (const Held& item : held) next_epoch_ = std::max(next_epoch_, item.epoch + 1);
  for (const Held& item : held) {
    const HeldAction action = JudgeHeld(now, worker, item, answer.effects);
    answer.held.emplace_back(item, action);
    // What it is told to kill it holds until a heartbeat no longer names it.
    if (!item.finished) state.busy.insert(item.epoch);
    const auto job = jobs_.find(item.ref.job);
    if (action == HeldAction::kKeep && job != jobs_.end() && job->second.entry.cancel_requested) {
      answer.effects.cancels.push_back({worker.worker_id, item.ref, item.attempt, item.epoch});
    }
  }
  DropUnnamed(now, worker, true, held, answer.effects);
  Dispatch(now, answer.effects);
  return answer;
}

Effects Scheduler::WorkerHeartbeat(double now, const std::string& worker_id,
                                   const std::string& boot_id, bool ready, bool draining,
                                   const std::vector<Held>& held) {
  Effects effects;
  const auto found = workers_.find(worker_id);
  if (found == workers_.end() || found->second.entry.boot_id != boot_id ||
      !found->second.connected) {
    return effects;
  }
  WorkerState& state = found->second;
  state.entry.ready = ready;
  state.entry.draining = draining;
  state.last_seen = now;
  state.needs_heartbeat = false;
  state.busy.clear();
  for (const Held& item : held) {
    const HeldAction action = JudgeHeld(now, state.entry, item, effects);
    if (item.finished) continue;  // answered when its result comes
    state.busy.insert(item.epoch);
    const auto job = jobs_.find(item.ref.job);
    if (action == HeldAction::kKill || (job != jobs_.end() && job->second.entry.cancel_requested)) {
      effects.cancels.push_back({worker_id, item.ref, item.attempt, item.epoch});
    }
  }
  DropUnnamed(now, state.entry, false, held, effects);
  Dispatch(now, effects);
  return effects;
}

void Scheduler::WorkerOffers(double now, const std::string& worker_id,
                             std::set<std::string> capabilities) {
  const auto found = workers_.find(worker_id);
  if (found == workers_.end() || found->second.entry.capabilities == capabilities) return;
  found->second.entry.capabilities = std::move(capabilities);
  RelineAll(now);
}

Effects Scheduler::WorkerGone(double now, const std::string& worker_id,
                              const std::string& boot_id) {
  Effects effects;
  const auto found = workers_.find(worker_id);
  if (found == workers_.end() || found->second.entry.boot_id != boot_id) return effects;
  found->second.connected = false;
  Dispatch(now, effects);  // what it alone held back (a pinned job) may run elsewhere
  return effects;
}

}  // namespace kbench::scheduler
