#include "server/rpc/history_keeper.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <optional>

#include "proto/support/cell_key.h"
#include "proto/support/error.h"
#include "server/history/environment.h"
#include "server/history/points.h"

namespace kbench::server {
namespace {

using kbench::v1::CellKey;
using kbench::v1::CellState;
using kbench::v1::History;
using kbench::v1::Result;
using kbench::v1::StoredCell;

constexpr char kKind[] = "cell";
constexpr char kOwner[] = "kbench";
constexpr char kScheduleLabel[] = "schedule";
constexpr char kConfirmsLabel[] = "confirms";
constexpr int kMostCaughtUp = 2000;  // results that may have come while nobody looked

}  // namespace

HistoryKeeper::HistoryKeeper(store::Store& store, Coordinator& coordinator,
                             metrics::Metrics& metrics, Clock& clock, IntervalOf interval_of,
                             HistoryOptions options)
    : store_(store),
      coordinator_(coordinator),
      metrics_(metrics),
      clock_(clock),
      interval_of_(std::move(interval_of)),
      options_(options) {}

HistoryKeeper::~HistoryKeeper() { Stop(); }

HistoryKeeper::Key HistoryKeeper::KeyOf(const CellKey& cell) {
  return {cell.kernel(), cell.dtype(),          cell.shape(),
          cell.mode(),   cell.implementation(), cell.device()};
}

std::string HistoryKeeper::TextOf(const Key& key) {
  const auto& [kernel, dtype, shape, mode, implementation, device] = key;
  return fmt::format("{}|{}|{}|{}|{}|{}", kernel, dtype, shape, mode, implementation, device);
}

std::string HistoryKeeper::NameOf(const CellKey& cell) {
  return fmt::format("{} {} {} {} {} on {}", cell.kernel(), cell.dtype(), cell.shape(),
                     cell.implementation(), cell.mode(), cell.device());
}

std::set<std::string> HistoryKeeper::AskedOf(const Cell& cell) {
  const auto& jobs = cell.watch.state().confirmations();
  return {jobs.begin(), jobs.end()};
}

bool HistoryKeeper::Matches(const CellKey& filter, const CellKey& cell) {
  const auto fits = [](const std::string& wanted, const std::string& is) {
    return wanted.empty() || wanted == is;
  };
  return fits(filter.kernel(), cell.kernel()) &&
         fits(filter.implementation(), cell.implementation()) &&
         fits(filter.dtype(), cell.dtype()) && fits(filter.shape(), cell.shape()) &&
         fits(filter.mode(), cell.mode()) && fits(filter.device(), cell.device());
}

history::WatchOptions HistoryKeeper::OptionsFor(const std::string& device) {
  history::WatchOptions options;
  for (const kbench::v1::Device& one : coordinator_.Devices()) {
    if (one.name() != device) continue;
    options.gates.clock_step_seconds = one.calibration().quantum_seconds();
    options.between_session_ratio = one.calibration().between_session_ratio();
  }
  return options;
}

absl::Status HistoryKeeper::Restore(const store::Record& record) {
  StoredCell stored;
  if (!stored.ParseFromString(record.payload) || !stored.history().has_state()) {
    return absl::DataLossError("it cannot be read");
  }
  const History& kept = stored.history();
  const CellKey& cell = kept.state().cell();
  MutexLock lock(mutex_);
  const auto [found, added] = cells_.insert_or_assign(
      KeyOf(cell),
      Cell{history::CellWatch::Restore(kept.state(), {kept.points().begin(), kept.points().end()},
                                       {kept.epochs().begin(), kept.epochs().end()}),
           stored.schedule()});
  Tell(found->second);
  return absl::OkStatus();
}

absl::Status HistoryKeeper::Start() {
  KB_ASSIGN_OR_RETURN(const auto records, store_.ReadRecords(kKind));
  for (const store::Record& record : records) {
    const absl::Status restored = Restore(record);
    if (!restored.ok()) {
      spdlog::error("the history of {} is begun anew: {}", record.key, MessageOf(restored));
    }
  }
  CatchUp();
  thread_ = std::thread([this] { Loop(); });
  return absl::OkStatus();
}

void HistoryKeeper::Stop() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

// A result may have become durable right before a crash, and nobody was told.
void HistoryKeeper::CatchUp() {
  absl::StatusOr<std::vector<Result>> latest = store_.LatestResults(kMostCaughtUp);
  if (!latest.ok()) return;
  std::reverse(latest->begin(), latest->end());
  OnResults(*latest, {});
}

void HistoryKeeper::OnResults(const std::vector<Result>& results,
                              const std::map<std::string, std::string>& labels) {
  const auto label = labels.find(kScheduleLabel);
  const std::string schedule = label == labels.end() ? "" : label->second;
  MutexLock lock(mutex_);
  for (const Result& result : results) {
    if (store::IsDefaultResult(result) && !store::IsFixture(result)) {
      arrived_.push_back({result, schedule});
    }
  }
  wake_.NotifyAll();
}

void HistoryKeeper::OnSchedules() {
  MutexLock lock(mutex_);
  for (const auto& [key, cell] : cells_) {
    if (!cell.schedule.empty()) Tell(cell);
  }
}

void HistoryKeeper::Settle() {
  MutexLock lock(mutex_);
  while (!stop_ && (busy_ || !arrived_.empty())) settled_.Wait(mutex_);
}

void HistoryKeeper::Loop() {
  for (;;) {
    std::optional<Arrived> next;
    {
      MutexLock lock(mutex_);
      busy_ = false;
      if (arrived_.empty()) {
        settled_.NotifyAll();
        if (!stop_) wake_.WaitFor(mutex_, options_.look_seconds);
      }
      if (stop_) return;
      if (!arrived_.empty()) {
        next = std::move(arrived_.front());
        arrived_.pop_front();
      }
      busy_ = true;
    }
    if (next) {
      TakeUp(*next);
    } else {
      LookForLapsed();
    }
  }
}

void HistoryKeeper::TakeUp(const Arrived& arrived) {
  const CellKey key = CellOf(arrived.result);
  const history::WatchOptions options = OptionsFor(key.device());
  std::vector<Work> work;
  std::set<std::string> asked_before;
  std::set<std::string> asked_now;
  bool changed = false;
  {
    MutexLock lock(mutex_);
    auto found = cells_.find(KeyOf(key));
    if (found == cells_.end()) {
      found = cells_.emplace(KeyOf(key), Cell{history::CellWatch(key, options), ""}).first;
    }
    Cell& cell = found->second;
    cell.watch.SetDevice(options.between_session_ratio, options.gates.clock_step_seconds);
    if (!arrived.schedule.empty()) cell.schedule = arrived.schedule;
    asked_before = AskedOf(cell);
    const history::Decision decision =
        cell.watch.OnResult(history::PointOf(arrived.result), history::EpochOf(arrived.result));
    changed = decision.changed;
    Act(cell, decision, &work);
    asked_now = AskedOf(cell);
  }
  Forgo(asked_before, asked_now);
  MeasureAgain(work);
  if (!changed && work.empty()) return;
  const absl::Status kept = Keep(key);
  if (!kept.ok())
    spdlog::error("the history of {} is not stored: {}", NameOf(key), MessageOf(kept));
}

void HistoryKeeper::LookForLapsed() {
  std::vector<CellKey> lapsed;
  std::set<std::string> asked;
  {
    MutexLock lock(mutex_);
    for (auto& [key, cell] : cells_) {
      if (cell.watch.state().state() != kbench::v1::SUSPECTED) continue;
      const std::set<std::string> of_cell = AskedOf(cell);
      std::vector<Work> none;
      const history::Decision decision = cell.watch.OnTime(ToTimestamp(clock_.WallMicros()));
      Act(cell, decision, &none);
      if (!decision.changed) continue;
      lapsed.push_back(cell.watch.state().cell());
      asked.insert(of_cell.begin(), of_cell.end());
    }
  }
  Forgo(asked, {});
  for (const CellKey& cell : lapsed) Keep(cell).IgnoreError();
}

void HistoryKeeper::Act(Cell& cell, const history::Decision& decision, std::vector<Work>* work) {
  const CellState& state = cell.watch.state();
  metrics_.CellDecided(state.cell().device(), {.suspected = decision.suspected,
                                               .confirmed = decision.confirmed,
                                               .rejected = decision.rejected,
                                               .lapsed = decision.lapsed,
                                               .cleared = decision.cleared});
  if (decision.confirmed) spdlog::warn("{} is slower: {}", NameOf(state.cell()), state.message());
  if (decision.cleared) {
    spdlog::info("{} is not called slower any more: {}", NameOf(state.cell()), state.message());
  }
  if (decision.sessions > 0) {
    work->push_back({state.cell(), decision.sessions, state.suspect(),
                     static_cast<double>(decision.until.seconds())});
  }
  Tell(cell);
}

void HistoryKeeper::Tell(const Cell& cell) {
  const CellState& state = cell.watch.state();
  // Without an interval nothing has been compared with the baseline since it was set.
  const bool compared = state.change_low() != 0 || state.change_high() != 0;
  metrics_.NoteCell(
      state.cell(),
      {.state = StateOf(state),
       .baseline_seconds = state.has_baseline() ? state.baseline().seconds() : 0,
       .change_ratio = compared ? state.change_ratio() : std::nan(""),
       .interval_seconds = cell.schedule.empty() ? 0 : interval_of_(cell.schedule, state.cell()),
       .pinned = state.has_baseline() && state.baseline().origin() == "pinned"});
}

// What was to be measured again, and need not be any more. Those that have run are over anyway.
void HistoryKeeper::Forgo(const std::set<std::string>& asked, const std::set<std::string>& wanted) {
  for (const std::string& job : asked) {
    if (wanted.count(job) > 0) continue;
    const absl::StatusOr<kbench::v1::Job> ended = coordinator_.Cancel(job);
    if (!ended.ok()) spdlog::warn("{} is not cancelled: {}", job, MessageOf(ended.status()));
  }
}

// Each in a job of its own: results of one job are no fresh sessions of each other.
void HistoryKeeper::MeasureAgain(const std::vector<Work>& work) {
  if (!options_.confirm) return;
  for (const Work& one : work) {
    for (int i = 0; i < one.sessions; ++i) {
      kbench::v1::SubmitJobRequest request;
      kbench::v1::JobSpec& spec = *request.mutable_spec();
      kbench::v1::CaseSpec& asked = *spec.add_cases();
      asked.set_kernel(one.cell.kernel());
      asked.set_dtype(one.cell.dtype());
      asked.set_size(one.cell.shape());
      asked.set_mode(one.cell.mode());
      spec.add_implementations(one.cell.implementation());
      spec.set_device(one.cell.device());
      spec.set_priority_class("ci");
      (*spec.mutable_labels())[kConfirmsLabel] = one.suspect;
      const double left = one.until - static_cast<double>(clock_.WallMicros()) * 1e-6;
      *spec.mutable_queue_timeout() = ToDuration(std::max(60.0, left));
      request.set_owner(kOwner);
      const absl::StatusOr<kbench::v1::Job> job = coordinator_.SubmitAndWait(request);
      if (!job.ok()) {
        spdlog::warn("{} is not measured again: {}", NameOf(one.cell), MessageOf(job.status()));
        break;
      }
      MutexLock lock(mutex_);
      const auto found = cells_.find(KeyOf(one.cell));
      if (found != cells_.end()) found->second.watch.AddConfirmation(job->name());
    }
  }
}

absl::Status HistoryKeeper::Keep(const CellKey& key) {
  StoredCell stored;
  {
    MutexLock lock(mutex_);
    const auto found = cells_.find(KeyOf(key));
    if (found == cells_.end()) return absl::OkStatus();
    const history::CellWatch& watch = found->second.watch;
    History& kept = *stored.mutable_history();
    *kept.mutable_state() = watch.state();
    kept.mutable_points()->Add(watch.points().begin(), watch.points().end());
    kept.mutable_epochs()->Add(watch.epochs().begin(), watch.epochs().end());
    stored.set_schedule(found->second.schedule);
  }
  store::Batch batch;
  batch.records.push_back({kKind, TextOf(KeyOf(key)), stored.SerializeAsString()});
  std::promise<absl::Status> promise;
  store_.Commit(std::move(batch),
                [&promise](const absl::Status& status, const auto&) { promise.set_value(status); });
  return promise.get_future().get();
}

}  // namespace kbench::server
