// Why a job is where it is, as v1.Explanation: the scheduler's rule with names and figures, and
// what keeps its devices. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kbench/v1/queue.pb.h"
#include "server/rpc/queue_snapshot.h"
#include "server/scheduler/fit.h"
#include "server/scheduler/view.h"

namespace kbench::server {

struct ExplainSources {
  double now = 0;
  scheduler::Explained explained;
  std::vector<scheduler::Fit> fits;                         // of every device
  std::function<double(const std::string& owner)> used_by;  // device-seconds, decayed
  QueueSources queue;
  std::function<std::optional<scheduler::CaseRef>(const std::string& device)> running_on;
};

// `job` as the store has it, decorated; it comes back without its cases.
kbench::v1::Explanation ExplainEnded(const kbench::v1::Job& job);
kbench::v1::Explanation ExplainOpen(const kbench::v1::Job& job, const ExplainSources& sources);

}  // namespace kbench::server
