// The rounds of a case and the checks after them.
#include <algorithm>
#include <cmath>
#include <utility>

#include "fmt/format.h"
#include "stats/summary.h"
#include "worker/daemon/case_driver.h"
#include "worker/experiment/signs.h"
#include "worker/experiment/verdict.h"

namespace kbench {
namespace {

constexpr int kFirstLook = experiment::kLooks.front();
constexpr int kMostHotRounds = 5;
constexpr int kMostEmptyRounds = 3;
// Cooling down: 5 s, doubled with each round lost, at most a minute, until the device is no more
// than 2 C above where it started.
constexpr double kCoolSeconds = 5;
constexpr double kMostCoolSeconds = 60;
constexpr double kCoolStepSeconds = 0.25;
constexpr double kCoolCelsius = 2;
// Rounds that the host disturbed: repeated as often as half of the next look has rounds.
constexpr int kMostDisturbedRounds = 12;
constexpr double kClockTolerance = 0.03;
constexpr std::size_t kClockRounds = 3;  // to know what clock is usual
constexpr int kMostOffClockRounds = 5;
// After this long without work a device lowers its clock.
constexpr double kIdleSeconds = 0.25;
constexpr double kRewarmSeconds = 0.02;
// Preparing and checking are paid for already: measuring takes as long again, up to this, instead
// of stopping at the least that gives an interval.
constexpr double kStretchSeconds = 1.5;
// Of the time left, what rounds are planned to take: visits are repeated, and costs only estimates.
constexpr double kEscalationShare = 0.95;
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
// cell is paired in all of its rounds. At the power limit all stay: what one cell draws decides at
// what clock the next one runs (H200, matmul fp16 8192: 1.47 ms with a rival beside it, 1.6 ms once
// that had converged and left).
std::vector<Cell*> CaseDriver::ActiveCells() {
  std::vector<Cell*> active;
  const auto resident = Resident();
  const bool limited = policy_.target_ratio() < experiment::kQuickTarget &&
                       std::any_of(resident.begin(), resident.end(),
                                   [](const Cell* cell) { return cell->telemetry.PowerLimited(); });
  bool anybody = false;
  for (Cell* cell : resident) {
    anybody = anybody || !cell->settled();
    if (!cell->settled() || cell->baseline || limited) active.push_back(cell);
  }
  if (!anybody) active.clear();
  return active;
}

void CaseDriver::Measure() {
  const PhaseScope phase(this, "measure");
  measure_start_ = Elapsed();
  escalated_passes_ = 1;
  if (full_steady_) {
    effort_.soft_measure_seconds =
        experiment::SteadyMeasureSeconds(measure_start_ + FinishSeconds());
  }
  for (auto active = ActiveCells(); !active.empty() && !Stopped(); active = ActiveCells()) {
    if (!RunRound(round_, active)) break;
    ++round_;
    for (Cell* cell : active) {
      if (cell->state == Cell::State::kResident && !cell->settled()) LookAt(*cell);
    }
    Escalate(active);
  }
  for (Cell* cell : Resident()) {
    if (cell->settled() || cell->record.rounds.empty()) continue;
    const experiment::StopRule rule{policy_.target_ratio(), cell->prepared.clock_quantum_seconds()};
    cell->stop = experiment::Conclude(rule, cell->record.Medians());
  }
}

double CaseDriver::SoftSecondsLeft() const {
  return effort_.soft_measure_seconds - (Elapsed() - measure_start_);
}

// False when the time is over.
bool CaseDriver::RunRound(int round, const std::vector<Cell*>& active) {
  std::vector<experiment::SampleCost> costs;
  std::vector<int> most;
  int fewest = experiment::kMaxRounds;
  for (const Cell* cell : active) {
    costs.push_back(cell->cost);
    most.push_back(experiment::MostSamples(cell->cost));
    fewest = std::min(fewest, static_cast<int>(cell->record.rounds.size()));
  }
  const double soft = SoftSecondsLeft();
  if (soft <= 0 && fewest >= kFirstLook) return false;
  const double usable = Usable();
  const double seconds = std::min(usable, std::max(soft, 0.1));
  pass_samples_ = experiment::SamplesOfRound(costs, std::max(1, kFirstLook - fewest), seconds);
  pass_seconds_ = experiment::PassSeconds(costs, pass_samples_);
  if (pass_seconds_ > usable) return false;
  const double fit = std::min(seconds / std::max(pass_seconds_, 1e-9), 1e6);
  passes_ = std::clamp(std::max(StretchedPasses(seconds), escalated_passes_), 1,
                       std::max(1, static_cast<int>(fit)));
  const auto order = OrderOf(round, active);
  for (std::size_t place = 0; place < order.size(); ++place) {
    active[order[place]]->pooled = {};
    active[order[place]]->pooled.round = round;
    active[order[place]]->pooled.back_to_back = full_steady_;
    active[order[place]]->pooled.position = static_cast<int>(place);
  }
  const bool complete =
      RunVisits(active, experiment::VisitsOfRound(order, pass_samples_, most, passes_));
  for (Cell* cell : active) {
    if (cell->pooled.device_seconds.empty()) continue;
    cell->record.Add(std::move(cell->pooled));
    cell->cost.device_seconds = cell->record.rounds.back().median;
  }
  return complete && !Stopped();
}

// Indices into `active`, in the order that the plan has for the round.
std::vector<std::size_t> CaseDriver::OrderOf(int round, const std::vector<Cell*>& active) const {
  std::vector<std::size_t> order;
  const experiment::RoundPlan plan(policy_.seed(), static_cast<int>(cells_.size()));
  for (const int index : plan.Order(round)) {
    const auto found =
        std::find(active.begin(), active.end(), cells_[static_cast<std::size_t>(index)].get());
    if (found != active.end()) order.push_back(static_cast<std::size_t>(found - active.begin()));
  }
  return order;
}

// What was pooled when the time is over counts; cells are compared in the rounds that both have.
bool CaseDriver::RunVisits(const std::vector<Cell*>& active,
                           const std::vector<experiment::PlannedVisit>& visits) {
  for (const experiment::PlannedVisit& visit : visits) {
    Cell& cell = *active[visit.cell];
    // A visit that is thrown away is repeated at once: the cells stay paired round by round.
    const std::size_t kept = cell.pooled.visits.size();
    while (cell.state == Cell::State::kResident && cell.pooled.visits.size() == kept) {
      if (Stopped()) return false;
      // The first pass was planned to fit; what comes after it only makes the round better.
      if (visit.pass > 0 && Usable() < VisitSeconds(cell, visit.samples)) return false;
      const double begin = Elapsed();
      Visit(cell, visit.samples);
      if (Usable() < Elapsed() - begin) break;
    }
  }
  return true;
}

double CaseDriver::VisitSeconds(const Cell& cell, int samples) {
  return experiment::PassSeconds({cell.cost}, {samples});
}

// More passes where rounds are short beside what the case has cost so far.
int CaseDriver::StretchedPasses(double seconds) const {
  if (policy_.target_ratio() >= experiment::kQuickTarget) return 1;
  const double overhead = measure_start_ + FinishSeconds();
  return experiment::StretchedPasses(pass_seconds_,
                                     std::min({overhead, kStretchSeconds, seconds / 2}));
}

// At a look: more passes for the rounds to come where more rounds alone would not do.
void CaseDriver::Escalate(const std::vector<Cell*>& active) {
  if (policy_.target_ratio() >= experiment::kQuickTarget) return;
  std::vector<experiment::Unsettled> unsettled;
  bool look = false;
  double pass_seconds = 0;  // of who goes on
  const auto going = ActiveCells();
  for (std::size_t i = 0; i < active.size(); ++i) {
    const Cell& cell = *active[i];
    if (std::find(going.begin(), going.end(), &cell) == going.end()) continue;
    pass_seconds += VisitSeconds(cell, pass_samples_[i]);
    if (cell.settled()) continue;
    const auto medians = cell.record.Medians();
    look = look || experiment::IsLook(static_cast<int>(medians.size()));
    experiment::Unsettled& one = unsettled.emplace_back();
    for (const auto& round : cell.record.rounds) {
      one.round_samples.push_back(static_cast<int>(round.device_seconds.size()));
    }
    one.interval_ratio = experiment::IntervalRatio(medians);
    one.pass_samples = pass_samples_[i];
  }
  if (!look) return;
  pass_seconds_ = pass_seconds;
  const double seconds = std::min(Usable(), SoftSecondsLeft());
  escalated_passes_ =
      experiment::EscalatedPasses(unsettled, policy_.target_ratio(), StretchedPasses(seconds),
                                  pass_seconds, kEscalationShare * seconds);
}

// A first visit after idle time would see the clocks climb. False when the cell has ended.
bool CaseDriver::Rewarm(Cell& cell) {
  if (Elapsed() - last_launch_ < kIdleSeconds || cell.launch_seconds() > kIdleSeconds) return true;
  const PhaseScope phase(this, "warm");
  v1::RunnerRequest request;
  request.mutable_warm()->set_min_seconds(kRewarmSeconds);
  request.mutable_warm()->set_max_seconds(4 * kRewarmSeconds);
  auto reply = cell.runner->Call(std::move(request), kHangSeconds + 20 * cell.launch_seconds(),
                                 "warm", cancel_);
  last_launch_ = Elapsed();
  if (!reply.ok()) End(cell, reply.error());
  return reply.ok();
}

void CaseDriver::Visit(Cell& cell, int samples) {
  if (!Rewarm(cell)) return;
  const double start = Elapsed();
  const int lead = experiment::LeadSamples(cell.cost);
  samples += lead;
  const double expected = samples * std::max(cell.cost.pace_seconds, cell.cost.device_seconds);
  const double left = deadline_ - start_ - start;
  v1::RunnerRequest request;
  request.mutable_burst()->set_samples(samples);
  request.mutable_burst()->set_max_seconds(std::max(0.05, std::min(3 * expected + 0.1, left)));
  const double watchdog =
      std::min(kHangFactor * expected + kHangSeconds, std::max(0.0, left) + kGraceSeconds);
  context_.monitor->Begin();
  const double begin = Elapsed();
  auto reply = cell.runner->Call(std::move(request), watchdog, "measure", cancel_);
  v1::Telemetry telemetry = context_.monitor->End();
  const double visit = Elapsed() - begin;
  last_launch_ = Elapsed();
  if (!reply.ok()) {
    End(cell, reply.error());
    return;
  }
  const v1::BurstDone& burst = reply->burst();
  // The cores' own counters know better than the driver what clock the burst ran at.
  if (burst.clock_hertz() > 0) telemetry.set_sm_clock_hertz(burst.clock_hertz());
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
  const double launches = std::max(1, cell.prepared.launches_per_sample()) *
                          (burst.device_seconds_size() + burst.discarded());
  cell.telemetry.Add(telemetry, visit, launches);
  cell.burst_seconds += burst.seconds();
  cell.duty_seconds += burst.duty_ratio() * burst.seconds();
  burst_seconds_ += burst.seconds();
  TakeBurst(cell, burst, lead, telemetry, visit);
  const double taken = burst.device_seconds_size() + burst.discarded();
  if (taken > 0 && burst.seconds() > 0) cell.cost.pace_seconds = burst.seconds() / taken;
  cell.cost.visit_seconds =
      std::max(0.0, begin + visit - start - burst.seconds()) + lead * cell.cost.pace_seconds;
  Say("measure", cell.name);
}

// The host took the core or moved the thread: the visit is repeated, as long as that leaves time
// for the rounds up to the first look.
bool CaseDriver::IsDisturbed(Cell& cell, const v1::BurstDone& burst, double visit_seconds) const {
  const bool flagged =
      std::any_of(burst.flags().begin(), burst.flags().end(),
                  [](const std::string& flag) { return flag == "STOLEN" || flag == "MIGRATED"; });
  if (!flagged) return false;
  const int kept = static_cast<int>(cell.record.rounds.size());
  const auto look = std::find_if(experiment::kLooks.begin(), experiment::kLooks.end(),
                                 [&](int rounds) { return rounds > kept; });
  const int next = look == experiment::kLooks.end() ? experiment::kMaxRounds : *look;
  if (cell.disturbed_visits >= passes_ * std::min(next / 2, kMostDisturbedRounds)) return false;
  const double visits = static_cast<double>(cells_.size()) * passes_;
  return Usable() > 2 * visits * visit_seconds * std::max(1, kFirstLook - kept);
}

// A clock far from the usual one, and no reason for it: once, the visit is repeated. The power cap
// of any visit may hold for all: the driver's readings are too rare to show it in each.
bool CaseDriver::IsOffClock(Cell& cell, const v1::Telemetry& telemetry) const {
  if (context_.facts->device.kind() != "cuda" || telemetry.sm_clock_hertz() <= 0 ||
      !telemetry.throttle_reasons().empty() || cell.telemetry.PowerLimited()) {
    return false;
  }
  std::vector<double> clocks;
  for (const auto& round : cell.record.rounds) {
    if (round.clock_hertz > 0) clocks.push_back(round.clock_hertz);
  }
  if (clocks.size() < kClockRounds) return false;
  const double usual = stats::Median(clocks);
  return std::abs(telemetry.sm_clock_hertz() - usual) > kClockTolerance * usual;
}

// `lead` samples at its beginning do not count; of a burst that was cut short, half at most.
void CaseDriver::TakeBurst(Cell& cell, const v1::BurstDone& burst, int lead,
                           const v1::Telemetry& telemetry, double visit_seconds) {
  if (burst.device_seconds().empty()) {
    ++cell.record.discarded_rounds;
    if (++cell.empty_rounds >= kMostEmptyRounds) {
      End(cell, v1::OUTCOME_INFRA, "NO_SAMPLES",
          "the host disturbed every sample of three visits in a row");
    }
    return;
  }
  cell.empty_rounds = 0;
  const bool hot = experiment::FateOfRound(telemetry) == experiment::RoundFate::kDiscard;
  if (hot && cell.rounds_lost_to_heat < kMostHotRounds) {
    CoolDown(cell);
    return;
  }
  if (IsDisturbed(cell, burst, visit_seconds)) {
    ++cell.disturbed_visits;
    ++cell.record.discarded_rounds;
    return;
  }
  const bool off_clock = IsOffClock(cell, telemetry);
  const bool repeated = std::exchange(cell.off_clock, off_clock && !cell.off_clock);
  if (off_clock && !repeated && cell.off_clock_rounds < kMostOffClockRounds) {
    ++cell.off_clock_rounds;
    ++cell.record.discarded_rounds;
    return;
  }
  experiment::VisitRecord visit;
  visit.device_seconds.assign(
      burst.device_seconds().begin() + std::min(lead, burst.device_seconds_size() / 2),
      burst.device_seconds().end());
  visit.submit_seconds.assign(burst.submit_seconds().begin(), burst.submit_seconds().end());
  visit.discarded_samples = burst.discarded();
  visit.flags.assign(burst.flags().begin(), burst.flags().end());
  if (off_clock) visit.flags.push_back("CLOCK_CHANGED");
  visit.clock_hertz = telemetry.sm_clock_hertz();
  visit.seconds = visit_seconds;
  cell.pooled.Pool(std::move(visit));
}

// Throws the visit away and waits for the device to cool, as far as the budget allows.
void CaseDriver::CoolDown(Cell& cell) {
  const double patience =
      std::min(kCoolSeconds * std::exp2(cell.rounds_lost_to_heat), kMostCoolSeconds);
  const double end = Elapsed() + std::min(patience, Usable() / 4);
  ++cell.rounds_lost_to_heat;
  ++cell.record.discarded_rounds;
  while (Elapsed() < end && Pause(std::min(kCoolStepSeconds, end - Elapsed()))) {
    const double celsius = context_.monitor->Now().temperature_celsius();
    if (celsius <= start_celsius_ + kCoolCelsius) return;
  }
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
  const PhaseScope phase(this, "check");
  const double budget = deadline_ - start_;
  const auto left = [&] { return budget - Elapsed() - experiment::ReportReserve(budget) / 2; };
  for (Cell* cell : Resident()) {
    if (Stopped()) return;
    Say("check", cell->name);
    if (cell->record.rounds.empty()) {
      End(*cell, v1::OUTCOME_SKIPPED, "OVER_BUDGET",
          fmt::format("preparing and warming up left no time for a round within the budget of "
                      "{:.3g} s; give more with --budget",
                      budget));
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
