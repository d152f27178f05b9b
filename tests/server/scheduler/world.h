// A durable world around a scheduler, for its tests: applies every transition to a mirror as the
// store would, remembers what was sent, and can restart the scheduler from the mirror alone.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "server/scheduler/scheduler.h"

namespace kbench::scheduler {

class World {
 public:
  explicit World(Options options = {}) : options_(options) { Reset(); }

  Scheduler& scheduler() { return *scheduler_; }
  double now() const { return now_; }
  void Advance(double seconds) { now_ += seconds; }

  // What the effects of a step would do to the disk and the wire.
  void Apply(const Effects& effects);
  void Restart();

  void Add(const std::string& name, int cases, const std::string& device = "", int priority = 500,
           double queue_deadline = 0);
  void AddNeeding(const std::string& name, const std::vector<std::string>& needs,
                  const std::string& device);
  void AddHold(const std::string& name, const std::string& device);
  WorkerEntry Worker(const std::string& id, const std::string& boot, const std::string& device,
                     const std::string& kind) const;
  HelloAnswer Hello(const WorkerEntry& worker, const std::vector<Held>& held = {});
  void Beat(const WorkerEntry& worker, const std::vector<Held>& held = {}, bool ready = true,
            bool draining = false);
  bool Result(const std::string& worker_id, const Held& held,
              AttemptEnd::Kind kind = AttemptEnd::Kind::kResult);
  void Tick() { Apply(scheduler_->Tick(now_)); }
  // Lets the time pass in small steps, as the coordinator's timer would.
  void Pass(double seconds);

  const JobEntry& Job(const std::string& name) const { return durable_.at(name); }
  const Case& CaseOf(const std::string& name, int index) const {
    return durable_.at(name).cases.at(static_cast<std::size_t>(index));
  }
  const std::map<std::string, JobEntry>& durable() const { return durable_; }
  const std::set<CaseRef>& accepted() const { return accepted_; }

  // Sent and not yet taken, in order.
  std::vector<AssignTo> TakeAssigns();
  std::vector<CancelOn> TakeCancels();

  // Empty when the scheduler's state equals the mirror and all invariants hold.
  std::string Check() const;

  // A whole entry; its `order` is set here where it has none.
  void AddEntry(JobEntry job);
  const std::map<std::string, OwnerUsage>& usages() const { return usages_; }
  // The case ends with the results of another: no attempt's result is accepted for it.
  void Reused(const CaseRef& ref) { reused_.insert(ref); }

 private:
  void Reset() { scheduler_ = std::make_unique<Scheduler>(options_); }

  Options options_;
  std::unique_ptr<Scheduler> scheduler_;
  double now_ = 1000;
  std::int64_t next_order_ = 1;
  std::int64_t next_epoch_ = 1;
  std::map<std::string, JobEntry> durable_;
  std::map<std::string, OwnerUsage> usages_;
  std::vector<AssignTo> assigns_;
  std::vector<CancelOn> cancels_;
  std::set<std::int64_t> epochs_;
  std::set<CaseRef> accepted_;
  std::set<CaseRef> reused_;
  std::string fault_;
};

inline Held HeldOf(const AssignTo& assign, bool finished = false) {
  return {assign.ref, assign.attempt, assign.epoch, finished};
}

}  // namespace kbench::scheduler
