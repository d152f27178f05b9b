#include "server/rpc/poison.h"

#include "fmt/format.h"
#include "proto/support/error.h"
#include "proto/support/fnv.h"
#include "proto/support/ids.h"
#include "server/history/reuse.h"
#include "server/rpc/queue_words.h"
#include "server/rpc/sharing.h"

namespace kbench::server {

std::uint64_t PoisonKey(const kbench::v1::JobSpec& spec, int index) {
  if (index < 0 || index >= spec.cases_size() || WantsFresh(spec)) return 0;
  std::uint64_t key = history::ContentOf(spec.cases(index), spec.policy());
  const std::string more = fmt::format("|{}|{}", fmt::join(spec.implementations(), ","),
                                       fmt::join(spec.environments(), ","));
  key = Fnv1a(more, key);
  return key == 0 ? 1 : key;
}

void PoisonMemory::Remember(const scheduler::CaseRef& ref, const kbench::v1::JobSpec& spec,
                            double ended_at) {
  const std::uint64_t key = PoisonKey(spec, ref.index);
  if (key != 0) poisoned_.push_back({ref, key, ended_at});
}

absl::Status PoisonMemory::Check(const kbench::v1::JobSpec& spec, double now) {
  while (!poisoned_.empty() && poisoned_.front().ended_at < now - scheduler::kPoisonSeconds) {
    poisoned_.pop_front();
  }
  if (poisoned_.empty() || WantsFresh(spec)) return absl::OkStatus();
  for (int i = 0; i < spec.cases_size(); ++i) {
    const std::uint64_t key = PoisonKey(spec, i);
    for (const Poisoned& item : poisoned_) {
      if (item.key != key) continue;
      const std::string message = fmt::format(
          "case {} of {}, {}, is POISON: it killed its workers, last in job {}, {:.0f} min ago, "
          "and "
          "is refused for an hour; change it, or try it all the same with --fresh",
          i + 1, spec.cases_size(), CaseText(spec, i), JobId(item.ref.job),
          (now - item.ended_at) / 60);
      return MakeError(absl::StatusCode::kFailedPrecondition, message,
                       {.reason = "POISON",
                        .metadata = {{"job", item.ref.job}},
                        .violations = {{fmt::format("spec.cases[{}]", i), message}}});
    }
  }
  return absl::OkStatus();
}

}  // namespace kbench::server
