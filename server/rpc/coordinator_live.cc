// What /metrics shows of this moment: one snapshot, taken under the lock and without I/O.
#include <set>
#include <utility>

#include "server/rpc/coordinator.h"
#include "server/rpc/queue_words.h"

namespace kbench::server {
namespace {

constexpr int kMostNext = 5;  // waiting jobs that are shown one by one

}  // namespace

metrics::LiveState Coordinator::Live() {
  metrics::LiveState live;
  live.watchers = hub_.size() + queue_hub_.size();
  MutexLock lock(mutex_);
  LookAtQueue(live);
  LookAtDevices(live);
  return live;
}

void Coordinator::LookAtQueue(metrics::LiveState& live) {
  using scheduler::PriorityClass;
  for (const PriorityClass one :
       {PriorityClass::kInteractive, PriorityClass::kCi, PriorityClass::kBatch}) {
    live.waiting.emplace_back(scheduler::ClassName(one), scheduler_.backlog().Of(one));
  }
  live.running_jobs = scheduler_.RunningJobs();
  live.queued_jobs = scheduler_.Jobs() - live.running_jobs;
  live.running_cases = scheduler_.RunningCases();
  for (const scheduler::WaitingJob& waiting : scheduler_.View(Now(), kMostNext).waiting) {
    const auto active = active_.find(waiting.job);
    if (active == active_.end()) continue;
    live.next.push_back({waiting.owner, scheduler::ClassName(waiting.priority_class),
                         CaseText(*active->second.spec, waiting.next_case),
                         scheduler_.FindJob(waiting.job)->device});
  }
}

void Coordinator::LookAtDevices(metrics::LiveState& live) {
  live.devices = DevicesNow();
  for (const kbench::v1::Device& device : live.devices) {
    std::set<std::string> blocks = maintenance_.KindsOf(device.name());
    const auto running = scheduler_.RunningOn(device.name());
    const auto active = running ? active_.find(running->job) : active_.end();
    if (active != active_.end()) {
      const scheduler::JobEntry& job = *scheduler_.FindJob(running->job);
      const scheduler::Case& item = job.cases[static_cast<std::size_t>(running->index)];
      live.running.push_back({device.name(), job.owner, scheduler::ClassName(job.priority_class),
                              CaseText(*active->second.spec, running->index), item.started_at});
      // Also while its worker is away: what has begun goes on.
      if (job.hold) blocks.insert("hold");
    }
    if (blocks.count("quarantine") > 0) {
      const std::string fault = maintenance_.FaultOf(device.name());
      live.quarantines[device.name()] = fault.empty() ? "ASKED" : fault;
    }
    if (!blocks.empty()) live.blocks[device.name()] = std::move(blocks);
  }
}

std::set<std::string> Coordinator::DevicesSetAside() {
  std::set<std::string> names;
  MutexLock lock(mutex_);
  metrics::LiveState live;
  LookAtDevices(live);
  for (const kbench::v1::Device& device : live.devices) {
    const std::string& state = device.state();
    const auto blocks = live.blocks.find(device.name());
    const bool asked = blocks != live.blocks.end() &&
                       (blocks->second.count("drain") > 0 || blocks->second.count("hold") > 0);
    if (asked || state == "DRAINING" || state == "DRAINED" || state == "HELD") {
      names.insert(device.name());
    }
  }
  return names;
}

std::vector<std::string> Coordinator::DevicesFor(const std::string& selector,
                                                 const std::string& owner) {
  std::vector<std::string> names;
  MutexLock lock(mutex_);
  std::string text = devices_.Resolve(selector);
  if (text.empty()) text = devices_.Resolve(DefaultOf(owner).first);
  bool gpu = false;
  const auto matching = devices_.Matching(text);
  for (const kbench::v1::Device* device : matching) gpu = gpu || device->kind() == "cuda";
  for (const kbench::v1::Device* device : matching) {
    if (text.empty() && gpu && device->kind() == "cpu") continue;
    names.push_back(device->name());
  }
  return names;
}

}  // namespace kbench::server
