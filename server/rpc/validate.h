// Checks what clients send, and fills in what they may leave out: canonical shapes, the mode, the
// device's stable name. Every error names the field, what was wrong and what would be right. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kbench/v1/job_service.pb.h"
#include "server/rpc/validate_device.h"

namespace kbench::server {

inline constexpr int kMostCases = 1000;
inline constexpr int kMostLabels = 16;
inline constexpr int kMostImplementations = 64;
inline constexpr int kMostEnvironments = 16;
inline constexpr std::size_t kMostSpecBytes = 1 << 20;

struct ValidateContext {
  DeviceContext device;
  double max_hold_seconds = 2 * 3600;
};

absl::StatusOr<kbench::v1::JobSpec> ValidateSubmit(const kbench::v1::SubmitJobRequest& request,
                                                   const ValidateContext& context);

// Where a case will run, as the scheduler will choose: devices that can run it before those that
// cannot, then, without a selector, GPUs, then those that are there.
std::vector<const kbench::v1::Device*> CandidateDevices(const std::string& selector,
                                                        const kbench::v1::CaseSpec& spec,
                                                        const DeviceRegistry& registry);

// An INVALID_ARGUMENT with one field violation.
absl::Status FieldError(const std::string& field, const std::string& reason,
                        const std::string& message, const std::string& nearest = "");

// The practical margin of comparisons: 0 (the default, 0.01) or 0.001 to 0.5.
absl::Status CheckMargin(const std::string& field, double margin_ratio);

// OK for a state of a job, or none (any).
absl::Status CheckStateFilter(int state);

// 50 for 0, INVALID_ARGUMENT when negative, at most 1000.
absl::StatusOr<int> PageSize(int requested);

// Tells a retry of a request from a reuse of its id: a hash of its spec and owner.
std::string RequestDigest(const kbench::v1::SubmitJobRequest& request);

}  // namespace kbench::server
