#include "worker/runner/session.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>
#include <utility>

#include "kernels/catalog/catalog.h"
#include "proto/support/clock.h"
#include "worker/runner/build_id.h"
#include "worker/runner/calibration_frame.h"
#include "worker/runner/collect_code.h"
#include "worker/runner/estimate.h"
#include "worker/runner/failure.h"

namespace kbench {
namespace {

constexpr int kProtocolVersion = 1;

// Why the implementation has no such dtype on this machine, or nothing.
std::optional<std::string> WhyNoDType(const Implementation& implementation, DType dtype) {
  const auto& all = implementation.dtypes;
  if (std::find(all.begin(), all.end(), dtype) == all.end()) {
    return implementation.name + " has no " + implementation.kernel + " in " + Info(dtype).name;
  }
  return implementation.dtype_missing == nullptr ? std::nullopt
                                                 : implementation.dtype_missing(dtype);
}

// "137 s", "0.52 s": for people.
std::string SecondsText(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), seconds < 10 ? "%.2g s" : "%.0f s", seconds);
  return text;
}

CaseOptions OptionsOf(const v1::Prepare& request, Mode mode, int threads) {
  CaseOptions options;
  options.flush = request.flush().empty() ? "clean" : request.flush();
  if (mode != Mode::kCold) options.flush = "none";
  options.many_launches = mode == Mode::kGraph || mode == Mode::kSteady;
  options.rotates = mode == Mode::kGraph;
  options.flush_bytes = request.flush_bytes();
  options.seed = request.seed();
  options.reference_dir = request.reference_dir();
  options.memory_limit_bytes = request.memory_limit_bytes();
  options.threads = threads;
  options.candidate = request.candidate();
  return options;
}

bool ResolveProblem(const v1::CaseSpec& spec, const std::string& device, Problem* problem,
                    v1::RunnerFailure* failure) {
  const std::string& size = spec.shape().empty() ? spec.size() : spec.shape();
  auto made = MakeProblem(spec.kernel(), spec.dtype(), size, spec.mode());
  if (!made) {
    SetFailure(v1::OUTCOME_UNSUPPORTED, made.error().reason, made.error().message, failure);
    return false;
  }
  *problem = std::move(made).value();
  if (problem->mode != Mode::kGraph || device == "cuda") return true;
  SetFailure(v1::OUTCOME_UNSUPPORTED, "UNSUPPORTED_MODE",
             "mode graph needs CUDA graphs, which a CPU has not; use cold, hot or steady", failure);
  return false;
}

// The implementation, if it can run the problem at all: decided before anything is allocated.
const Implementation* FindImplementation(const std::vector<const Implementation*>& table,
                                         const std::string& name, const Problem& problem,
                                         v1::RunnerFailure* failure) {
  for (const Implementation* candidate : table) {
    if (candidate->name != name || candidate->kernel != problem.kernel) continue;
    if (const auto why = WhyNoDType(*candidate, problem.dtype)) {
      SetFailure(v1::OUTCOME_UNSUPPORTED, "UNSUPPORTED_DTYPE", *why, failure);
      return nullptr;
    }
    if (candidate->unsupported != nullptr) {
      if (const auto why = candidate->unsupported(problem)) {
        SetFailure(v1::OUTCOME_UNSUPPORTED, "UNSUPPORTED_PROBLEM", *why, failure);
        return nullptr;
      }
    }
    return candidate;
  }
  SetFailure(v1::OUTCOME_UNSUPPORTED, "UNKNOWN_IMPLEMENTATION",
             "this runner has no implementation '" + name + "' of " + problem.kernel, failure);
  return nullptr;
}

void SetSkipped(double estimate, double limit, v1::RunnerFailure* failure) {
  SetFailure(v1::OUTCOME_SKIPPED, "LAUNCH_TOO_LONG",
             "one launch would take about " + SecondsText(estimate) + "; the limit is " +
                 SecondsText(limit),
             failure);
  failure->set_estimate_seconds(estimate);
}

}  // namespace

Session::Session(RunnerIdentity identity) : identity_(std::move(identity)) {}

Session::~Session() {
  prepared_.reset();
  kb_close(engine_);
}

v1::RunnerReply Session::Handle(const v1::RunnerRequest& request) {
  v1::RunnerReply reply;
  try {
    Dispatch(request, &reply);
  } catch (const std::exception& exception) {
    SetFailure(v1::OUTCOME_INFRA, "EXCEPTION",
               std::string("the runner could not go on: ") + exception.what(),
               reply.mutable_failure());
  }
  reply.set_id(request.id());
  if (reply.has_failure() && reply.failure().fatal()) fatal_ = true;
  return reply;
}

void Session::Dispatch(const v1::RunnerRequest& request, v1::RunnerReply* reply) {
  v1::RunnerFailure failure;
  bool done = true;
  switch (request.request_case()) {
    case v1::RunnerRequest::kHello:
      return Hello(reply->mutable_hello());
    case v1::RunnerRequest::kPrepare:
      return Prepare(request.prepare(), reply);
    case v1::RunnerRequest::kCalibrate:
      return Calibrate(reply);
    case v1::RunnerRequest::kTune:
      if (PreparedCase* prepared = NeedCase("tune", reply)) {
        done = prepared->Tune(request.tune(), reply->mutable_tuned(), &failure);
      }
      break;
    case v1::RunnerRequest::kFinish:
      prepared_.reset();
      reply->mutable_finished();
      return;
    case v1::RunnerRequest::kVerify:
      if (PreparedCase* prepared = NeedCase("verify", reply)) {
        done = prepared->Verify(request.verify(), reply->mutable_verified(), &failure);
      }
      break;
    case v1::RunnerRequest::kWarm:
      if (PreparedCase* prepared = NeedCase("warm", reply)) {
        done = prepared->Warm(request.warm(), reply->mutable_warmed(), &failure);
      }
      break;
    case v1::RunnerRequest::kBurst:
      if (PreparedCase* prepared = NeedCase("burst", reply)) {
        done = prepared->Burst(request.burst(), reply->mutable_burst(), &failure);
      }
      break;
    case v1::RunnerRequest::kCollectCode:
      return Collect(request.collect_code(), reply);
    case v1::RunnerRequest::kProfileLaunch:
      if (PreparedCase* prepared = NeedCase("profile_launch", reply)) {
        reply->mutable_launch_profiled();
        done = ProfileLaunch(prepared, &failure);
      }
      break;
    case v1::RunnerRequest::kWitness:
      done = false;
      SetFailure(v1::OUTCOME_UNSUPPORTED, "UNSUPPORTED_REQUEST",
                 "this runner takes no witnessed launches", &failure);
      break;
    case v1::RunnerRequest::REQUEST_NOT_SET:
      done = false;
      SetFailure(v1::OUTCOME_INFRA, "BAD_REQUEST",
                 "the frame holds no request: hello, prepare, tune, verify, warm, burst, finish, "
                 "calibrate, collect_code or profile_launch",
                 &failure);
      break;
  }
  if (!done) *reply->mutable_failure() = failure;
}

PreparedCase* Session::NeedCase(const char* request, v1::RunnerReply* reply) {
  if (prepared_) return prepared_.get();
  SetFailure(v1::OUTCOME_INFRA, "BAD_STATE",
             std::string(request) + " needs a prepared case: send prepare first",
             reply->mutable_failure());
  return nullptr;
}

void Session::Hello(v1::RunnerHelloReply* reply) const {
  reply->set_protocol_version(kProtocolVersion);
  reply->set_runner(identity_.name);
  reply->set_engine_version(kb_version());
  reply->set_device_kind(identity_.device);
  reply->set_build_id(BuildId());
  for (const Implementation* implementation : identity_.implementations) {
    v1::ImplementationInfo* info = reply->add_implementations();
    info->set_name(implementation->name);
    info->set_family(implementation->family);
    info->set_kernel(implementation->kernel);
    for (const DType dtype : implementation->dtypes) {
      if (!WhyNoDType(*implementation, dtype)) info->add_dtypes(Info(dtype).name);
    }
    info->set_default_choice(implementation->default_choice);
    info->set_rung(implementation->rung);
    info->set_summary(implementation->summary);
    info->set_hidden(implementation->hidden);
  }
  for (const auto& [name, version] : identity_.libraries) {
    (*reply->mutable_libraries())[name] = version;
  }
}

bool Session::OpenEngine(v1::RunnerFailure* failure) {
  if (engine_ != nullptr) return true;
  char error[512] = "";
  const kb_status status =
      kb_open(identity_.device.c_str(), identity_.threads, &engine_, error, sizeof(error));
  if (status == KB_OK) return true;
  SetFailure(v1::OUTCOME_INFRA, "ENGINE_OPEN", error, failure);
  failure->set_fatal(true);  // a context that could not be made is not tried again in this process
  return false;
}

void Session::Prepare(const v1::Prepare& request, v1::RunnerReply* reply) {
  v1::RunnerFailure failure;
  Problem problem;
  if (prepared_) {
    return SetFailure(v1::OUTCOME_INFRA, "BAD_STATE",
                      "a case is prepared already: send finish first", reply->mutable_failure());
  }
  const Implementation* implementation = nullptr;
  if (ResolveProblem(request.case_(), identity_.device, &problem, &failure)) {
    implementation =
        FindImplementation(identity_.implementations, request.implementation(), problem, &failure);
  }
  if (implementation == nullptr || !OpenEngine(&failure)) {
    *reply->mutable_failure() = failure;
    return;
  }
  const CaseOptions options = OptionsOf(request, problem.mode, identity_.threads);
  const double limit = request.launch_limit_seconds();
  if (limit > 0) {
    const auto estimate = EstimateLaunch(engine_, *implementation, problem, options,
                                         identity_.device == "cpu", limit, &failure);
    if (estimate && *estimate > limit) SetSkipped(*estimate, limit, &failure);
  }
  if (failure.outcome() == v1::OUTCOME_UNSPECIFIED) {
    auto opened = OpenInstance::Open(engine_, *implementation, problem, options, &failure);
    if (opened) {
      auto prepared = std::make_unique<PreparedCase>(std::move(opened), options);
      if (prepared->Start(reply->mutable_prepared(), &failure)) {
        prepared_ = std::move(prepared);
        return;
      }
    }
  }
  *reply->mutable_failure() = failure;
}

void Session::Calibrate(v1::RunnerReply* reply) {
  v1::RunnerFailure failure;
  if (prepared_) {
    return SetFailure(v1::OUTCOME_INFRA, "BAD_STATE",
                      "a case is prepared: send finish before calibrate", reply->mutable_failure());
  }
  if (!OpenEngine(&failure)) {
    *reply->mutable_failure() = failure;
    return;
  }
  const double begin = SystemClock().SteadySeconds();
  kb_calibration calibration{};
  const kb_status status = kb_calibrate(engine_, &calibration);
  if (status != KB_OK) return SetEngineFailure(engine_, status, "", reply->mutable_failure());
  v1::Calibration* out = reply->mutable_calibrated()->mutable_calibration();
  SetCalibration(calibration, out);
  out->set_seconds(SystemClock().SteadySeconds() - begin);
  out->set_engine_version(kb_version());
}

void Session::Collect(const v1::CollectCode& request, v1::RunnerReply* reply) {
  const PreparedCase* prepared = NeedCase("collect_code", reply);
  if (prepared == nullptr) return;
  v1::CodeCollected* collected = reply->mutable_code_collected();
  const std::vector<std::string> functions = prepared->DeviceFunctions();
  for (const std::string& function : functions) collected->add_functions(function);
  const std::vector<DeviceCode> own = prepared->Code();
  if (!own.empty()) return WriteCode(own, request.directory(), collected);
  const bool writes = !functions.empty() && !request.directory().empty();
  if (writes) CollectCode("/proc/self/exe", functions, request, collected);
}

bool Session::ProfileLaunch(PreparedCase* prepared, v1::RunnerFailure* failure) {
  if (identity_.profiler_range) return prepared->ProfileLaunch(identity_.profiler_range, failure);
  SetFailure(v1::OUTCOME_UNSUPPORTED, "NO_PROFILER",
             "no profiler looks at what runs on a " + identity_.device + " device", failure);
  return false;
}

v1::RunnerReply BadFrame(const std::string& message) {
  v1::RunnerReply reply;
  SetFailure(v1::OUTCOME_INFRA, "BAD_FRAME", message, reply.mutable_failure());
  return reply;
}

}  // namespace kbench
