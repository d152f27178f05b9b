// What a result must be so that the coordinator can take it: small enough for a message, and made
// of text where text belongs. One that is not would be sent again and again, and end the session
// each time. Pure; thread-safe.
#pragma once

#include <cstddef>

#include "kbench/v1/worker_service.pb.h"

namespace kbench {

// Half of what a message may have.
inline constexpr std::size_t kMostResultBytes = 32u << 20;

// Takes away the largest artifacts of a result that is too large, with their names in the rows, and
// puts an infra error in place of one that is too large without them or cannot be read again (a
// text in it is not UTF-8). False when it changed something.
bool MakeSendable(v1::AttemptResult* result, std::size_t most_bytes = kMostResultBytes);

}  // namespace kbench
