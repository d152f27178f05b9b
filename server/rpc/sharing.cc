#include "server/rpc/sharing.h"

#include <algorithm>

#include "proto/support/clock.h"
#include "server/history/reuse.h"

namespace kbench::server {
namespace {

std::uint64_t ContentAt(const kbench::v1::JobSpec& spec, int index) {
  return history::ContentOf(spec.cases(index), spec.policy());
}

}  // namespace

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
    if (scheduler::IsFinal(item.state) || item.ref.index >= spec.cases_size()) continue;
    waiting_[ContentAt(spec, item.ref.index)].insert({job.order, item.ref});
  }
}

void Sharing::Remove(const scheduler::CaseRef& ref, const kbench::v1::JobSpec& spec) {
  if (!TakesOthersResults(spec) || ref.index >= spec.cases_size()) return;
  const auto found = waiting_.find(ContentAt(spec, ref.index));
  if (found == waiting_.end()) return;
  std::erase_if(found->second, [&](const Entry& entry) { return entry.ref == ref; });
  if (found->second.empty()) waiting_.erase(found);
}

std::vector<scheduler::CaseRef> Sharing::Waiting(const kbench::v1::JobSpec& spec,
                                                 const std::string& job, int case_index) const {
  std::vector<scheduler::CaseRef> refs;
  if (waiting_.empty() || case_index < 0 || case_index >= spec.cases_size()) return refs;
  const auto found = waiting_.find(ContentAt(spec, case_index));
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
