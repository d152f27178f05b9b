#include "server/rpc/sharing.h"

#include <algorithm>

#include "proto/support/clock.h"

namespace kbench::server {

double MostResultAge(const kbench::v1::JobSpec& spec) {
  return spec.has_max_result_age() && !spec.has_hold() ? ToSeconds(spec.max_result_age()) : 0;
}

bool WantsFresh(const kbench::v1::JobSpec& spec) {
  return spec.has_max_result_age() && ToSeconds(spec.max_result_age()) == 0;
}

bool TakesOthersResults(const kbench::v1::JobSpec& spec) {
  return !spec.has_hold() && (spec.share_in_flight() || MostResultAge(spec) > 0);
}

void Sharing::Add(const scheduler::JobEntry& job, const kbench::v1::JobSpec& spec) {
  if (!TakesOthersResults(spec)) return;
  for (const scheduler::Case& item : job.cases) {
    if (item.content == 0 || scheduler::IsFinal(item.state)) continue;
    waiting_[item.content].insert({job.order, item.ref});
  }
}

void Sharing::Remove(const scheduler::Case& item) {
  const auto found = waiting_.find(item.content);
  if (found == waiting_.end()) return;
  std::erase_if(found->second, [&](const Entry& entry) { return entry.ref == item.ref; });
  if (found->second.empty()) waiting_.erase(found);
}

std::vector<scheduler::CaseRef> Sharing::Waiting(std::uint64_t content,
                                                 const std::string& job) const {
  std::vector<scheduler::CaseRef> refs;
  const auto found = waiting_.find(content);
  if (found == waiting_.end()) return refs;
  for (const Entry& entry : found->second) {
    if (entry.ref.job != job) refs.push_back(entry.ref);
  }
  return refs;
}

std::size_t Sharing::size() const {
  std::size_t cases = 0;
  for (const auto& [content, entries] : waiting_) cases += entries.size();
  return cases;
}

}  // namespace kbench::server
