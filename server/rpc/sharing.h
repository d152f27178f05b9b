// The waiting cases that would take the results of another job's run, found by what they would find
// out. Pure bookkeeping: owned by the coordinator, under its lock; made anew from the jobs after a
// restart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kbench/v1/job.pb.h"
#include "server/scheduler/types.h"

namespace kbench::server {

// A job that asked for either.
bool TakesOthersResults(const kbench::v1::JobSpec& spec);
// How old a result it takes, seconds; 0: none.
double MostResultAge(const kbench::v1::JobSpec& spec);
// It said that nothing is to be reused, rather than nothing about it.
bool WantsFresh(const kbench::v1::JobSpec& spec);

class Sharing {
 public:
  // Those of its cases that have not ended, where the job takes results of others.
  void Add(const scheduler::JobEntry& job, const kbench::v1::JobSpec& spec);
  void Remove(const scheduler::CaseRef& ref, const kbench::v1::JobSpec& spec);
  void Clear() { waiting_.clear(); }

  // Cases of other jobs that would find out the same as this one of `job`, the first come first.
  std::vector<scheduler::CaseRef> Waiting(const kbench::v1::JobSpec& spec, const std::string& job,
                                          int case_index) const;
  std::size_t size() const;

 private:
  struct Entry {
    std::int64_t order = 0;  // of the job
    scheduler::CaseRef ref;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };
  std::map<std::uint64_t, std::set<Entry>> waiting_;  // by history::ContentOf
};

}  // namespace kbench::server
