// The rounds of a case and the checks after them.
#include <poll.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "fmt/format.h"
#include "worker/daemon/case_driver.h"
#include "worker/experiment/signs.h"
#include "worker/experiment/verdict.h"
#include "worker/stats/summary.h"

namespace kbench {
namespace {

constexpr int kFirstLook = experiment::kLooks.front();
constexpr int kMostHotRounds = 5;
constexpr int kMostEmptyRounds = 3;
constexpr double kMostCoolSeconds = 5;
// A burst that takes ten times as long as it should, and seconds more, is a hang.
constexpr double kHangFactor = 10;
constexpr double kHangSeconds = 3;
// A burst that fitted the budget and overruns it met a busy host: it may end, so that the rounds
// before it keep their worth.
constexpr double kGraceSeconds = 2;

bool AllPositive(const google::protobuf::RepeatedField<double>& seconds) {
  return std::all_of(seconds.begin(), seconds.end(), [](double value) { return value > 0; });
}

}  // namespace

// Cells of the next round. The baseline stays as long as anybody is measured, so that every other
// cell is paired in all of its rounds.
std::vector<Cell*> CaseDriver::ActiveCells() {
  std::vector<Cell*> active;
  bool anybody = false;
  for (Cell* cell : Resident()) {
    anybody = anybody || !cell->settled();
    if (!cell->settled() || cell->baseline) active.push_back(cell);
  }
  if (!anybody) active.clear();
  return active;
}

void CaseDriver::Measure() {
  measure_start_ = Elapsed();
  for (auto active = ActiveCells(); !active.empty() && !Stopped(); active = ActiveCells()) {
    if (!RunRound(round_, active)) break;
    ++round_;
    for (Cell* cell : active) {
      if (cell->state == Cell::State::kResident && !cell->settled()) LookAt(*cell);
    }
  }
  for (Cell* cell : Resident()) {
    if (cell->settled() || cell->record.rounds.empty()) continue;
    const experiment::StopRule rule{policy_.target_ratio(), cell->prepared.clock_quantum_seconds()};
    cell->stop = experiment::Conclude(rule, cell->record.Medians());
  }
}

// False when the time is over.
bool CaseDriver::RunRound(int round, const std::vector<Cell*>& active) {
  std::vector<experiment::SampleCost> costs;
  int fewest = experiment::kMaxRounds;
  for (const Cell* cell : active) {
    costs.push_back(cell->cost);
    fewest = std::min(fewest, static_cast<int>(cell->record.rounds.size()));
  }
  const double soft = effort_.soft_measure_seconds - (Elapsed() - measure_start_);
  if (soft <= 0 && fewest >= kFirstLook) return false;
  const double usable = Usable();
  const double seconds = std::min(usable, std::max(soft, 0.1));
  auto samples = experiment::SamplesOfRound(costs, std::max(1, kFirstLook - fewest), seconds);
  if (experiment::RoundSeconds(costs, samples) > usable) return false;

  int position = 0;
  for (const int index :
       experiment::RoundPlan(policy_.seed(), static_cast<int>(cells_.size())).Order(round)) {
    const auto found =
        std::find(active.begin(), active.end(), cells_[static_cast<std::size_t>(index)].get());
    if (found == active.end()) continue;
    if (Stopped()) return false;
    Visit(**found, round, position++, samples[static_cast<std::size_t>(found - active.begin())]);
  }
  return true;
}

void CaseDriver::Visit(Cell& cell, int round, int position, int samples) {
  const double expected = samples * std::max(cell.cost.pace_seconds, cell.cost.device_seconds);
  const double left = deadline_ - start_ - Elapsed();
  v1::RunnerRequest request;
  request.mutable_burst()->set_samples(samples);
  request.mutable_burst()->set_max_seconds(std::max(0.05, std::min(3 * expected + 0.1, left)));
  const double watchdog =
      std::min(kHangFactor * expected + kHangSeconds, std::max(0.0, left) + kGraceSeconds);
  context_.monitor->Begin();
  const double begin = Elapsed();
  auto reply = cell.runner->Call(std::move(request), watchdog, "measure", cancel_);
  const v1::Telemetry telemetry = context_.monitor->End();
  if (!reply.ok()) {
    End(cell, reply.error());
    return;
  }
  cell.telemetry.Add(telemetry, Elapsed() - begin);
  const v1::BurstDone& burst = reply->burst();
  if (burst.device_seconds_size() > samples || !AllPositive(burst.device_seconds()) ||
      burst.discarded() < 0) {
    RunnerError error{v1::OUTCOME_CRASHED, "BAD_BURST", "", 0, false};
    error.message = fmt::format(
        "the runner answered a burst of {} with {} samples, or with times "
        "that are not positive",
        samples, burst.device_seconds_size());
    End(cell, error);
    return;
  }
  TakeBurst(cell, round, position, burst, telemetry);
  Say("measure", cell.name);
}

void CaseDriver::TakeBurst(Cell& cell, int round, int position, const v1::BurstDone& burst,
                           const v1::Telemetry& telemetry) {
  if (burst.device_seconds().empty()) {
    ++cell.record.discarded_rounds;
    if (++cell.empty_rounds >= kMostEmptyRounds) {
      End(cell, v1::OUTCOME_INFRA, "NO_SAMPLES",
          "the host disturbed every sample of three rounds in a row");
    }
    return;
  }
  cell.empty_rounds = 0;
  const bool hot = experiment::FateOfRound(telemetry) == experiment::RoundFate::kDiscard;
  if (hot && cell.rounds_lost_to_heat < kMostHotRounds) {
    CoolDown(cell);
    return;
  }
  experiment::RoundRecord record;
  record.round = round;
  record.position = position;
  record.device_seconds.assign(burst.device_seconds().begin(), burst.device_seconds().end());
  record.submit_seconds.assign(burst.submit_seconds().begin(), burst.submit_seconds().end());
  record.discarded_samples = burst.discarded();
  record.flags.assign(burst.flags().begin(), burst.flags().end());
  record.clock_hertz = telemetry.sm_clock_hertz();
  cell.record.Add(std::move(record));
  const double taken = burst.device_seconds_size() + burst.discarded();
  cell.cost.device_seconds = cell.record.rounds.back().median;
  if (burst.seconds() > 0) cell.cost.pace_seconds = burst.seconds() / taken;
}

// Throws the round away and waits for the device to cool, as far as the budget allows.
void CaseDriver::CoolDown(Cell& cell) {
  ++cell.rounds_lost_to_heat;
  ++cell.record.discarded_rounds;
  const double wait = std::min(kMostCoolSeconds, Usable() / 4);
  if (wait <= 0) return;
  pollfd entry{cancel_->fd(), POLLIN, 0};
  poll(&entry, 1, static_cast<int>(wait * 1000));
}

void CaseDriver::LookAt(Cell& cell) {
  const experiment::StopRule rule{policy_.target_ratio(), cell.prepared.clock_quantum_seconds()};
  const auto medians = cell.record.Medians();
  // A drift seen at the first look means that the warm-up was too short: once, start again.
  const bool first_look = static_cast<int>(medians.size()) == kFirstLook && !cell.restarted;
  if (first_look && experiment::DriftOf(medians, policy_.target_ratio()).drifting) {
    const double spent = Elapsed() - measure_start_;
    if (Usable() > 4 * spent && effort_.soft_measure_seconds > 4 * spent) {
      cell.restarted = true;
      cell.record.Restart();
      WarmUp(cell, 2);
      return;
    }
  }
  cell.stop = experiment::Look(rule, medians);
}

void CaseDriver::VerifyAfter() {
  const double budget = deadline_ - start_;
  const auto left = [&] { return budget - Elapsed() - experiment::ReportReserve(budget) / 2; };
  for (Cell* cell : Resident()) {
    if (Stopped()) return;
    Say("check", cell->name);
    if (cell->record.rounds.empty()) {
      End(*cell, v1::OUTCOME_SKIPPED, "OVER_BUDGET", "no round fitted what was left of the budget");
      cell->estimate_seconds = cell->launch_seconds();
      continue;
    }
    if (left() <= 0) continue;
    // A hang here must not take the time of the others' checks.
    const double most = 3 * cell->check_seconds + 2;
    if (!VerifyStage(*cell, v1::Verify::AFTER, policy_.seed(), std::min(left(), most))) continue;
    if (left() <= cell->check_seconds) continue;
    cell->reverified =
        VerifyStage(*cell, v1::Verify::NEW_SEED, policy_.seed() + 1, std::min(left(), most));
  }
}

}  // namespace kbench
