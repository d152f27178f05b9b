#include "server/scheduler/backlog.h"

namespace kbench::scheduler {

void Backlog::Add(const JobEntry& job, bool first) {
  Class& of_class = classes_[Index(job.priority_class)];
  ++of_class.cases;
  ++cases_;
  if (first) of_class.jobs.insert({job.submitted_at, &job});
}

void Backlog::Remove(const JobEntry& job, bool last) {
  Class& of_class = classes_[Index(job.priority_class)];
  --of_class.cases;
  --cases_;
  if (last) of_class.jobs.erase({job.submitted_at, &job});
}

Waiting Backlog::Of(PriorityClass priority_class) const {
  const Class& of_class = classes_[Index(priority_class)];
  return {of_class.cases, static_cast<std::int64_t>(of_class.jobs.size()),
          of_class.jobs.empty() ? 0 : of_class.jobs.begin()->first};
}

std::int64_t Backlog::jobs() const {
  std::int64_t jobs = 0;
  for (const Class& of_class : classes_) jobs += static_cast<std::int64_t>(of_class.jobs.size());
  return jobs;
}

}  // namespace kbench::scheduler
