// Cases that killed their workers, remembered for an hour: the same specification submitted again
// would kill the next one. Not thread-safe: owned by the coordinator, under its lock; read from the
// store after a restart.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "absl/status/status.h"
#include "kbench/v1/job.pb.h"
#include "server/scheduler/types.h"

namespace kbench::server {

// What a case of a job asks for, as single-flight tells cases apart (history::ContentOf), with the
// implementations and environments: on whatever device. 0: it is not counted with others, because
// the job wants fresh results by name (sharing.h), or has no such case.
std::uint64_t PoisonKey(const kbench::v1::JobSpec& spec, int index);

class PoisonMemory {
 public:
  void Remember(const scheduler::CaseRef& ref, const kbench::v1::JobSpec& spec, double ended_at);
  void Clear() { poisoned_.clear(); }
  // FAILED_PRECONDITION (POISON) when one of its cases is the same as one that was POISON within
  // the hour (PoisonKey). Not asked of a job that wants fresh results by name: somebody has mended
  // the matter.
  absl::Status Check(const kbench::v1::JobSpec& spec, double now);

 private:
  struct Poisoned {
    scheduler::CaseRef ref;
    std::uint64_t key = 0;
    double ended_at = 0;
  };
  std::deque<Poisoned> poisoned_;  // in the order in which they ended
};

}  // namespace kbench::server
