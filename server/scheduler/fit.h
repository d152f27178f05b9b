// Which devices a job may run on, one by one, for people: Scheduler::Fits. Plain values.
#pragma once

#include <string>

namespace kbench::scheduler {

struct Fit {
  std::string device;
  bool named = false;  // by the job's selector
  // Why the device takes no case of the job now, apart from being taken: NOT_SELECTED, GPU_FIRST
  // (the selector is empty and another device is a GPU), DEVICE_LACKS_KERNEL, OTHER_DEVICE (the job
  // stays where it began), OTHER_MODEL (or at least on that model), DEVICE_OFFLINE,
  // DEVICE_NOT_READY, WORKER_STOPPING, or what blocks the device (WorkerEntry::blocked). Empty: it
  // would.
  std::string reason;
};

}  // namespace kbench::scheduler
