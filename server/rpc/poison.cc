#include "server/rpc/poison.h"

#include "fmt/format.h"
#include "proto/support/error.h"
#include "proto/support/ids.h"
#include "server/history/reuse.h"
#include "server/rpc/sharing.h"

namespace kbench::server {
namespace {

// Everything that decides what a worker would run.
std::string KeyOf(const kbench::v1::JobSpec& spec, int index) {
  return fmt::format("{:016x}|{}|{}|{}", history::ContentOf(spec.cases(index), spec.policy()),
                     fmt::join(spec.implementations(), ","), fmt::join(spec.environments(), ","),
                     spec.device());
}

}  // namespace

void PoisonMemory::Remember(const scheduler::CaseRef& ref, const kbench::v1::JobSpec& spec,
                            double ended_at) {
  if (ref.index < 0 || ref.index >= spec.cases_size()) return;
  poisoned_.push_back({ref, KeyOf(spec, ref.index), ended_at});
}

absl::Status PoisonMemory::Check(const kbench::v1::JobSpec& spec, double now) {
  while (!poisoned_.empty() && poisoned_.front().ended_at < now - kSeconds) poisoned_.pop_front();
  if (poisoned_.empty() || WantsFresh(spec)) return absl::OkStatus();
  for (int i = 0; i < spec.cases_size(); ++i) {
    const std::string key = KeyOf(spec, i);
    for (const Poisoned& item : poisoned_) {
      if (item.key != key) continue;
      const std::string message = fmt::format(
          "this case killed its worker twice in job {}, {:.0f} min ago, and is refused for an "
          "hour; "
          "change it, or try it all the same with --fresh",
          JobId(item.ref.job), (now - item.ended_at) / 60);
      return MakeError(absl::StatusCode::kFailedPrecondition, message,
                       {.reason = "POISON",
                        .metadata = {{"job", item.ref.job}},
                        .violations = {{fmt::format("spec.cases[{}]", i), message}}});
    }
  }
  return absl::OkStatus();
}

}  // namespace kbench::server
