#include "server/rpc/history_keeper.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <optional>

#include "proto/support/error.h"
#include "server/history/cause.h"
#include "server/history/change_points.h"
#include "server/history/device_epochs.h"
#include "server/history/environment.h"
#include "server/history/epoch_report.h"
#include "server/history/points.h"
#include "server/rpc/validate.h"
#include "server/store/page_token.h"

namespace kbench::server {
namespace {

using kbench::v1::CellKey;
using kbench::v1::CellState;
using kbench::v1::History;
using kbench::v1::HistoryPoint;
using kbench::v1::Result;
using kbench::v1::StoredCell;

constexpr char kKind[] = "cell";
constexpr char kOwner[] = "kbench";
constexpr char kScheduleLabel[] = "schedule";
constexpr char kConfirmsLabel[] = "confirms";
constexpr int kMostCaughtUp = 2000;  // results that may have come while nobody looked
constexpr int kMostExplainedChanges = 10;
constexpr int kMostEpochResults = 8;  // of a cell, on each side
constexpr int kPageSize = 50;
constexpr int kMostPageSize = 1000;
constexpr int kMostPoints = 5000;

// The self-test's fixtures are hidden everywhere.
bool IsHidden(const Result& result) { return result.implementation().rfind("selftest/", 0) == 0; }

absl::Status NotFound(const std::string& message) {
  return MakeError(absl::StatusCode::kNotFound, message, {.reason = "NO_CELL"});
}

// A cell none of whose results was VALID has not even begun to learn.
kbench::v1::RegressionState StateOf(const CellState& state) {
  return state.state() == kbench::v1::REGRESSION_STATE_UNSPECIFIED ? kbench::v1::LEARNING
                                                                   : state.state();
}

CellState Shown(CellState state) {
  if (state.state() == kbench::v1::REGRESSION_STATE_UNSPECIFIED) {
    state.set_message("learning: no VALID result yet");
  }
  state.set_state(StateOf(state));
  return state;
}

std::string NameOf(const CellKey& cell) {
  return fmt::format("{} {} {} {} {} on {}", cell.kernel(), cell.dtype(), cell.shape(),
                     cell.implementation(), cell.mode(), cell.device());
}

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
    if (store::IsDefaultResult(result) && !IsHidden(result)) arrived_.push_back({result, schedule});
  }
  wake_.NotifyAll();
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
  const CellKey key = history::CellOf(arrived.result);
  const history::WatchOptions options = OptionsFor(key.device());
  std::vector<Work> work;
  bool changed = false;
  {
    MutexLock lock(mutex_);
    auto found = cells_.find(KeyOf(key));
    if (found == cells_.end()) {
      found = cells_.emplace(KeyOf(key), Cell{history::CellWatch(key, options), ""}).first;
    }
    Cell& cell = found->second;
    cell.watch.SetBetweenSessionRatio(options.between_session_ratio);
    if (!arrived.schedule.empty()) cell.schedule = arrived.schedule;
    const history::Decision decision =
        cell.watch.OnResult(history::PointOf(arrived.result), history::EpochOf(arrived.result));
    changed = decision.changed;
    Act(cell, decision, &work);
  }
  MeasureAgain(work);
  if (!changed && work.empty()) return;
  const absl::Status kept = Keep(key);
  if (!kept.ok())
    spdlog::error("the history of {} is not stored: {}", NameOf(key), MessageOf(kept));
}

void HistoryKeeper::LookForLapsed() {
  std::vector<CellKey> lapsed;
  {
    MutexLock lock(mutex_);
    for (auto& [key, cell] : cells_) {
      if (cell.watch.state().state() != kbench::v1::SUSPECTED) continue;
      std::vector<Work> none;
      const history::Decision decision = cell.watch.OnTime(ToTimestamp(clock_.WallMicros()));
      Act(cell, decision, &none);
      if (decision.changed) lapsed.push_back(cell.watch.state().cell());
    }
  }
  for (const CellKey& cell : lapsed) Keep(cell).IgnoreError();
}

void HistoryKeeper::Act(Cell& cell, const history::Decision& decision, std::vector<Work>* work) {
  const CellState& state = cell.watch.state();
  metrics_.CellDecided(state.cell().device(), {.suspected = decision.suspected,
                                               .confirmed = decision.confirmed,
                                               .rejected = decision.rejected,
                                               .lapsed = decision.lapsed,
                                               .cleared = decision.cleared,
                                               .epoch_opened = decision.epoch_opened});
  if (decision.confirmed) spdlog::warn("{} is slower: {}", NameOf(state.cell()), state.message());
  if (decision.cleared) spdlog::info("{} is as it was", NameOf(state.cell()));
  if (decision.sessions > 0) {
    work->push_back({state.cell(), decision.sessions, state.suspect(),
                     static_cast<double>(decision.until.seconds())});
  }
  Tell(cell);
}

void HistoryKeeper::Tell(const Cell& cell) {
  const CellState& state = cell.watch.state();
  metrics_.NoteCell(state.cell(),
                    {.state = StateOf(state),
                     .baseline_seconds = state.has_baseline() ? state.baseline().seconds() : 0,
                     .change_ratio = state.change_ratio(),
                     .interval_seconds = cell.schedule.empty() ? 0 : interval_of_(cell.schedule),
                     .pinned = state.has_baseline() && state.baseline().origin() == "pinned"});
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
      const absl::StatusOr<kbench::v1::Job> job = coordinator_.Submit(request);
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

absl::StatusOr<kbench::v1::ListCellsResponse> HistoryKeeper::List(
    const kbench::v1::ListCellsRequest& request) {
  const int size = request.page_size() == 0 ? kPageSize : request.page_size();
  if (size < 0 || size > kMostPageSize) {
    return FieldError("page_size", "OUT_OF_RANGE",
                      fmt::format("{} is outside 0 to {}", size, kMostPageSize));
  }
  kbench::v1::ListCellsRequest filter = request;
  filter.clear_page_token();
  filter.clear_page_size();
  const std::string bound = "cells" + filter.SerializeAsString();
  std::int64_t from = 0;
  if (!request.page_token().empty()) {
    KB_ASSIGN_OR_RETURN(from, store::ReadPageToken(request.page_token(), bound));
  }
  std::vector<const CellState*> found;
  MutexLock lock(mutex_);
  for (const auto& [key, cell] : cells_) {
    const CellState& state = cell.watch.state();
    const auto& states = request.states();
    const bool wanted =
        states.empty() || std::find(states.begin(), states.end(), StateOf(state)) != states.end();
    const bool pinned = state.baseline().origin() == "pinned";
    if (!wanted || !Matches(request.filter(), state.cell())) continue;
    if (!request.pinned_only() || pinned) found.push_back(&state);
  }
  const auto in_doubt = [](const CellState* one) {
    return one->state() == kbench::v1::CONFIRMED   ? 0
           : one->state() == kbench::v1::SUSPECTED ? 1
                                                   : 2;
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const auto* a, const auto* b) { return in_doubt(a) < in_doubt(b); });
  kbench::v1::ListCellsResponse response;
  const auto count = static_cast<std::int64_t>(found.size());
  for (std::int64_t i = from; i < std::min(count, from + size); ++i) {
    *response.add_cells() = Shown(*found[static_cast<std::size_t>(i)]);
  }
  if (from + size < count) response.set_next_page_token(store::MakePageToken(from + size, bound));
  return response;
}

absl::StatusOr<HistoryKeeper::Cell*> HistoryKeeper::Find(const CellKey& cell) {
  CellKey wanted = cell;
  if (wanted.mode().empty()) wanted.set_mode("cold");
  std::vector<Cell*> found;
  std::set<std::string> devices;
  std::set<std::string> others;  // of the same kernel and dtype
  for (auto& [key, one] : cells_) {
    const CellKey& is = one.watch.state().cell();
    if (Matches(wanted, is)) {
      found.push_back(&one);
      devices.insert(is.device());
    }
    if (is.kernel() == wanted.kernel() && is.dtype() == wanted.dtype()) others.insert(NameOf(is));
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    const std::string near =
        others.empty()
            ? ""
            : fmt::format(
                  "; there is {}",
                  fmt::join(NearestWords(NameOf(wanted), {others.begin(), others.end()}), ", "));
    return NotFound(fmt::format("nothing is known of {}{}", NameOf(wanted), near));
  }
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      fmt::format("several cells are meant, on {}: say which", fmt::join(devices, ", ")),
      {.reason = "SEVERAL_CELLS"});
}

absl::StatusOr<kbench::v1::Cause> HistoryKeeper::WhyOf(const std::string& a, const std::string& b,
                                                       const std::string& device) {
  KB_ASSIGN_OR_RETURN(const Result before, store_.GetResult(a));
  KB_ASSIGN_OR_RETURN(const Result after, store_.GetResult(b));
  return history::Why(before, after,
                      {.between_session_ratio = OptionsFor(device).between_session_ratio});
}

absl::StatusOr<History> HistoryKeeper::Get(const kbench::v1::GetHistoryRequest& request) {
  const int most = request.most_points() == 0 ? 200 : request.most_points();
  if (most < 0 || most > kMostPoints) {
    return FieldError("most_points", "OUT_OF_RANGE",
                      fmt::format("{} is outside 0 to {}", most, kMostPoints));
  }
  History history;
  {
    MutexLock lock(mutex_);
    KB_ASSIGN_OR_RETURN(const Cell* cell, Find(request.cell()));
    const auto& points = cell->watch.points();
    *history.mutable_state() = Shown(cell->watch.state());
    const std::size_t skip = points.size() > static_cast<std::size_t>(most)
                                 ? points.size() - static_cast<std::size_t>(most)
                                 : 0;
    history.mutable_points()->Add(points.begin() + static_cast<std::ptrdiff_t>(skip), points.end());
    history.mutable_epochs()->Add(cell->watch.epochs().begin(), cell->watch.epochs().end());
  }
  const std::vector<HistoryPoint> points(history.points().begin(), history.points().end());
  std::vector<kbench::v1::ChangePoint> changes = history::ChangePoints(points);
  const std::size_t told = std::min<std::size_t>(changes.size(), kMostExplainedChanges);
  for (std::size_t i = changes.size() - told; i < changes.size(); ++i) {
    const auto at = std::find_if(points.begin(), points.end(), [&](const HistoryPoint& point) {
      return point.result() == changes[i].result();
    });
    const auto valid_before = std::find_if(std::make_reverse_iterator(at), points.rend(),
                                           [](const auto& one) { return history::IsValid(one); });
    if (at == points.end() || valid_before == points.rend()) continue;
    const auto cause = WhyOf(valid_before->result(), at->result(), history.state().cell().device());
    if (cause.ok()) changes[i].set_sentence(cause->sentence());
  }
  history.mutable_changes()->Add(changes.begin(), changes.end());
  return history;
}

absl::StatusOr<CellState> HistoryKeeper::Pin(const kbench::v1::PinBaselineRequest& request,
                                             const std::string& by) {
  CellState state;
  {
    MutexLock lock(mutex_);
    KB_ASSIGN_OR_RETURN(Cell * cell, Find(request.cell()));
    const std::string name =
        request.result().empty() ? cell->watch.state().newest() : request.result();
    const auto& points = cell->watch.points();
    const auto point = std::find_if(points.begin(), points.end(),
                                    [&](const auto& one) { return one.result() == name; });
    if (point == points.end()) {
      return NotFound(fmt::format("{} is none of the latest {} results of the cell",
                                  name.empty() ? "the newest VALID result" : name, points.size()));
    }
    const std::string why = cell->watch.WhyNotPinned(*point);
    if (!why.empty()) {
      return MakeError(absl::StatusCode::kFailedPrecondition, why, {.reason = "NOT_PINNABLE"});
    }
    const HistoryPoint pinned = *point;
    std::vector<Work> none;
    Act(*cell, cell->watch.Pin(pinned, by, ToTimestamp(clock_.WallMicros())), &none);
    state = cell->watch.state();
  }
  KB_RETURN_IF_ERROR(Keep(state.cell()));
  return state;
}

absl::StatusOr<CellState> HistoryKeeper::Drop(const kbench::v1::DropBaselineRequest& request) {
  CellState state;
  {
    MutexLock lock(mutex_);
    KB_ASSIGN_OR_RETURN(Cell * cell, Find(request.cell()));
    if (cell->watch.state().baseline().origin() != "pinned") {
      return NotFound(NameOf(cell->watch.state().cell()) + " has no pinned baseline");
    }
    std::vector<Work> none;
    Act(*cell, cell->watch.Drop(ToTimestamp(clock_.WallMicros())), &none);
    state = cell->watch.state();
  }
  KB_RETURN_IF_ERROR(Keep(state.cell()));
  return state;
}

absl::StatusOr<kbench::v1::Cause> HistoryKeeper::Why(const kbench::v1::WhyRequest& request) {
  if (!request.a().empty() || !request.b().empty()) {
    if (request.a().empty() || request.b().empty()) {
      return FieldError(request.a().empty() ? "a" : "b", "MISSING", "two results are compared");
    }
    KB_ASSIGN_OR_RETURN(const Result later, store_.GetResult(request.b()));
    return WhyOf(request.a(), request.b(), later.device());
  }
  CellState state;
  {
    MutexLock lock(mutex_);
    KB_ASSIGN_OR_RETURN(const Cell* cell, Find(request.cell()));
    state = Shown(cell->watch.state());
  }
  if (!state.has_baseline() || state.baseline().result().empty()) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     NameOf(state.cell()) + " has no baseline yet: " + state.message(),
                     {.reason = "NO_BASELINE"});
  }
  const bool in_doubt =
      state.state() == kbench::v1::SUSPECTED || state.state() == kbench::v1::CONFIRMED;
  const std::string newest =
      in_doubt && !state.suspect().empty() ? state.suspect() : state.newest();
  return WhyOf(state.baseline().result(), newest, state.cell().device());
}

absl::StatusOr<kbench::v1::EpochReport> HistoryKeeper::Compare(
    const kbench::v1::CompareEpochsRequest& request) {
  struct Source {
    CellKey cell;
    double noise_ratio = 0;
    std::vector<HistoryPoint> points;
  };
  std::vector<Source> sources;
  std::vector<std::pair<double, kbench::v1::Epoch>> dated;
  std::set<std::string> devices;
  {
    MutexLock lock(mutex_);
    for (const auto& [key, cell] : cells_) {
      const CellState& state = cell.watch.state();
      devices.insert(state.cell().device());
      if (state.cell().device() != request.device()) continue;
      for (const kbench::v1::Epoch& epoch : cell.watch.epochs()) {
        dated.emplace_back(history::SecondsOf(epoch.since()), epoch);
      }
      if (request.pinned_only() && state.baseline().origin() != "pinned") continue;
      sources.push_back({state.cell(), state.baseline().noise_ratio(), cell.watch.points()});
    }
  }
  std::stable_sort(dated.begin(), dated.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<kbench::v1::Epoch> epochs;
  for (auto& [since, epoch] : dated) epochs.push_back(std::move(epoch));
  const std::vector<history::DeviceEpoch> of_device = history::DeviceEpochs(epochs);
  if (of_device.empty()) {
    return NotFound(fmt::format(
        "nothing is recorded on {}; there {}", request.device(),
        devices.empty() ? "are no results yet" : fmt::format("is {}", fmt::join(devices, ", "))));
  }
  const bool named = !request.before().empty() || !request.after().empty();
  if (of_device.size() < 2 && !named) {
    return NotFound(request.device() + " has one environment as far as anybody remembers");
  }
  const history::DeviceEpoch* after =
      request.after().empty() ? &of_device.back() : history::FindEpoch(of_device, request.after());
  const history::DeviceEpoch* before = nullptr;
  if (!request.before().empty()) {
    before = history::FindEpoch(of_device, request.before());
  } else if (after == &of_device.front()) {
    return NotFound(fmt::format("{} is the first epoch of {}: there is none before it",
                                request.after(), request.device()));
  } else if (after != nullptr) {
    before = after - 1;
  }
  if (before == nullptr || after == nullptr) {
    std::vector<std::string> known;
    for (const history::DeviceEpoch& one : of_device) known.push_back(one.epoch.id());
    return NotFound(fmt::format("{} has no epoch {}; there {}: {}", request.device(),
                                after == nullptr ? request.after() : request.before(),
                                known.size() == 1 ? "is" : "are", fmt::join(known, ", ")));
  }
  if (before == after) {
    return FieldError("before", "SAME_EPOCH",
                      fmt::format("{} is the epoch that it is compared with", request.before()));
  }
  std::vector<history::EpochCell> cells;
  for (const Source& source : sources) {
    history::EpochCell cell{source.cell, {}, {}, source.noise_ratio};
    for (auto point = source.points.rbegin(); point != source.points.rend(); ++point) {
      if (!history::IsValid(*point)) continue;
      for (const auto& [epoch, side] :
           {std::pair(before, &cell.before), std::pair(after, &cell.after)}) {
        if (epoch->of_results.count(point->epoch()) == 0 || side->size() >= kMostEpochResults)
          continue;
        absl::StatusOr<Result> result = store_.GetResult(point->result());
        if (result.ok()) side->push_back(*std::move(result));
      }
    }
    if (!cell.before.empty() || !cell.after.empty()) cells.push_back(std::move(cell));
  }
  return history::CompareEpochs(
      request.device(), before->epoch, after->epoch, cells,
      {.between_session_ratio = OptionsFor(request.device()).between_session_ratio});
}

}  // namespace kbench::server
