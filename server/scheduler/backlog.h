// What waits, by class: counted as it comes and goes, so that telling it costs nothing. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <utility>

#include "server/scheduler/types.h"

namespace kbench::scheduler {

struct Waiting {
  std::int64_t cases = 0;
  std::int64_t jobs = 0;        // with cases that wait
  double oldest_submitted = 0;  // of those jobs, seconds on the caller's clock; 0: none waits
};

inline constexpr std::size_t kClasses = 3;

class Backlog {
 public:
  // `first`: no case of the job waited before.
  void Add(const JobEntry& job, bool first);
  // `last`: none of the job waits any more.
  void Remove(const JobEntry& job, bool last);

  Waiting Of(PriorityClass priority_class) const;
  std::int64_t cases() const { return cases_; }
  std::int64_t jobs() const;

 private:
  struct Class {
    std::int64_t cases = 0;
    std::set<std::pair<double, const JobEntry*>> jobs;  // by submission
  };
  static std::size_t Index(PriorityClass priority_class) {
    return static_cast<std::size_t>(priority_class);
  }

  std::array<Class, kClasses> classes_;
  std::int64_t cases_ = 0;
};

}  // namespace kbench::scheduler
