// Deaths of workers, counted by what a case asks for rather than by case: the same specification
// kills in whoever's job it comes.
#include <algorithm>
#include <set>

#include "server/scheduler/scheduler.h"

namespace kbench::scheduler {

void Scheduler::RememberDeath(double at, std::uint64_t content, const CaseRef& ref) {
  if (content != 0) deaths_[content].push_back({at, ref});
}

int Scheduler::DeathsOf(double now, const Case& item) {
  const auto found = deaths_.find(item.content);
  if (found == deaths_.end()) return item.worker_deaths;
  std::erase_if(found->second, [&](const Death& death) { return death.at < now - kPoisonSeconds; });
  return std::max(item.worker_deaths, static_cast<int>(found->second.size()));
}

void Scheduler::PruneDeaths(double now) {
  std::erase_if(deaths_, [&](const auto& entry) {
    return std::all_of(entry.second.begin(), entry.second.end(),
                       [&](const Death& death) { return death.at < now - kPoisonSeconds; });
  });
}

std::string Scheduler::PoisonText(const Case& item) const {
  const JobEntry& job = jobs_.at(item.ref.job).entry;
  const bool one_of_many = job.cases.size() > 1;
  std::string text = one_of_many ? "case " + std::to_string(item.ref.index + 1) + " of " +
                                       std::to_string(job.cases.size())
                                 : "this case";
  const auto found = deaths_.find(item.content);
  std::set<std::string> jobs;
  if (found != deaths_.end()) {
    for (const Death& death : found->second) jobs.insert(death.ref.job);
  }
  const bool elsewhere = jobs.size() > jobs.count(item.ref.job);
  const std::size_t deaths = elsewhere ? found->second.size() : 0;
  text += " killed its worker " +
          std::to_string(std::max(deaths, static_cast<std::size_t>(item.worker_deaths))) + " times";
  const char* word = ": in ";
  for (const std::string& name : jobs) {
    if (!elsewhere) break;
    text += word + name;
    word = ", ";
  }
  return text + (elsewhere ? "; it is not tried again" : ", so it is not tried again");
}

void Scheduler::EndPoisoned(double now, const Case& item, Effects& effects) {
  EndCase(now, *FindCase(item.ref), State::kFailed, "POISON", PoisonText(item), effects);
  if (item.content == 0) return;
  // Whoever waits with the same would kill the next worker.
  std::vector<CaseRef> same;
  for (const auto& [name, job] : jobs_) {
    for (const Case& other : job.entry.cases) {
      if (other.content == item.content && other.state == State::kQueued) same.push_back(other.ref);
    }
  }
  for (const CaseRef& ref : same) {
    Case& other = *FindCase(ref);
    EndCase(now, other, State::kFailed, "POISON", PoisonText(other), effects);
    if (ref.job != item.ref.job) Settle(now, ref.job, effects);
  }
}

}  // namespace kbench::scheduler
