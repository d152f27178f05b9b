// Submits where a limit of the coordinator may refuse for a while: waits, says so, tries again. One
// thread; Ctrl-C ends the wait.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "client/command.h"
#include "kbench/v1/job_service.pb.h"

namespace kbench::client {

// How long a submit that is told to come later (RESOURCE_EXHAUSTED with RetryInfo) is tried again,
// when --wait-for-queue does not say.
inline constexpr double kDefaultPatienceSeconds = 300;

// Above `retry_after` and growing with every try (the crowd must thin out), at most a minute, with
// a jitter of a quarter so that those who were refused together do not come back together.
// `random` is in [0, 1).
double PauseSeconds(int tries, double retry_after_seconds, double random);

// SubmitSpec (client/commands/await.h), tried again for at most `patience` seconds. What is refused
// at the end is returned as it came; CANCELLED after Ctrl-C.
absl::StatusOr<kbench::v1::Job> SubmitPatiently(Context& context, const Backend& backend,
                                                const kbench::v1::JobSpec& spec,
                                                const std::string& request_id,
                                                double patience_seconds);

}  // namespace kbench::client
