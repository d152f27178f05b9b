#include "client/submission.h"

#include <fmt/format.h>

#include <utility>

#include "client/duration.h"
#include "client/output/units.h"
#include "kernels/catalog/sweep.h"
#include "proto/support/clock.h"
#include "proto/support/error.h"

namespace kbench::client {
namespace {

using kbench::v1::CaseSpec;
using kbench::v1::JobSpec;

// Bounds the memory of a mistyped range; how many cases a job may have is the coordinator's rule.
constexpr std::size_t kMostCases = 20'000;

absl::Status FieldError(const std::string& field, const std::string& reason,
                        const std::string& message) {
  return MakeError(absl::StatusCode::kInvalidArgument, field + ": " + message,
                   {.reason = reason, .metadata = {}, .violations = {{field, message}}});
}

absl::StatusOr<std::vector<std::string>> ExpandAll(const std::vector<std::string>& texts) {
  std::vector<std::string> sizes;
  for (const std::string& text : texts) {
    const std::size_t start = text.find_first_not_of(' ');
    auto expanded = ExpandSizes(start == std::string::npos ? "" : text.substr(start), kMostCases);
    if (!expanded) {
      const CatalogError& error = expanded.error();
      std::string message = error.message;
      if (!error.nearest.empty() && message.find("nearest") == std::string::npos) {
        message += fmt::format("; nearest: {}", fmt::join(error.nearest, ", "));
      }
      return FieldError("size", error.reason, message);
    }
    for (std::string& size : expanded.value()) sizes.push_back(std::move(size));
  }
  return sizes;
}

absl::StatusOr<double> Duration(const std::string& field, const std::string& text) {
  return ReadDuration(field, text, "500ms, 60s, 10m, 1h or 7d", kMostDuration);
}

absl::Status FillPolicy(const Submission& submission, JobSpec* spec) {
  auto* policy = spec->mutable_policy();
  policy->set_flush(submission.flush);
  policy->set_seed(submission.seed);
  if (!submission.target.empty()) {
    double ratio = 0;
    if (!ParseRatio(submission.target, &ratio) || ratio <= 0) {
      return FieldError(
          "target", "BAD_TARGET",
          fmt::format("'{}' is not a precision; write 0.5% or 0.005", submission.target));
    }
    policy->set_target_ratio(ratio);
  }
  policy->set_if_busy(submission.if_busy);
  policy->set_profile(submission.profile);
  if (!submission.margin.empty()) {
    double ratio = 0;
    if (!ParseRatio(submission.margin, &ratio) || ratio <= 0) {
      return FieldError("margin", "BAD_MARGIN",
                        fmt::format("'{}' is not a margin; write 1% or 0.01", submission.margin));
    }
    policy->set_margin_ratio(ratio);
  }
  if (!submission.budget.empty()) {
    KB_ASSIGN_OR_RETURN(const double seconds, Duration("budget", submission.budget));
    *policy->mutable_case_budget() = ToDuration(seconds);
  }
  return absl::OkStatus();
}

absl::Status FillLabels(const Submission& submission, JobSpec* spec) {
  for (const std::string& label : submission.labels) {
    const std::size_t equals = label.find('=');
    if (equals == std::string::npos || equals == 0) {
      return FieldError("label", "BAD_LABEL",
                        fmt::format("'{}' is not a label; write key=value", label));
    }
    (*spec->mutable_labels())[label.substr(0, equals)] = label.substr(equals + 1);
  }
  return absl::OkStatus();
}

absl::Status FillCases(const Submission& submission, JobSpec* spec) {
  KB_ASSIGN_OR_RETURN(const std::vector<std::string> sizes, ExpandAll(submission.sizes));
  const std::vector<std::string> kernels = SplitList(submission.kernels);
  const std::vector<std::string> dtypes = SplitList(submission.dtypes);
  std::vector<std::string> modes = SplitList(submission.modes);
  if (modes.empty()) modes.emplace_back();
  const std::size_t count = kernels.size() * dtypes.size() * sizes.size() * modes.size();
  if (count > kMostCases) {
    return FieldError(
        "size", "TOO_MANY_CASES",
        fmt::format("the sweep has {} cases; a job takes at most 1000: split it", count));
  }
  for (const std::string& kernel : kernels) {
    for (const std::string& dtype : dtypes) {
      for (const std::string& size : sizes) {
        for (const std::string& mode : modes) {
          CaseSpec* one = spec->add_cases();
          one->set_kernel(kernel);
          one->set_dtype(dtype);
          one->set_size(size);
          one->set_mode(mode);
        }
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> SplitList(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else if (c != ' ') {
      parts.back() += c;
    }
  }
  std::erase_if(parts, [](const std::string& part) { return part.empty(); });
  return parts;
}

absl::StatusOr<JobSpec> BuildSpec(const Submission& submission) {
  JobSpec spec;
  KB_RETURN_IF_ERROR(FillCases(submission, &spec));
  for (const std::string& name : SplitList(submission.implementations)) {
    spec.add_implementations(name);
  }
  if (!submission.implementations.empty() && spec.implementations().empty()) {
    return FieldError("impl", "BAD_IMPLEMENTATION",
                      fmt::format("'{}' names no implementation; see `kbench-client kernels`",
                                  submission.implementations));
  }
  for (const std::string& name : SplitList(submission.environments)) spec.add_environments(name);
  if (!submission.environments.empty() && spec.environments().empty()) {
    return FieldError("env", "BAD_ENVIRONMENT",
                      fmt::format("'{}' names no environment; write --env default,torch211",
                                  submission.environments));
  }
  spec.set_device(submission.device);
  KB_RETURN_IF_ERROR(FillPolicy(submission, &spec));
  spec.set_priority_class(submission.priority_class);
  if (submission.priority >= 0) spec.set_priority(submission.priority);
  if (!submission.queue_timeout.empty()) {
    KB_ASSIGN_OR_RETURN(const double seconds, Duration("queue-timeout", submission.queue_timeout));
    *spec.mutable_queue_timeout() = ToDuration(seconds);
  }
  KB_RETURN_IF_ERROR(FillLabels(submission, &spec));
  spec.set_share_in_flight(submission.share);
  if (!submission.max_age.empty()) {
    KB_ASSIGN_OR_RETURN(const double seconds, Duration("max-age", submission.max_age));
    *spec.mutable_max_result_age() = ToDuration(seconds);
  }
  if (submission.fresh) spec.mutable_max_result_age();  // no age at all, rather than nothing said
  return spec;
}

}  // namespace kbench::client
