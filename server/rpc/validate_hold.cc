#include "server/rpc/validate_hold.h"

#include <cmath>
#include <string>

#include "fmt/format.h"
#include "proto/support/clock.h"
#include "proto/support/error.h"
#include "server/rpc/queue_words.h"
#include "server/rpc/selection.h"

namespace kbench::server {
namespace {

using kbench::v1::Hold;
using kbench::v1::JobSpec;

constexpr double kLeastSeconds = 1;
constexpr int kMostNanos = 999'999'999;

absl::Status CheckAlone(const JobSpec& spec) {
  const char* beside = nullptr;
  if (spec.cases_size() > 0) beside = "cases";
  if (spec.implementations_size() > 0) beside = "implementations";
  if (spec.environments_size() > 0) beside = "environments";
  if (spec.policy().ByteSizeLong() > 0) beside = "policy";
  if (spec.share_in_flight()) beside = "share_in_flight";
  if (spec.has_max_result_age()) beside = "max_result_age";
  if (beside == nullptr) return absl::OkStatus();
  return FieldError(std::string("spec.") + beside, "NOT_WITH_HOLD",
                    fmt::format("a job that holds a device measures nothing: leave {} empty, or "
                                "leave the hold out",
                                beside));
}

absl::Status CheckHoldDuration(const Hold& hold, double most) {
  const auto& duration = hold.duration();
  const double seconds = ToSeconds(duration);
  if (duration.nanos() < 0 || duration.nanos() > kMostNanos || !(seconds >= kLeastSeconds)) {
    return FieldError("spec.hold.duration", "OUT_OF_RANGE",
                      fmt::format("a hold lasts at least 1 s and at most {}, not {} s",
                                  DurationText(most), seconds));
  }
  if (seconds <= most) return absl::OkStatus();
  return FieldError("spec.hold.duration", "HOLD_TOO_LONG",
                    fmt::format("a hold lasts at most {} here, not {}; ask for less, or start "
                                "kbench-server with a larger --max-hold",
                                DurationText(most), DurationText(seconds)));
}

bool HasNul(const std::string& text) { return text.find('\0') != std::string::npos; }

absl::Status CheckCommand(const Hold& hold) {
  std::size_t bytes = 0;
  for (int i = 0; i < hold.command_size(); ++i) {
    const std::string field = fmt::format("spec.hold.command[{}]", i);
    bytes += hold.command(i).size() + 1;
    if (HasNul(hold.command(i))) {
      return FieldError(field, "CONTROL_CHARACTER", "a word of a command has no NUL character");
    }
    if (i == 0 && hold.command(i).empty()) {
      return FieldError(field, "BAD_COMMAND", "a command begins with the name of a program");
    }
  }
  if (hold.command_size() <= kMostCommandWords && bytes <= kMostCommandBytes) {
    return absl::OkStatus();
  }
  return FieldError(
      "spec.hold.command", "TOO_LONG",
      fmt::format("a command has at most {} words and {} bytes, not {} and {}; put it "
                  "into a script",
                  kMostCommandWords, kMostCommandBytes, hold.command_size(), bytes));
}

bool IsVariableName(const std::string& name) {
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
  return !name.empty() && letters.find(name[0]) != std::string::npos &&
         name.find_first_not_of(letters + "0123456789") == std::string::npos;
}

// What says which device is lent is kbench's to set.
bool IsOurs(const std::string& name) {
  return name == "CUDA_VISIBLE_DEVICES" || name == "CUDA_DEVICE_ORDER" ||
         name.rfind("KBENCH_", 0) == 0;
}

absl::Status CheckEnvironment(const Hold& hold) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : hold.environment()) {
    bytes += name.size() + value.size() + 2;
    if (!IsVariableName(name) || HasNul(value)) {
      return FieldError("spec.hold.environment", "BAD_VARIABLE",
                        "'" + name +
                            "' is no variable: a name has letters, digits and _, and no "
                            "value a NUL character");
    }
    if (IsOurs(name)) {
      return FieldError("spec.hold.environment", "RESERVED_VARIABLE",
                        name + " says which device is held: kbench sets it itself");
    }
  }
  if (bytes <= kMostCommandBytes) return absl::OkStatus();
  return FieldError(
      "spec.hold.environment", "TOO_LONG",
      fmt::format("the variables have {} bytes, at most {} are allowed", bytes, kMostCommandBytes));
}

}  // namespace

absl::Status CheckHold(const kbench::v1::SubmitJobRequest& request,
                       const ValidateContext& context) {
  const Hold& hold = request.spec().hold();
  KB_RETURN_IF_ERROR(CheckAlone(request.spec()));
  KB_RETURN_IF_ERROR(CheckHoldDuration(hold, context.max_hold_seconds));
  KB_RETURN_IF_ERROR(CheckCommand(hold));
  KB_RETURN_IF_ERROR(CheckEnvironment(hold));
  if (hold.command().empty() && !hold.environment().empty()) {
    return FieldError("spec.hold.environment", "NO_COMMAND",
                      "variables are for a command that the worker runs, and there is none");
  }
  return absl::OkStatus();
}

kbench::v1::CaseSpec HoldCase(const Hold& hold) {
  kbench::v1::CaseSpec spec;
  spec.set_kernel(kHoldKernel);
  spec.set_size(DurationText(ToSeconds(hold.duration())));
  return spec;
}

}  // namespace kbench::server
