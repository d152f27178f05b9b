// The queue as clients see it, put together from the scheduler's view, the devices and what the
// workers tell. Pure: what it looks up comes through functions, called before it returns.
#pragma once

#include <functional>
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
};

// `view` was made with the filter; at most `most` of its jobs.
kbench::v1::QueueSnapshot MakeQueueSnapshot(const scheduler::QueueView& view,
                                            const QueueSources& sources,
                                            const scheduler::ViewFilter& filter, int most,
                                            double now);

// Whole seconds, so that a range does not creep with every look. Empty when it is not known.
void SetRange(const scheduler::Window& window, kbench::v1::TimeRange* range);

}  // namespace kbench::server
