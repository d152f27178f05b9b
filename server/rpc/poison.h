// Cases that killed their workers, remembered for an hour: the same specification submitted again
// would kill the next one. Not thread-safe: owned by the coordinator, under its lock; read from the
// store after a restart.
#pragma once

#include <deque>
#include <string>

#include "absl/status/status.h"
#include "kbench/v1/job.pb.h"
#include "server/scheduler/types.h"

namespace kbench::server {

class PoisonMemory {
 public:
  static constexpr double kSeconds = 3600;

  void Remember(const scheduler::CaseRef& ref, const kbench::v1::JobSpec& spec, double ended_at);
  void Clear() { poisoned_.clear(); }
  // FAILED_PRECONDITION (POISON) when one of its cases is the same as one that was POISON within
  // the hour: kernel, dtype, shape, mode, policy, implementations, environments and device. Not
  // asked of a job that wants fresh results by name (sharing.h): somebody has mended the matter.
  absl::Status Check(const kbench::v1::JobSpec& spec, double now);

 private:
  struct Poisoned {
    scheduler::CaseRef ref;
    std::string key;
    double ended_at = 0;
  };
  std::deque<Poisoned> poisoned_;  // in the order in which they ended
};

}  // namespace kbench::server
