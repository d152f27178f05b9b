// The scheduler's words as messages, and back. Pure functions.
#pragma once

#include "kbench/v1/job.pb.h"
#include "kbench/v1/worker_service.pb.h"
#include "server/scheduler/types.h"

namespace kbench::server {

kbench::v1::CaseStatus ToCaseStatus(const scheduler::Case& item, const kbench::v1::CaseSpec& spec);
kbench::v1::AttemptId ToAttemptId(const scheduler::CaseRef& ref, int attempt, std::int64_t epoch);
scheduler::Held ToHeld(const kbench::v1::AttemptId& id, bool finished);

// The scheduler's view of a job that was just submitted; `created_at` in seconds since the epoch.
scheduler::JobEntry ToJobEntry(const kbench::v1::Job& job, double created_at, std::int64_t order);
// What of an entry follows from the job as it is stored, and is not stored twice: at the
// submission, and after a restart.
void FillFromJob(const kbench::v1::Job& job, double created_at, scheduler::JobEntry& entry);
scheduler::PriorityClass ToPriorityClass(const std::string& name);

// What a person reads for a reason to wait (scheduler::WaitReason).
std::string WaitMessage(const std::string& reason);

}  // namespace kbench::server
