// What of a job is not everybody's to read: the values of a hold's environment, which may be
// secrets of its owner. Pure, thread-safe.
#pragma once

#include <string>

#include "kbench/v1/job.pb.h"
#include "server/auth/caller.h"

namespace kbench::server {

// Stands in place of a value. The names stay.
inline constexpr char kHiddenValue[] = "(hidden)";

void HideEnvironment(kbench::v1::Job& job);
// The same unless the caller is the job's owner, known as such, or an admin.
void HideEnvironmentFrom(const auth::Caller& caller, kbench::v1::Job& job);

}  // namespace kbench::server
