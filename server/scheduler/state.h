// What the scheduler remembers of jobs and workers beside their entries. Internal to it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "server/scheduler/load_tree.h"
#include "server/scheduler/types.h"
#include "server/scheduler/usage.h"

namespace kbench::scheduler {

struct WorkerState {
  WorkerEntry entry;
  bool connected = false;
  double last_seen = 0;
  // After a failure of the machine nothing is assigned until a heartbeat says how it is.
  bool needs_heartbeat = false;
  std::set<std::int64_t> busy;    // epochs it says it is running
  bool holds_pins = false;        // jobs that began on its device wait for it (as last looked at)
  bool interactive_last = false;  // the case it was given last was of the first class
  std::vector<int> pools;         // that it belongs to
};

// Queued cases of one job that the same workers may run, as they stand in a lane.
struct Part {
  Lane* lane = nullptr;
  int pool = 0;
  Load load;
};

struct JobState {
  JobEntry entry;
  std::set<int> queued;
  int open = 0;               // cases that are not final
  std::string pinned_device;  // where its newest case ran
  Owner* owner = nullptr;
  OwnKey key;
  double turn_left = 0;     // device time until its turn is over and another one is set
  double since = 0;         // since when it waits: its submission, or the end of its newest case
  std::vector<Part> parts;  // none while nothing of it is queued
};

}  // namespace kbench::scheduler
