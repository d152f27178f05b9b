#include "server/scheduler/selector.h"

namespace kbench::scheduler {

bool Selects(const std::string& selector, const WorkerEntry& worker) {
  return selector.empty() || selector == worker.device ||
         (!worker.uuid.empty() && selector == worker.uuid) ||
         (selector == "gpu" && worker.device_kind == "cuda") ||
         (selector == "cpu" && worker.device_kind == "cpu");
}

}  // namespace kbench::scheduler
