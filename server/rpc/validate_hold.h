// Checks of a job that holds a device instead of measuring. Pure.
#pragma once

#include "absl/status/status.h"
#include "kbench/v1/job_service.pb.h"
#include "server/rpc/validate.h"

namespace kbench::server {

inline constexpr int kMostCommandWords = 1000;
inline constexpr std::size_t kMostCommandBytes = 64 << 10;

// Whether the hold of the request is one that may be; errors name the field and what would be
// right.
absl::Status CheckHold(const kbench::v1::SubmitJobRequest& request, const ValidateContext& context);

// The one case that stands for the hold in the store and in lists.
kbench::v1::CaseSpec HoldCase(const kbench::v1::Hold& hold);

}  // namespace kbench::server
