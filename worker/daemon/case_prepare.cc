// Preparing, the first check and the warm-up of a case's cells.
#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "fmt/format.h"
#include "kernels/catalog/catalog.h"
#include "worker/daemon/case_driver.h"
#include "worker/device/cpu_device.h"
#include "worker/engine/kbench_engine.h"
#include "worker/experiment/budget.h"

namespace kbench {
namespace {

// Above this the first call and the check have warmed everything there is to warm.
constexpr double kNoWarmUpSeconds = 0.3;
// The engine gives up holding a GPU's queue after so long (worker/engine/kbench_engine.h) and
// says that the launch waits for the device: it must have the time to say so.
constexpr double kEngineGuardSeconds = KB_BLOCKER_SECONDS;
// A runner may take so long to start however little is left of the case's time.
constexpr double kLeastStartSeconds = 1;
// Host memory left to everybody else.
constexpr double kHostMemoryShare = 0.85;

std::string Seconds(double seconds) {
  return seconds < 1 ? fmt::format("{:.0f} ms", seconds * 1e3) : fmt::format("{:.3g} s", seconds);
}

}  // namespace

void CaseDriver::PrepareGroup() {
  // The baseline first: it belongs to every group, and what it needs is set aside before others may
  // claim time.
  std::vector<Cell*> order;
  for (const auto& cell : cells_) {
    const bool again = cell->baseline && cell->state == Cell::State::kMeasured;
    if (again && !context_.facts->exclusive) cell->state = Cell::State::kWaiting;
    if (cell->state == Cell::State::kWaiting) order.push_back(cell.get());
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Cell* a, const Cell* b) { return a->baseline && !b->baseline; });
  // Nothing is measured yet, so a GPU's runners may load and allocate all at once. On a CPU they
  // would spoil each other's estimate of a launch.
  if (context_.facts->device.kind() == "cuda" && !context_.facts->exclusive && order.size() > 1) {
    PrepareTogether(order);
  }
  int left = static_cast<int>(order.size());
  for (Cell* cell : order) {
    if (Stopped()) return;
    if (cell->state != Cell::State::kWaiting) continue;
    if (context_.facts->exclusive && !Resident().empty()) break;
    Say("prepare", cell->name);
    PrepareCell(*cell, left--);
    UpdateOwnProcesses();
  }
  // A group of the baseline alone that was measured before helps nobody: let the others try
  // without.
  const auto resident = Resident();
  const bool only_baseline_again = resident.size() == 1 && resident.front()->baseline &&
                                   !resident.front()->record.rounds.empty();
  if (only_baseline_again) {
    resident.front()->state = Cell::State::kMeasured;
    ReleaseRunner(*resident.front());
    for (Cell* cell : order) {
      if (Stopped()) return;
      if (cell->state == Cell::State::kWaiting) PrepareCell(*cell, 1);
    }
    UpdateOwnProcesses();
  }
  TuneResident();
  DropWhatCannotFit();
}

bool CaseDriver::Known(Cell& cell) {
  if (context_.pool->HelloOf(assign_.case_().kernel(), cell.name) != nullptr) return true;
  const std::string why = context_.pool->WhyAbsent(cell.name);
  End(cell, v1::OUTCOME_UNSUPPORTED, why.empty() ? "UNKNOWN_IMPLEMENTATION" : "ABSENT_FRAMEWORK",
      "no runner of this worker has " + cell.name + " for " + assign_.case_().kernel() +
          (why.empty() ? "" : ": " + why));
  return false;
}

v1::RunnerRequest CaseDriver::PrepareRequest(const Cell& cell, double launch_limit) const {
  v1::RunnerRequest request;
  v1::Prepare& prepare = *request.mutable_prepare();
  *prepare.mutable_case_() = assign_.case_();
  prepare.set_implementation(cell.name);
  prepare.set_seed(policy_.seed());
  prepare.set_reference_dir(reference_dir_);
  prepare.set_launch_limit_seconds(std::max(1e-6, launch_limit));
  prepare.set_flush(policy_.flush());
  prepare.set_candidate(KnownCandidate(cell));
  if (context_.facts->device.kind() == "cuda") {
    prepare.set_flush_bytes(context_.calibration.flush_bytes());
  } else {
    // Without a limit the kernel's out-of-memory killer would answer, and not for us alone.
    prepare.set_memory_limit_bytes(
        static_cast<std::int64_t>(kHostMemoryShare * static_cast<double>(AvailableHostMemory())));
  }
  return request;
}

// All at once, a thread for each runner. What finds no memory beside the others stays waiting: it
// is tried again alone.
void CaseDriver::PrepareTogether(const std::vector<Cell*>& order) {
  std::vector<Cell*> cells;
  for (Cell* cell : order) {
    if (Known(*cell)) cells.push_back(cell);
  }
  if (Usable() <= 0) return;
  Say("prepare", cells.empty() ? "" : cells.front()->name);
  const double limit = experiment::LaunchLimit(Usable(), 0);
  const double seconds = experiment::FairShare(Usable(), 2);
  std::vector<absl::Status> taken(cells.size());
  std::vector<std::optional<Expected<v1::RunnerReply, RunnerError>>> replies(cells.size());
  const double end = SystemClock().SteadySeconds() + seconds;
  const auto prepare = [&](std::size_t i) {
    Cell& cell = *cells[i];
    if (cell.runner == nullptr) {
      auto runner = context_.pool->Take(assign_.case_().kernel(), cell.name,
                                        RunnerPool::Which::kAny, {seconds, cancel_});
      taken[i] = runner.status();
      if (!runner.ok()) return;
      cell.runner = *std::move(runner);
    }
    // A runner that had to be started first has used up some of it.
    const double left = std::max(kLeastStartSeconds, end - SystemClock().SteadySeconds());
    replies[i] = cell.runner->Call(PrepareRequest(cell, limit), left, "prepare", cancel_);
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < cells.size(); ++i) threads.emplace_back(prepare, i);
  for (std::thread& thread : threads) thread.join();
  UpdateOwnProcesses();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (replies[i]) {
      TakePrepared(*cells[i], *std::move(replies[i]), false);
    } else {
      End(*cells[i], v1::OUTCOME_INFRA, "NO_RUNNER", std::string(taken[i].message()));
    }
  }
}

bool CaseDriver::PrepareCell(Cell& cell, int left) {
  if (!Known(cell)) return false;
  if (cell.runner == nullptr) {
    auto runner = context_.pool->Take(assign_.case_().kernel(), cell.name, RunnerPool::Which::kAny,
                                      {std::max(kLeastStartSeconds, Usable()), cancel_});
    if (!runner.ok()) {
      End(cell, v1::OUTCOME_INFRA, "NO_RUNNER", std::string(runner.status().message()));
      return false;
    }
    cell.runner = *std::move(runner);
  }
  if (Usable() <= 0) {
    End(cell, v1::OUTCOME_SKIPPED, "BUDGET",
        "the time of the case was used up before its turn came");
    return false;
  }
  // Usable() keeps about two launches of each resident cell aside for its last checks.
  double claimed = 0;
  for (const Cell* other : Resident()) {
    claimed += (experiment::kMinLaunches - 2) * other->launch_seconds();
  }
  const double usable = Usable();
  const std::string tried = cell.name;
  auto reply = cell.runner->Call(PrepareRequest(cell, experiment::LaunchLimit(usable, claimed)),
                                 experiment::FairShare(usable, left), "prepare", cancel_);
  if (TakePrepared(cell, std::move(reply), Resident().empty())) return true;
  return cell.name != tried && !Stopped() && PrepareCell(cell, left);
}

// A variant that runs as the best of its family, and not because somebody asked for it, gives its
// row to the next lower one.
bool CaseDriver::TakeLower(Cell& cell, const std::string& why) {
  const std::string& kernel = assign_.case_().kernel();
  while (!cell.lower.empty()) {
    const std::string name = cell.lower.front();
    cell.lower.erase(cell.lower.begin());
    const auto* hello = context_.pool->HelloOf(kernel, name);
    const bool runs = std::any_of(cells_.begin(), cells_.end(),
                                  [&](const auto& other) { return other->name == name; });
    if (hello == nullptr || runs) continue;
    // Nothing was allocated: the runner may go on, if it has this variant too.
    if (hello != context_.pool->HelloOf(kernel, cell.name)) ReleaseRunner(cell);
    cell.instead_of += (cell.instead_of.empty() ? "" : "; ") + cell.name + ": " + why;
    cell.name = name;
    return true;
  }
  return false;
}

// `last_try`: no other cell takes memory away, so that waiting for one helps nobody.
bool CaseDriver::TakePrepared(Cell& cell, Expected<v1::RunnerReply, RunnerError> reply,
                              bool last_try) {
  last_launch_ = Elapsed();
  if (!reply.ok()) {
    const RunnerError& error = reply.error();
    const bool refused = error.outcome == v1::OUTCOME_UNSUPPORTED && !error.lost;
    if (refused && TakeLower(cell, error.message)) return false;
    if (error.outcome == v1::OUTCOME_OUT_OF_MEMORY && !error.lost && !last_try) {
      ReleaseRunner(cell);  // waits for a group of its own
    } else {
      End(cell, error);
    }
    return false;
  }
  cell.prepared = std::move(*reply->mutable_prepared());
  if (cell.tune_seconds > 0) {  // in an earlier group
    cell.prepared.set_autotune_seconds(cell.tune_seconds);
    (*cell.prepared.mutable_configuration())["tuned"] = "measured";
  }
  cell.state = Cell::State::kResident;
  return true;
}

void CaseDriver::DropWhatCannotFit() {
  const auto resident = Resident();
  std::vector<experiment::LaunchCost> costs;
  for (const Cell* cell : resident) costs.push_back({cell->launch_seconds(), cell->baseline});
  // The first call is behind us; Usable() keeps the launch of the last check aside.
  const int launches = experiment::kMinLaunches - 2;
  for (const std::size_t index : experiment::DropUntilFits(costs, launches, Usable())) {
    Cell& cell = *resident[index];
    cell.estimate_seconds = costs[index].seconds;
    End(cell, v1::OUTCOME_SKIPPED, "OVER_BUDGET",
        fmt::format("one launch takes about {}: {} of them do not fit what is left of {}",
                    Seconds(costs[index].seconds), launches, Seconds(deadline_ - start_)));
  }
}

void CaseDriver::VerifyBefore() {
  auto resident = Resident();
  int left = static_cast<int>(resident.size());
  const PhaseScope phase(this, "verify");
  for (Cell* cell : resident) {
    if (Stopped()) return;
    if (Usable() <= 0) {
      End(*cell, v1::OUTCOME_SKIPPED, "BUDGET",
          "the time of the case was used up before its result could be checked");
      continue;
    }
    Say("verify", cell->name);
    const double begin = Elapsed();
    const double seconds = experiment::FairShare(Usable(), left--);
    if (!VerifyStage(*cell, v1::Verify::BEFORE, policy_.seed(), seconds)) continue;
    cell->check_seconds = Elapsed() - begin;
  }
  for (Cell* cell : Resident()) {
    if (Stopped()) return;
    if (cell->record.rounds.empty() || cell->baseline) WarmUp(*cell, 1);
  }
}

// When the baseline of the assignment ended badly, the next one of the catalog takes its place: the
// others keep something to stand beside. All cells are visited in every round, so it is paired with
// them even when it is chosen after the rounds.
void CaseDriver::ElectBaseline() {
  if (assign_.baseline().empty() || cancel_->cancelled()) return;
  const auto lost =
      std::find_if(cells_.begin(), cells_.end(), [](const auto& cell) { return cell->baseline; });
  if (lost != cells_.end() && (*lost)->state != Cell::State::kEnded) return;
  for (const std::string& name : FindKernel(assign_.case_().kernel())->baselines) {
    for (const auto& cell : cells_) {
      if (cell->name != name || cell->state == Cell::State::kEnded) continue;
      if (lost != cells_.end()) (*lost)->baseline = false;
      cell->baseline = true;
      return;
    }
  }
}

bool CaseDriver::VerifyStage(Cell& cell, v1::Verify::Stage stage, std::uint64_t seed,
                             double seconds) {
  v1::RunnerRequest request;
  request.mutable_verify()->set_stage(stage);
  request.mutable_verify()->set_seed(seed);
  auto reply = cell.runner->Call(std::move(request), seconds, "verify", cancel_);
  last_launch_ = Elapsed();
  if (!reply.ok()) {
    End(cell, reply.error());
    return false;
  }
  const v1::Verified& verified = reply->verified();
  const bool worse = cell.stages.empty() || !verified.passed() ||
                     verified.relative_error() > cell.verified.relative_error();
  if (worse) cell.verified = verified;
  const char* const name = stage == v1::Verify::BEFORE  ? "before"
                           : stage == v1::Verify::AFTER ? "after"
                                                        : "new-seed";
  if (std::find(cell.stages.begin(), cell.stages.end(), name) == cell.stages.end()) {
    cell.stages.push_back(name);
  }
  if (!verified.passed()) {
    std::string message = verified.message();
    if (message.empty()) {
      message = fmt::format("the output is wrong: relative error {:.3g}, at most {:.3g} allowed",
                            verified.relative_error(), verified.tolerance());
    }
    End(cell, v1::OUTCOME_WRONG_RESULT, verified.reason().empty() ? "TOLERANCE" : verified.reason(),
        message);
    return false;
  }
  return true;
}

void CaseDriver::WarmUp(Cell& cell, double factor) {
  const double launch = cell.prepared.estimate_seconds();
  cell.cost = {.device_seconds = launch, .pace_seconds = 1.1 * launch};
  if (launch > kNoWarmUpSeconds) return;
  const PhaseScope phase(this, "warm");
  Say("warm", cell.name);
  const int left = static_cast<int>(Resident().size());
  const double share = experiment::FairShare(Usable(), left) / 2;
  v1::RunnerRequest request;
  v1::Warm& warm = *request.mutable_warm();
  warm.set_max_seconds(std::min(factor * effort_.warm_max_seconds, share));
  warm.set_min_seconds(std::min(factor * effort_.warm_min_seconds, warm.max_seconds()));
  double watchdog = std::min(3 * warm.max_seconds() + 20 * launch + 2, 2 * share + 1);
  if (context_.facts->device.kind() == "cuda") {
    watchdog = std::max(watchdog, kEngineGuardSeconds + 1);
  }
  auto reply = cell.runner->Call(std::move(request), watchdog, "warm", cancel_);
  last_launch_ = Elapsed();
  if (!reply.ok()) {
    End(cell, reply.error());
    return;
  }
  const v1::Warmed& warmed = reply->warmed();
  const auto& calls = warmed.end_to_end_calls();
  cell.end_to_end_calls.assign(calls.begin(), calls.end());
  if (warmed.sample_seconds() > 0) {
    cell.cost.device_seconds = warmed.sample_seconds();
    cell.cost.pace_seconds = std::max(warmed.pace_seconds(), warmed.sample_seconds());
    if (full_steady_) {
      cell.cost.steady_seconds = experiment::kSteadyVisitSeconds;
      cell.cost.visit_seconds = experiment::kSteadyLeadSeconds;
    }
  }
}

}  // namespace kbench
