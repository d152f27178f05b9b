#include "server/rpc/validate.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "fmt/format.h"
#include "kernels/catalog/catalog.h"
#include "proto/support/clock.h"
#include "proto/support/error.h"
#include "proto/support/fnv.h"
#include "server/rpc/selection.h"
#include "server/rpc/validate_hold.h"

namespace kbench::server {
namespace {

using kbench::v1::CaseSpec;
using kbench::v1::Device;
using kbench::v1::JobSpec;
using kbench::v1::SubmitJobRequest;

constexpr std::size_t kMostTextBytes = 256;
constexpr std::size_t kMostNameBytes = 128;
constexpr int kMostNanos = 999'999'999;
constexpr double kMostQueueSeconds = 30.0 * 24 * 3600;
constexpr double kMostAgeSeconds = 365.0 * 24 * 3600;

std::string Join(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string CaseField(int index, const std::string& field) {
  return fmt::format("spec.cases[{}].{}", index, field);
}

std::string NamesOf(const std::vector<const Device*>& devices) {
  std::vector<std::string> names;
  for (const Device* device : devices) names.push_back(device->name());
  return Join(names);
}

// "device gpu0 has", "devices gpu0, gpu1 have".
std::string DevicesHave(const std::vector<const Device*>& devices) {
  return (devices.size() == 1 ? "device " : "devices ") + NamesOf(devices) +
         (devices.size() == 1 ? " has" : " have");
}

// Why a word names nothing: its framework is absent where it would run; else empty.
std::string WhyNotThere(const std::vector<const Device*>& devices, const std::string& word,
                        const JobSpec& spec) {
  std::vector<std::string> environments(spec.environments().begin(), spec.environments().end());
  const std::size_t at = word.find('@');
  if (at != std::string::npos) environments = {word.substr(at + 1)};
  if (environments.empty()) environments = {"default"};
  for (const std::string& environment : environments) {
    const std::string why =
        WhyAbsent(devices, word.substr(0, word.find_first_of("/@")), environment);
    if (!why.empty()) return why;
  }
  return "";
}

absl::Status CheckImplementations(const JobSpec& spec, const std::vector<const Device*>& devices) {
  const std::vector<std::string> known = KnownImplementationWords(devices);
  for (int i = 0; i < spec.implementations_size(); ++i) {
    const std::string word = WithoutMark(spec.implementations(i));
    const std::string field = fmt::format("spec.implementations[{}]", i);
    if (word.empty()) {
      return FieldError(field, "UNKNOWN_IMPLEMENTATION", "an implementation needs a name");
    }
    const bool found =
        std::find(known.begin(), known.end(), word) != known.end() || IsHidden(devices, word);
    const bool known_word = word == kAllWord || word == kDefaultWord || found;
    if (devices.empty() || known_word || MayComeSoon(devices, word)) continue;
    if (IsOptional(spec.implementations(i))) continue;
    const std::string why = WhyNotThere(devices, word, spec);
    const std::string nearest = Join(NearestWords(word, known));
    return FieldError(field, why.empty() ? "UNKNOWN_IMPLEMENTATION" : "ABSENT_FRAMEWORK",
                      fmt::format("{} no implementation {}{}", DevicesHave(devices), word,
                                  why.empty() ? "; nearest: " + nearest : ": " + why),
                      why.empty() ? nearest : "");
  }
  return absl::OkStatus();
}

absl::Status CheckEnvironments(const JobSpec& spec, const std::vector<const Device*>& devices) {
  if (devices.empty()) return absl::OkStatus();
  const std::vector<std::string> known = KnownEnvironments(devices);
  for (int i = 0; i < spec.environments_size(); ++i) {
    const std::string& name = spec.environments(i);
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string why = name.empty() ? "" : WhyAbsent(devices, "", name);
    std::string message;
    if (!why.empty()) {
      message = fmt::format("nothing runs in the environment {}: {}", name, why);
    } else if (known.empty()) {
      message =
          fmt::format("{} no Python environment at all, so not '{}'", DevicesHave(devices), name);
    } else {
      message = fmt::format("{} no environment '{}'; there {}: {}", DevicesHave(devices), name,
                            known.size() == 1 ? "is" : "are", Join(known));
    }
    return FieldError(fmt::format("spec.environments[{}]", i),
                      why.empty() ? "UNKNOWN_ENVIRONMENT" : "ABSENT_FRAMEWORK", message,
                      why.empty() ? Join(NearestWords(name, known)) : "");
  }
  return absl::OkStatus();
}

void KeepWhere(std::vector<const Device*>& devices, bool (*holds)(const Device&)) {
  std::vector<const Device*> kept;
  for (const Device* device : devices) {
    if (holds(*device)) kept.push_back(device);
  }
  if (!kept.empty()) devices = std::move(kept);
}

// What the devices can do, where they are known.
absl::Status CheckCaseOnDevices(int index, const Problem& problem, const std::string& dtype,
                                const std::vector<const Device*>& devices) {
  if (devices.empty()) return absl::OkStatus();
  const std::vector<std::string> dtypes = DTypesOf(devices, problem.kernel);
  if (dtypes.empty()) {
    return FieldError(
        CaseField(index, "kernel"), "NO_IMPLEMENTATION",
        fmt::format("{} no implementation of {}", DevicesHave(devices), problem.kernel));
  }
  if (std::find(dtypes.begin(), dtypes.end(), dtype) == dtypes.end()) {
    return FieldError(CaseField(index, "dtype"), "UNSUPPORTED_DTYPE",
                      fmt::format("{} no implementation of {} for {}, only for {}",
                                  DevicesHave(devices), problem.kernel, dtype, Join(dtypes)),
                      Join(NearestWords(dtype, dtypes)));
  }
  const std::int64_t available = devices.front()->memory_bytes();
  const std::int64_t needed = FootprintBytes(problem);
  if (devices.size() == 1 && available > 0 && needed > available) {
    return FieldError(
        CaseField(index, "size"), "EXCEEDS_DEVICE_MEMORY",
        fmt::format("the operands need {} bytes ({:.1f} GiB), device {} has {} bytes ({:.1f} GiB)",
                    needed, static_cast<double>(needed) / (1 << 30), devices.front()->name(),
                    available, static_cast<double>(available) / (1 << 30)));
  }
  return absl::OkStatus();
}

absl::Status ResolveCase(int index, const std::vector<const Device*>& devices, CaseSpec& spec) {
  const auto problem = MakeProblem(spec.kernel(), spec.dtype(), spec.size(), spec.mode());
  if (!problem.ok()) {
    const CatalogError& error = problem.error();
    return FieldError(CaseField(index, error.field), error.reason, error.message,
                      Join(error.nearest));
  }
  KB_RETURN_IF_ERROR(CheckCaseOnDevices(index, *problem, spec.dtype(), devices));
  spec.set_shape(problem->shape.Canonical());
  spec.set_mode(ModeName(problem->mode));
  return absl::OkStatus();
}

// "spec.cases[3].size has 5000000 bytes, at most 256 are allowed".
absl::Status CheckLength(const std::string& field, std::size_t bytes,
                         std::size_t most = kMostTextBytes) {
  if (bytes <= most) return absl::OkStatus();
  return FieldError(field, "TOO_LONG",
                    fmt::format("{} has {} bytes, at most {} are allowed", field, bytes, most));
}

// Bounds before anything looks closer: what is stored is sent back, and copied often.
absl::Status CheckSizes(const SubmitJobRequest& request) {
  const JobSpec& spec = request.spec();
  KB_RETURN_IF_ERROR(CheckLength("request_id", request.request_id().size()));
  KB_RETURN_IF_ERROR(CheckLength("owner", request.owner().size()));
  KB_RETURN_IF_ERROR(CheckLength("spec.device", spec.device().size()));
  KB_RETURN_IF_ERROR(CheckLength("spec.priority_class", spec.priority_class().size()));
  KB_RETURN_IF_ERROR(CheckLength("spec.policy.flush", spec.policy().flush().size()));
  KB_RETURN_IF_ERROR(CheckLength("spec.policy.if_busy", spec.policy().if_busy().size()));
  for (int i = 0; i < spec.cases_size() && i < kMostCases; ++i) {
    const CaseSpec& item = spec.cases(i);
    KB_RETURN_IF_ERROR(CheckLength(CaseField(i, "kernel"), item.kernel().size()));
    KB_RETURN_IF_ERROR(CheckLength(CaseField(i, "dtype"), item.dtype().size()));
    KB_RETURN_IF_ERROR(CheckLength(CaseField(i, "size"), item.size().size()));
    KB_RETURN_IF_ERROR(CheckLength(CaseField(i, "mode"), item.mode().size()));
  }
  if (spec.implementations_size() > kMostImplementations) {
    return FieldError(
        "spec.implementations", "TOO_MANY_IMPLEMENTATIONS",
        fmt::format("{} implementations are too many: at most {}; \"all\" asks for every one",
                    spec.implementations_size(), kMostImplementations));
  }
  for (int i = 0; i < spec.implementations_size(); ++i) {
    KB_RETURN_IF_ERROR(CheckLength(fmt::format("spec.implementations[{}]", i),
                                   spec.implementations(i).size(), kMostNameBytes));
  }
  if (spec.environments_size() > kMostEnvironments) {
    return FieldError("spec.environments", "TOO_MANY_ENVIRONMENTS",
                      fmt::format("{} environments are too many: at most {}",
                                  spec.environments_size(), kMostEnvironments));
  }
  for (int i = 0; i < spec.environments_size(); ++i) {
    KB_RETURN_IF_ERROR(CheckLength(fmt::format("spec.environments[{}]", i),
                                   spec.environments(i).size(), kMostNameBytes));
  }
  return absl::OkStatus();
}

bool IsPlainText(const std::string& text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
}

absl::Status CheckDuration(const std::string& field, const google::protobuf::Duration& duration) {
  const int nanos = duration.nanos();
  const bool mixed = (duration.seconds() > 0 && nanos < 0) || (duration.seconds() < 0 && nanos > 0);
  if (!mixed && nanos >= -kMostNanos && nanos <= kMostNanos) return absl::OkStatus();
  return FieldError(field, "BAD_DURATION",
                    fmt::format("{} s and {} ns are no duration: nanos are 0 to {}, with the sign "
                                "of the seconds",
                                duration.seconds(), nanos, kMostNanos));
}

absl::Status CheckLabels(const JobSpec& spec) {
  if (spec.labels_size() > kMostLabels) {
    return FieldError(
        "spec.labels", "TOO_MANY_LABELS",
        fmt::format("{} labels are too many: at most {}", spec.labels_size(), kMostLabels));
  }
  for (const auto& [key, value] : spec.labels()) {
    if (key.empty() || key.size() > kMostTextBytes || value.size() > kMostTextBytes) {
      return FieldError(
          "spec.labels", "BAD_LABEL",
          fmt::format("a label has a key and at most {} bytes on each side, not {} and {}",
                      kMostTextBytes, key.size(), value.size()));
    }
    if (!IsPlainText(key) || !IsPlainText(value)) {
      return FieldError("spec.labels", "CONTROL_CHARACTER",
                        "a label has no control characters, but " + key + "=" + value + " has");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPolicy(const kbench::v1::MeasurementPolicy& policy) {
  const double target = policy.target_ratio();
  if (!(target == 0 || (target >= 0.0005 && target <= 0.5))) {
    return FieldError("spec.policy.target_ratio", "OUT_OF_RANGE",
                      fmt::format("a target ratio is 0.0005 to 0.5, not {}", target));
  }
  const std::string& flush = policy.flush();
  if (!flush.empty() && flush != "clean" && flush != "dirty" && flush != "none") {
    return FieldError("spec.policy.flush", "UNKNOWN_FLUSH",
                      "a flush is clean, dirty or none, not " + flush,
                      Join(NearestWords(flush, {"clean", "dirty", "none"})));
  }
  const std::string& if_busy = policy.if_busy();
  if (!if_busy.empty() && if_busy != "wait" && if_busy != "run" && if_busy != "fail") {
    return FieldError("spec.policy.if_busy", "UNKNOWN_IF_BUSY",
                      "what to do when others use the device is wait (for at most 10 minutes), run "
                      "or fail, not " +
                          if_busy,
                      Join(NearestWords(if_busy, {"wait", "run", "fail"})));
  }
  KB_RETURN_IF_ERROR(CheckMargin("spec.policy.margin_ratio", policy.margin_ratio()));
  if (policy.has_case_budget()) {
    KB_RETURN_IF_ERROR(CheckDuration("spec.policy.case_budget", policy.case_budget()));
    const double budget = ToSeconds(policy.case_budget());
    if (!(budget >= 1 && budget <= 3600)) {
      return FieldError("spec.policy.case_budget", "OUT_OF_RANGE",
                        fmt::format("a case's budget is 1 s to 1 h, not {} s", budget));
    }
  }
  return absl::OkStatus();
}

// `devices`: where the cases may run, as far as they are known.
absl::Status CheckProfile(const JobSpec& spec, const std::vector<const Device*>& devices) {
  const bool gpu = std::any_of(devices.begin(), devices.end(),
                               [](const Device* device) { return device->kind() == "cuda"; });
  if (!spec.policy().profile() || devices.empty() || gpu) return absl::OkStatus();
  return FieldError("spec.policy.profile", "PROFILE_NEEDS_GPU",
                    fmt::format("a profile needs a GPU and Nsight Compute, and device {} is a CPU; "
                                "leave --profile out, or name a GPU",
                                devices.front()->name()));
}

// Contracts whose parts are not there yet: what nobody would act on must not look accepted.
absl::Status CheckNotYet(const JobSpec& spec) {
  if (!spec.user_kernels().empty()) {
    return FieldError("spec.user_kernels", "NOT_YET",
                      "this coordinator takes no kernels that are brought along yet; measure those "
                      "that `kbench-client kernels` lists");
  }
  if (spec.baseline().empty()) return absl::OkStatus();
  return FieldError("spec.baseline", "NOT_YET",
                    "this coordinator takes the catalog's baseline; leave this one out");
}

absl::Status CheckJobFields(const SubmitJobRequest& request, const ValidateContext& context) {
  KB_RETURN_IF_ERROR(CheckSizes(request));
  const JobSpec& spec = request.spec();
  KB_RETURN_IF_ERROR(CheckNotYet(spec));
  if (spec.has_hold()) {
    KB_RETURN_IF_ERROR(CheckHold(request, context));
  } else if (spec.cases_size() == 0) {
    return FieldError("spec.cases", "NO_CASES", "a job needs at least one case");
  }
  if (spec.cases_size() > kMostCases) {
    return FieldError("spec.cases", "TOO_MANY_CASES",
                      fmt::format("{} cases are too many for one job: at most {}; split the sweep",
                                  spec.cases_size(), kMostCases));
  }
  if (spec.has_priority() && (spec.priority() < 0 || spec.priority() > 1000)) {
    return FieldError("spec.priority", "OUT_OF_RANGE",
                      fmt::format("a priority is 0 to 1000, not {}", spec.priority()));
  }
  const std::string& priority_class = spec.priority_class();
  if (!priority_class.empty() && priority_class != "interactive" && priority_class != "ci" &&
      priority_class != "batch") {
    return FieldError("spec.priority_class", "UNKNOWN_CLASS",
                      "a class is interactive, ci or batch, not " + priority_class,
                      Join(NearestWords(priority_class, {"interactive", "ci", "batch"})));
  }
  if (spec.has_queue_timeout()) {
    KB_RETURN_IF_ERROR(CheckDuration("spec.queue_timeout", spec.queue_timeout()));
    const double timeout = ToSeconds(spec.queue_timeout());
    if (!(timeout > 0 && timeout <= kMostQueueSeconds)) {
      return FieldError(
          "spec.queue_timeout", "OUT_OF_RANGE",
          fmt::format("a queue timeout is above 0 and at most 30 days, not {} s", timeout));
    }
  }
  if (spec.has_max_result_age()) {
    KB_RETURN_IF_ERROR(CheckDuration("spec.max_result_age", spec.max_result_age()));
    const double age = ToSeconds(spec.max_result_age());
    if (!(age >= 0 && age <= kMostAgeSeconds)) {
      return FieldError(
          "spec.max_result_age", "OUT_OF_RANGE",
          fmt::format("a result's age is 0 (measure anew) to 365 days, not {} s", age));
    }
  }
  KB_RETURN_IF_ERROR(CheckLabels(spec));
  if (!IsPlainText(request.owner())) {
    return FieldError("owner", "CONTROL_CHARACTER",
                      "an owner has no control characters, but " + request.owner() + " has");
  }
  // Last, so that what is too long by itself is named.
  KB_RETURN_IF_ERROR(CheckLength("spec", spec.ByteSizeLong(), kMostSpecBytes));
  return CheckPolicy(spec.policy());
}

}  // namespace

std::vector<const Device*> CandidateDevices(const std::string& selector, const CaseSpec& spec,
                                            const DeviceRegistry& registry) {
  std::vector<const Device*> devices;
  const std::vector<const Device*> named = registry.Matching(selector);
  for (const Device* device : named) {
    if (CapabilitiesOf(*device).count(NeedOf(spec)) > 0) devices.push_back(device);
  }
  const bool able = !devices.empty();
  if (!able) devices = named;
  if (able && selector.empty()) {
    KeepWhere(devices, [](const Device& device) { return device.kind() == "cuda"; });
  }
  KeepWhere(devices, [](const Device& device) { return device.state() != "OFFLINE"; });
  return devices;
}

absl::Status FieldError(const std::string& field, const std::string& reason,
                        const std::string& message, const std::string& nearest) {
  ErrorDetails details{.reason = reason};
  details.metadata["field"] = field;
  if (!nearest.empty()) details.metadata["nearest"] = nearest;
  details.violations.push_back({field, message});
  return MakeError(absl::StatusCode::kInvalidArgument, message, details);
}

absl::StatusOr<JobSpec> ValidateSubmit(const SubmitJobRequest& request,
                                       const ValidateContext& context) {
  KB_RETURN_IF_ERROR(CheckJobFields(request, context));
  JobSpec spec = request.spec();
  if (spec.priority_class().empty()) spec.set_priority_class("interactive");
  KB_ASSIGN_OR_RETURN(*spec.mutable_device(), ResolveDevice(spec.device(), context.device));
  if (spec.has_hold()) {
    *spec.add_cases() = HoldCase(spec.hold());
    return spec;
  }
  std::vector<const Device*> all;  // of any case
  for (int i = 0; i < spec.cases_size(); ++i) {
    const std::vector<const Device*> devices =
        CandidateDevices(spec.device(), spec.cases(i), *context.device.devices);
    for (const Device* device : devices) {
      if (std::find(all.begin(), all.end(), device) == all.end()) all.push_back(device);
    }
    KB_RETURN_IF_ERROR(ResolveCase(i, devices, *spec.mutable_cases(i)));
  }
  KB_RETURN_IF_ERROR(CheckEnvironments(spec, all));
  KB_RETURN_IF_ERROR(CheckImplementations(spec, all));
  KB_RETURN_IF_ERROR(CheckProfile(spec, all));
  return spec;
}

absl::Status CheckMargin(const std::string& field, double margin_ratio) {
  if (margin_ratio == 0 || (margin_ratio >= 0.001 && margin_ratio <= 0.5)) return absl::OkStatus();
  return FieldError(field, "OUT_OF_RANGE",
                    fmt::format("a margin is 0.001 to 0.5, not {}", margin_ratio));
}

absl::Status CheckStateFilter(int state) {
  if (kbench::v1::JobState_IsValid(state)) return absl::OkStatus();
  std::vector<std::string> names;
  for (int i = kbench::v1::JobState_MIN + 1; i <= kbench::v1::JobState_MAX; ++i) {
    const std::string name = kbench::v1::JobState_Name(static_cast<kbench::v1::JobState>(i));
    names.push_back(fmt::format("{} ({})", name, i));
  }
  return FieldError(
      "state", "UNKNOWN_STATE",
      fmt::format("{} is no state of a job; they are {}, or 0 for any", state, Join(names)));
}

absl::StatusOr<int> PageSize(int requested) {
  if (requested < 0) {
    return FieldError("page_size", "OUT_OF_RANGE",
                      fmt::format("a page size is 0 (50) to 1000, not {}", requested));
  }
  return requested == 0 ? 50 : std::min(requested, 1000);
}

std::string RequestDigest(const SubmitJobRequest& request) {
  SubmitJobRequest body = request;
  body.clear_request_id();
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);  // maps in one order
    body.SerializeToCodedStream(&coded);
  }
  const std::uint64_t forward = Fnv1a(bytes);
  std::reverse(bytes.begin(), bytes.end());
  const std::uint64_t backward = Fnv1a(bytes, kFnvBegin ^ bytes.size());
  return fmt::format("{:016x}{:016x}", forward, backward);
}

}  // namespace kbench::server
