#include "worker/daemon/case_driver.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "fmt/format.h"
#include "kernels/catalog/catalog.h"
#include "proto/support/ids.h"
#include "spdlog/spdlog.h"
#include "worker/daemon/runner_hello.h"

namespace kbench {
namespace {

constexpr double kDefaultTargetRatio = 0.005;
constexpr double kProgressSeconds = 0.2;
constexpr double kFinishRequestSeconds = 5;
// The rest of the budget is the profiler's.
constexpr double kMeasureShareBesideProfile = 0.5;

v1::MeasurementPolicy WithDefaults(v1::MeasurementPolicy policy) {
  if (!(policy.target_ratio() > 0)) policy.set_target_ratio(kDefaultTargetRatio);
  if (policy.flush().empty()) policy.set_flush("clean");
  if (policy.seed() == 0) policy.set_seed(1);
  if (ToSeconds(policy.case_budget()) <= 0) {
    *policy.mutable_case_budget() = ToDuration(experiment::kDefaultCaseSeconds);
  }
  return policy;
}

}  // namespace

CaseDriver::CaseDriver(DriverContext context, const v1::Assign& assign, const CancelToken* cancel,
                       ProgressFn progress)
    : context_(std::move(context)),
      assign_(assign),
      cancel_(cancel),
      progress_(std::move(progress)),
      start_(context_.clock->SteadySeconds()),
      policy_(WithDefaults(assign.policy())),
      phases_("prepare", start_) {
  const double budget = ToSeconds(policy_.case_budget());
  end_ = start_ + budget;
  deadline_ = policy_.profile() ? start_ + kMeasureShareBesideProfile * budget : end_;
  const bool steady = assign.case_().mode() == "steady";
  effort_ = experiment::EffortFor(policy_.target_ratio(), steady);
  // On a CPU, whose cores others share, a mean would hold their work too.
  full_steady_ = steady && policy_.target_ratio() < experiment::kQuickTarget &&
                 context_.facts->device.kind() == "cuda";
  for (const std::string& name : assign.implementations()) {
    auto cell = std::make_unique<Cell>();
    cell->name = name;
    cell->baseline = name == assign.baseline();
    for (const v1::Fallback& fallback : assign.fallbacks()) {
      if (fallback.implementation() != name) continue;
      cell->lower.assign(fallback.lower().begin(), fallback.lower().end());
    }
    cells_.push_back(std::move(cell));
  }
}

CaseDriver::PhaseScope::PhaseScope(CaseDriver* driver, const char* phase)
    : driver_(driver),
      before_(driver->phases_.Enter(phase, driver->context_.clock->SteadySeconds())) {}

CaseDriver::PhaseScope::~PhaseScope() {
  driver_->phases_.Enter(before_, driver_->context_.clock->SteadySeconds());
}

CaseDriver::~CaseDriver() {
  for (const auto& cell : cells_) {
    if (cell->runner == nullptr || !cell->runner->alive()) continue;
    if (assign_.more_of_job() && !cancel_->cancelled()) ReleaseRunner(*cell);
    cell->runner.reset();
  }
  std::error_code ignored;
  if (!reference_dir_.empty()) std::filesystem::remove_all(reference_dir_, ignored);
}

AttemptOutcome CaseDriver::Run() {
  AttemptOutcome outcome;
  *outcome.result.mutable_id() = assign_.id();
  if (absl::Status status = Resolve(); !status.ok()) {
    outcome.result.set_infra_error(std::string(status.message()));
    return outcome;
  }
  if (WaitUntilFree()) {
    start_celsius_ = context_.monitor->Now().temperature_celsius();
    while (!Stopped() && RunGroup()) ++groups_;
    if (!Stopped()) ProfileCells();
  }
  phases_.Enter("finish", context_.clock->SteadySeconds());
  ConcludeUnfinished();
  ElectBaseline();
  Say("finish", "");
  if (!Stopped()) Disassemble();
  for (const auto& cell : cells_) {
    v1::Result result = MakeResult(*cell);
    AddArtifacts(*cell, &result, &outcome.result);
    *outcome.result.add_results() = std::move(result);
  }
  if (cancel_->cancelled()) {
    outcome.result.set_cancelled(true);  // for a shutdown: nobody asked, so it is handed back
  } else if (!device_.ok()) {
    outcome.result.set_infra_error(std::string(device_.message()));
  } else {
    outcome.result.set_infra_error(busy_error_);
  }
  RememberCode(outcome.result);
  auto& seconds = *outcome.result.mutable_phase_seconds();
  for (const auto& [phase, spent] : phases_.Until(context_.clock->SteadySeconds())) {
    seconds[phase] = spent;
  }
  seconds["burst"] = burst_seconds_;
  outcome.device = device_;
  return outcome;
}

absl::Status CaseDriver::Resolve() {
  const v1::CaseSpec& spec = assign_.case_();
  const std::string& size = spec.shape().empty() ? spec.size() : spec.shape();
  const auto problem = MakeProblem(spec.kernel(), spec.dtype(), size, spec.mode());
  if (!problem.ok()) {
    return absl::InvalidArgumentError("the assigned case is not valid: " + problem.error().message);
  }
  assign_.mutable_case_()->set_shape(problem->shape.Canonical());
  assign_.mutable_case_()->set_mode(ModeName(problem->mode));
  const KernelEntry& kernel = *FindKernel(spec.kernel());
  work_.flops = kernel.flops(*problem);
  work_.bytes = kernel.compulsory_bytes(*problem);
  const auto& peaks = context_.facts->device.peak_flops();
  if (const auto peak = peaks.find(spec.dtype()); peak != peaks.end()) {
    work_.peak_flops = peak->second;
  }
  work_.peak_bandwidth = context_.facts->device.peak_bandwidth();

  reference_dir_ = context_.scratch_dir + "/case-" + RandomId(8);
  std::error_code error;
  std::filesystem::create_directories(reference_dir_, error);
  if (error) {
    return absl::InternalError("cannot make the folder " + reference_dir_ + ": " + error.message());
  }
  return absl::OkStatus();
}

// One group: everything that fits on the device together with the baseline. False when no cell
// waits any more.
bool CaseDriver::RunGroup() {
  const auto waiting = [&] {
    return std::count_if(cells_.begin(), cells_.end(),
                         [](const auto& cell) { return cell->state == Cell::State::kWaiting; });
  };
  if (waiting() == 0) return false;
  if (Usable() <= 0) {
    for (const auto& cell : cells_) {
      if (cell->state != Cell::State::kWaiting) continue;
      End(*cell, v1::OUTCOME_SKIPPED, "BUDGET",
          "the time of the case was used up before its turn came");
    }
    return false;
  }
  PrepareGroup();
  VerifyBefore();
  ElectBaseline();
  Measure();
  VerifyAfter();
  if (Stopped()) return false;  // numbers that were not checked again do not count
  CollectCode();
  const bool more = waiting() > 0;
  for (Cell* cell : Resident()) {
    cell->state = Cell::State::kMeasured;
    cell->measured_before = true;
    // Make room for the next group.
    if (more) ReleaseRunner(*cell);
  }
  return more;
}

void CaseDriver::ConcludeUnfinished() {
  for (const auto& cell : cells_) {
    if (cell->state == Cell::State::kEnded || cell->state == Cell::State::kMeasured) continue;
    if (cancel_->why() == CancelToken::Why::kShutdown) {
      End(*cell, v1::OUTCOME_INFRA, "SHUTDOWN", "the worker is shutting down");
    } else if (cancel_->cancelled()) {
      End(*cell, v1::OUTCOME_CANCELLED, "CANCELLED", "cancelled on request");
    } else {
      End(*cell, v1::OUTCOME_INFRA, "DEVICE_LOST", std::string(device_.message()));
    }
  }
}

double CaseDriver::Elapsed() const { return context_.clock->SteadySeconds() - start_; }

double CaseDriver::FinishSeconds() const {
  double seconds = 0;
  for (const auto& cell : cells_) {
    if (cell->state != Cell::State::kResident) continue;
    // The check after the rounds needs no launch; the one on new inputs takes as long as the first.
    const double launch = cell->launch_seconds();
    const double check = cell->check_seconds > 0 ? cell->check_seconds : 1.2 * launch;
    seconds += 1.1 * check + std::max(0.2 * check, 1.1 * (check - launch));
  }
  return seconds;
}

double CaseDriver::Usable() const {
  const double budget = deadline_ - start_;
  return budget - Elapsed() - experiment::ReportReserve(budget) - FinishSeconds();
}

double CaseDriver::LeftAfterRounds() const {
  const double budget = end_ - start_;
  return budget - Elapsed() - experiment::ReportReserve(budget);
}

std::vector<Cell*> CaseDriver::Resident() {
  std::vector<Cell*> resident;
  for (const auto& cell : cells_) {
    if (cell->state == Cell::State::kResident) resident.push_back(cell.get());
  }
  return resident;
}

void CaseDriver::End(Cell& cell, v1::Outcome outcome, const std::string& reason,
                     const std::string& message) {
  End(cell, RunnerError{outcome, reason, message, 0, false});
}

void CaseDriver::End(Cell& cell, const RunnerError& error) {
  // A baseline that cannot join a later group keeps the numbers of the earlier one; a wrong result
  // takes them away.
  const bool keep_numbers = cell.measured_before && error.outcome != v1::OUTCOME_WRONG_RESULT;
  cell.state = keep_numbers ? Cell::State::kMeasured : Cell::State::kEnded;
  cell.outcome = error.outcome;
  cell.reason = error.reason;
  cell.message = error.message;
  if (error.estimate_seconds > 0) cell.estimate_seconds = error.estimate_seconds;
  if (error.outcome == v1::OUTCOME_WRONG_RESULT || error.outcome == v1::OUTCOME_CRASHED ||
      error.outcome == v1::OUTCOME_TIMED_OUT) {
    ForgetCandidate(cell);
  }
  const bool sound =
      error.outcome == v1::OUTCOME_UNSUPPORTED || error.outcome == v1::OUTCOME_SKIPPED;
  if (sound && !error.lost) {
    ReleaseRunner(cell);
    return;
  }
  if (cell.runner == nullptr) return;
  cell.runner->Kill();
  const std::string printed = cell.runner->TakeOutput();
  cell.output += printed;
  const bool tells = error.lost && error.outcome != v1::OUTCOME_CANCELLED;
  if (const std::string line = tells ? LastLine(printed) : ""; !line.empty()) {
    cell.message += "; it said last: " + line;
  }
  cell.runner.reset();
  UpdateOwnProcesses();
  if (!Stopped()) CheckDevice(cell);
}

// After a bad outcome: does the device still answer? A case on a wedged device would blame the next
// implementation for the last one's fault.
void CaseDriver::CheckDevice(const Cell& cell) {
  const absl::Status status = context_.monitor->Check();
  if (status.ok()) return;
  device_ =
      absl::UnavailableError("after " + cell.name + " ended with " +
                             v1::Outcome_Name(cell.outcome) + ": " + std::string(status.message()));
  spdlog::error("{}", std::string(device_.message()));
}

// Frees the case in the runner and keeps the runner for the job's next case.
void CaseDriver::ReleaseRunner(Cell& cell) {
  if (cell.runner == nullptr) return;
  cell.output += cell.runner->TakeOutput();
  v1::RunnerRequest request;
  request.mutable_finish();
  const auto reply =
      cell.runner->Call(std::move(request), kFinishRequestSeconds, "finish", cancel_);
  // Where one process alone may hold a context, a kept runner would keep it from the next.
  if (reply.ok() && cell.runner->alive() && !context_.facts->exclusive) {
    context_.pool->Keep(cell.name, std::move(cell.runner));
  }
  cell.runner.reset();
}

void CaseDriver::UpdateOwnProcesses() {
  std::vector<int> pids;
  for (const auto& cell : cells_) {
    if (cell->runner != nullptr && cell->runner->alive()) pids.push_back(cell->runner->pid());
  }
  context_.monitor->SetOwnProcesses(pids);
}

void CaseDriver::Say(const std::string& phase, const std::string& implementation) {
  const double now = context_.clock->SteadySeconds();
  if (!progress_ || (phase == last_phase_ && now - last_progress_ < kProgressSeconds)) return;
  last_progress_ = now;
  last_phase_ = phase;
  v1::Progress progress;
  progress.set_case_index(assign_.id().case_index());
  progress.set_phase(phase);
  progress.set_implementation(implementation);
  progress.set_message(wait_message_);
  progress.set_max_rounds(experiment::kMaxRounds);
  *progress.mutable_elapsed() = ToDuration(Elapsed());
  double widest = 0;
  bool all_known = true;
  for (const auto& cell : cells_) {
    if (cell->record.rounds.empty()) continue;
    const auto medians = cell->record.Medians();
    progress.set_round(std::max(progress.round(), static_cast<int>(medians.size())));
    const double ratio = experiment::IntervalRatio(medians);
    all_known = all_known && ratio > 0;
    widest = std::max(widest, ratio);
    if (progress.median_seconds() == 0 || cell->baseline) {
      progress.set_median_seconds(experiment::DeviceTime(cell->record).median());
    }
  }
  if (all_known) progress.set_interval_ratio(widest);
  progress_(progress);
}

}  // namespace kbench
