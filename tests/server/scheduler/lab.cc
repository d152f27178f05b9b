#include "tests/server/scheduler/lab.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace kbench::scheduler {

Options Lab::Policy() {
  Options options;
  options.lease_seconds = 1e12;
  return options;
}

Lab::Lab(int devices, Options options) : world_(options) {
  for (int i = 0; i < devices; ++i) {
    const std::string id = std::to_string(i);
    Device& device = devices_.emplace_back();
    device.worker = world_.Worker("w" + id, "boot1", "gpu" + id, "cuda");
    world_.Hello(device.worker);
  }
}

std::string Lab::Submit(const Work& work) {
  JobEntry job;
  job.name = "jobs/" + std::to_string(jobs_++);
  job.owner = work.owner;
  job.priority_class = work.priority_class;
  job.priority = work.priority;
  job.device = work.device;
  job.hold = work.hold;
  for (int i = 0; i < work.cases; ++i) {
    Case item;
    item.ref = {job.name, i};
    item.estimate = work.estimate;
    item.estimate_low = work.estimate * 0.8;
    item.estimate_high = work.estimate * 1.2;
    job.cases.push_back(item);
  }
  const std::string name = job.name;
  seconds_[name] = work.seconds > 0 ? work.seconds : work.estimate;
  submitted_[name] = now();
  world_.AddEntry(std::move(job));
  Deliver();
  return name;
}

void Lab::At(double time, std::function<void()> action) {
  events_.emplace(std::max(time, now()), std::move(action));
}

void Lab::Deliver() {
  for (const AssignTo& assign : world_.TakeAssigns()) {
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      Device& device = devices_[i];
      if (device.worker.worker_id != assign.worker_id) continue;
      EXPECT_FALSE(device.busy) << "a case was interrupted";
      device.busy = true;
      device.assign = assign;
      const JobEntry& job = world_.Job(assign.ref.job);
      const double took = seconds_.at(assign.ref.job);
      ran_.push_back({job.name, job.owner, job.priority_class, device.worker.device, now(), took});
      events_.emplace(now() + took, [this, i] { End(i); });
    }
  }
}

void Lab::End(std::size_t index) {
  Device& device = devices_[index];
  device.busy = false;
  EXPECT_TRUE(world_.Result(device.worker.worker_id, HeldOf(device.assign)));
  Deliver();
}

void Lab::RunUntil(double time) {
  while (!events_.empty() && events_.begin()->first <= time) {
    world_.Advance(events_.begin()->first - now());
    const std::function<void()> action = std::move(events_.begin()->second);
    events_.erase(events_.begin());
    action();
  }
  if (time < 1e18 && time > now()) world_.Advance(time - now());
}

void Lab::Restart() {
  world_.Restart();
  for (Device& device : devices_) {
    std::vector<Held> held;
    if (device.busy) held.push_back(HeldOf(device.assign));
    world_.Hello(device.worker, held);
  }
  Deliver();
}

std::map<std::string, double> Lab::DeviceSeconds(double from, double to) const {
  std::map<std::string, double> seconds;
  for (const Ran& one : ran_) {
    const double shared = std::min(to, one.started + one.took) - std::max(from, one.started);
    if (shared > 0) seconds[one.owner] += shared;
  }
  return seconds;
}

}  // namespace kbench::scheduler
