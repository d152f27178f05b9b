// A lab for simulations: devices that run what the scheduler gives them, people who submit, and a
// clock that jumps from event to event. Days pass in a second.
#pragma once

#include <functional>
#include <map>
#include <queue>
#include <string>
#include <vector>

#include "tests/server/scheduler/world.h"

namespace kbench::scheduler {

// One case that ran.
struct Ran {
  std::string job;
  std::string owner;
  PriorityClass priority_class = PriorityClass::kInteractive;
  std::string device;
  double started = 0;
  double took = 0;
};

struct Work {
  std::string owner = "ana";
  PriorityClass priority_class = PriorityClass::kInteractive;
  int cases = 1;
  double estimate = 10;  // of a case
  double seconds = 0;    // that a case really takes; 0: as estimated
  std::string device = {};
  int priority = 500;
  bool hold = false;
};

class Lab {
 public:
  explicit Lab(int devices, Options options = Policy());
  // Leases that last, so that no heartbeats are needed.
  static Options Policy();

  // The name of the job.
  std::string Submit(const Work& work);
  // Something to happen at that time; what it submits comes then.
  void At(double time, std::function<void()> action);
  void RunUntil(double time);
  void RunAll() { RunUntil(1e18); }
  void Restart();

  World& world() { return world_; }
  Scheduler& scheduler() { return world_.scheduler(); }
  double now() const { return world_.now(); }
  const std::vector<Ran>& ran() const { return ran_; }
  double SubmittedAt(const std::string& job) const { return submitted_.at(job); }
  int WaitingCases() { return world_.scheduler().QueuedCases(); }
  std::map<std::string, double> DeviceSeconds(double from, double to) const;  // by owner

 private:
  struct Device {
    WorkerEntry worker;
    bool busy = false;
    AssignTo assign;
  };
  void Deliver();
  void End(std::size_t device);

  World world_;
  std::vector<Device> devices_;
  std::multimap<double, std::function<void()>> events_;
  std::map<std::string, double> seconds_;
  std::map<std::string, double> submitted_;
  std::vector<Ran> ran_;
  int jobs_ = 0;
};

}  // namespace kbench::scheduler
