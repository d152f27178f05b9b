// Which devices a job may run on: the text of JobSpec.device. Pure.
#pragma once

#include <string>

#include "server/scheduler/types.h"

namespace kbench::scheduler {

// Whether the device is one that the selector names: by name, by UUID, by kind ("gpu", "cpu"). The
// empty selector names every device; that a GPU goes before the CPU then is the scheduler's choice.
bool Selects(const std::string& selector, const WorkerEntry& worker);

}  // namespace kbench::scheduler
