#include "server/rpc/visible.h"

namespace kbench::server {

void HideEnvironment(kbench::v1::Job& job) {
  if (job.spec().hold().environment().empty()) return;
  for (auto& [name, value] : *job.mutable_spec()->mutable_hold()->mutable_environment()) {
    value = kHiddenValue;
  }
}

void HideEnvironmentFrom(const auth::Caller& caller, kbench::v1::Job& job) {
  const bool owns = caller.verified && caller.owner == job.owner();
  if (!owns && !caller.is_admin()) HideEnvironment(job);
}

}  // namespace kbench::server
