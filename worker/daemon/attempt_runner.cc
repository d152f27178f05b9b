#include "worker/daemon/attempt_runner.h"

#include <algorithm>
#include <utility>

#include "proto/support/clock.h"
#include "spdlog/spdlog.h"
#include "worker/daemon/calibration.h"
#include "worker/daemon/canary.h"
#include "worker/daemon/hold_driver.h"
#include "worker/daemon/runner_hello.h"
#include "worker/stats/comparison.h"

namespace kbench {
namespace {

#ifndef KBENCH_VERSION
#define KBENCH_VERSION "unknown"
#endif

// A device that failed may have been disturbed: it is asked again, and stays FAILED meanwhile.
constexpr double kFailedRetrySeconds = 60;
constexpr int kFewCanaries = stats::kMinCanaries;
constexpr double kCanarySeconds = 3600;  // between sessions once there are a few
// While one drifts: often enough to see it end, too seldom for what is new to become the usual.
constexpr double kDriftingSeconds = 600;
// After a fault and after a start (the machine may have been mended) so many follow at once: they
// end a quarantine that the coordinator began.
constexpr int kGoodCanaries = 3;

// Everything that makes a calibration void when it changes.
std::string CalibrationKey(const DriverContext& context) {
  const v1::Device& device = context.facts->device;
  std::string key = context.facts->key + "|" + device.uuid() + "|" + device.model() + "|" +
                    device.driver() + "|" + KBENCH_VERSION + "|" + MachineBootId();
  std::string last;
  for (const auto& info : context.pool->implementations()) {
    const auto* hello = context.pool->HelloOf(info.kernel(), info.name());
    if (hello == nullptr || hello->engine_version() == last) continue;
    last = hello->engine_version();
    key += "|" + last;
  }
  return key;
}

}  // namespace

v1::Offer OfferOf(const RunnerPool& pool) {
  v1::Offer offer;
  for (const auto& info : pool.implementations()) *offer.add_implementations() = info;
  for (const auto& one : pool.absent()) *offer.add_absent() = one;
  return offer;
}

CaseExecutor::CaseExecutor(ExecutorOptions options)
    : options_(std::move(options)), store_(options_.store_path, CalibrationKey(options_.context)) {}

// Nothing runs on the device before: importing a framework keeps a core busy for seconds.
void CaseExecutor::Gather(const CancelToken& cancel) {
  RunnerPool& pool = *options_.context.pool;
  if (!pool.Complete(cancel)) return;
  for (const v1::AbsentFramework& one : pool.absent()) {
    spdlog::info("{} is absent: {}", NameOf(one), one.message());
  }
  options_.condition->SetOffer(OfferOf(pool));
}

void CaseExecutor::Begin(const CancelToken& cancel) {
  known_ = store_.Load(options_.context.clock->WallMicros());
  if (known_.calibration) {
    spdlog::info("the calibration of the last 24 hours is taken over");
    JudgeCanary();
    Publish();
  } else {
    CalibrateDevice(cancel);
  }
  options_.context.pool->EndCase();
}

void CaseExecutor::CalibrateDevice(const CancelToken& cancel) {
  const DriverContext& context = options_.context;
  const CalibrationSetup setup{context.pool, context.monitor, context.facts, context.scratch_dir,
                               options_.calibrate_seconds};
  context.pool->BeginCase();
  auto calibration = Calibrate(setup, cancel);
  context.pool->EndCase();
  if (!calibration) return;
  if (!calibration->passed()) {
    last_failure_ = context.clock->SteadySeconds();
    options_.condition->Set(*calibration);
    if (calibration->failed_step() == kWrongResultsStep) {
      options_.condition->AddFault("WRONG_RESULTS", calibration->message());
    }
    spdlog::error("{}", options_.condition->Get().message);
    return;
  }
  last_failure_ = -1;
  spdlog::info("calibrated in {:.2f} s", calibration->seconds());
  known_.calibration = std::move(calibration);
  known_.measured_micros = context.clock->WallMicros();
  Publish();
}

// What is known goes to the disk and to the coordinator.
void CaseExecutor::Publish() {
  const int canaries = SessionCount(known_.sessions);
  known_.calibration->set_canaries(canaries);
  known_.calibration->set_between_session_ratio(
      stats::BetweenSessionRatio(BetweenSessionRatio(known_.sessions), canaries));
  if (const absl::Status saved = store_.Save(known_); !saved.ok()) {
    spdlog::warn("the calibration is not kept: {}", std::string(saved.message()));
  }
  options_.condition->Set(*known_.calibration);
}

AttemptOutcome CaseExecutor::Run(const v1::Assign& assign, const CancelToken& cancel,
                                 const CaseDriver::ProgressFn& progress) {
  if (assign.has_hold()) return HoldDevice(assign, cancel, progress);
  DriverContext context = options_.context;
  const double begin = context.clock->SteadySeconds();
  const bool followed = more_of_job_ && assign.id().job() == job_;
  context.pool->BeginCase();
  // Runners live across the cases of one job, never longer.
  if (assign.id().job() != job_) {
    context.pool->DropKept();
    code_.Forget();
  }
  job_ = assign.id().job();
  more_of_job_ = assign.more_of_job();
  if (known_.calibration) context.calibration = *known_.calibration;
  context.code = &code_;
  driver_ = std::make_unique<CaseDriver>(std::move(context), assign, &cancel, progress);
  AttemptOutcome outcome = driver_->Run();
  for (v1::Result& result : *outcome.result.mutable_results()) {
    result.set_canary_ratio(drift_.ratio);
    if (drift_.drifting) MarkDrift(drift_.message, &result);
  }
  if (followed) outcome.result.set_gap_seconds(begin - last_end_);
  last_end_ = options_.context.clock->SteadySeconds();
  return outcome;
}

AttemptOutcome CaseExecutor::HoldDevice(const v1::Assign& assign, const CancelToken& cancel,
                                        const CaseDriver::ProgressFn& progress) {
  // Spares hold no context of the device, kept runners do; and none may start while it is lent out.
  options_.context.pool->BeginCase();
  options_.context.pool->DropKept();
  code_.Forget();
  job_.clear();
  more_of_job_ = false;
  return HoldDriver(options_.context, options_.program, assign, &cancel, progress).Run();
}

void CaseExecutor::Settle() {
  driver_.reset();
  if (!more_of_job_) options_.context.pool->DropKept();
  options_.context.pool->EndCase();
}

double CaseExecutor::IdleWorkIn(double idle_seconds) {
  const double now = options_.context.clock->SteadySeconds();
  // No new runner could use the device.
  if (!options_.condition->Get().reason.empty()) return kFailedRetrySeconds;
  if (!known_.calibration) {
    return last_failure_ < 0 ? kFailedRetrySeconds
                             : std::max(0.0, last_failure_ + kFailedRetrySeconds - now);
  }
  if (!options_.canaries) return std::numeric_limits<double>::infinity();
  double wait = options_.idle_seconds - idle_seconds;
  if (const double pace = CanaryPace(); pace > 0) {
    const auto since = options_.context.clock->WallMicros() - known_.last_session_micros;
    wait = std::max(wait, pace - static_cast<double>(since) * 1e-6);
  }
  return std::max(0.0, wait);
}

double CaseExecutor::CanaryPace() {
  const std::int64_t faults = options_.condition->Get().fault_count;
  if (faults != faults_seen_) good_canaries_ = 0;
  faults_seen_ = faults;
  if (SessionCount(known_.sessions) < kFewCanaries) return 0;
  if (drift_.drifting) return kDriftingSeconds;
  return good_canaries_ < kGoodCanaries ? 0 : kCanarySeconds;
}

void CaseExecutor::Idle(const CancelToken& cancel) {
  if (known_.calibration) {
    FlyCanaries(cancel);
  } else {
    CalibrateDevice(cancel);
  }
}

void CaseExecutor::FlyCanaries(const CancelToken& cancel) {
  const DriverContext& context = options_.context;
  context.pool->BeginCase();
  const auto sessions =
      FlyCanarySession(*context.pool, *context.monitor, *context.facts,
                       known_.calibration->flush_bytes(), context.scratch_dir, cancel);
  context.pool->EndCase();
  if (cancel.cancelled()) return;  // half a session says nothing
  known_.last_session_micros = context.clock->WallMicros();
  if (absl::IsDataLoss(sessions.status())) {
    options_.condition->AddFault("WRONG_RESULTS", std::string(sessions.status().message()));
  } else if (!sessions.ok()) {
    spdlog::warn("a canary did not come back: {}", std::string(sessions.status().message()));
  }
  if (!sessions.ok()) {
    ++bad_canaries_;
    return TellCanary();
  }
  known_.sessions.insert(known_.sessions.end(), sessions->begin(), sessions->end());
  KeepLatest(&known_.sessions);
  ++canaries_flown_;
  JudgeCanary();
  good_canaries_ = drift_.drifting ? 0 : good_canaries_ + 1;
  Publish();
  const v1::Calibration& now = *known_.calibration;
  spdlog::info("canary {}: medians move by {:.2f} % between sessions{}", now.canaries(),
               100 * now.between_session_ratio(),
               now.canaries() < kFewCanaries ? " (assumed)" : "");
}

void CaseExecutor::JudgeCanary() {
  const bool cpu = options_.context.facts->device.kind() == "cpu";
  drift_ = DriftOf(known_.sessions, cpu ? kLeastCpuDriftRatio : kLeastDriftRatio);
  if (drift_.drifting) spdlog::warn("{}: results are SUSPECT", drift_.message);
  TellCanary();
}

void CaseExecutor::TellCanary() {
  v1::CanaryState canary;
  canary.set_ratio(drift_.ratio);
  canary.set_drifting(drift_.drifting);
  canary.set_message(drift_.message);
  canary.set_count(canaries_flown_);
  canary.set_bad_count(bad_canaries_);
  if (known_.last_session_micros > 0) {
    *canary.mutable_time() = ToTimestamp(known_.last_session_micros);
  }
  options_.condition->SetCanary(std::move(canary));
}

}  // namespace kbench
