// The queue as clients see it, put together from the scheduler's view, the devices and what the
// workers tell. Pure: what it looks up comes through functions, called before it returns.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "kbench/v1/queue.pb.h"
#include "server/rpc/device_registry.h"
#include "server/rpc/running_progress.h"
#include "server/scheduler/types.h"
#include "server/scheduler/view.h"

namespace kbench::server {

struct JobFacts {
  const scheduler::JobEntry* entry = nullptr;  // null: no such job any more
  const kbench::v1::JobSpec* spec = nullptr;
};

struct QueueSources {
  const DeviceRegistry* devices = nullptr;
  std::function<JobFacts(const std::string& job)> job;
  std::function<const RunningProgress*(const scheduler::CaseRef& ref)> progress;
  // Whether the job may ever run on the device.
  std::function<bool(const std::string& job, const std::string& device)> may_run;
};

// What of it is wanted.
struct QueueFilter {
  int most = 50;
  std::set<std::string> devices;  // names; empty: all
  std::string owner;              // empty: all

  bool all() const { return devices.empty() && owner.empty(); }
};

bool Wanted(const QueueFilter& filter, const QueueSources& sources, const scheduler::JobEntry& job);

// `view` holds the jobs that are wanted, or more where the filter lets all pass.
kbench::v1::QueueSnapshot MakeQueueSnapshot(const scheduler::QueueView& view,
                                            const QueueSources& sources, const QueueFilter& filter,
                                            double now);

// Whole seconds, so that a range does not creep with every look. Empty when it is not known.
void SetRange(const scheduler::Window& window, kbench::v1::TimeRange* range);

}  // namespace kbench::server
