// What HistoryKeeper answers to people; how it comes to know: history_keeper.cc.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "proto/support/error.h"
#include "server/history/cause.h"
#include "server/history/change_points.h"
#include "server/history/device_epochs.h"
#include "server/history/epoch_report.h"
#include "server/history/points.h"
#include "server/rpc/history_keeper.h"
#include "server/rpc/validate.h"
#include "server/store/page_token.h"

namespace kbench::server {
namespace {

using kbench::v1::CellKey;
using kbench::v1::CellState;
using kbench::v1::History;
using kbench::v1::HistoryPoint;
using kbench::v1::Result;

constexpr int kMostExplainedChanges = 10;
constexpr int kMostEpochResults = 8;  // of a cell, on each side
constexpr int kPageSize = 50;
constexpr int kMostPageSize = 1000;
constexpr int kMostPoints = 5000;

absl::Status NotFound(const std::string& message) {
  return MakeError(absl::StatusCode::kNotFound, message, {.reason = "NO_CELL"});
}

CellState Shown(CellState state) {
  if (state.state() == kbench::v1::REGRESSION_STATE_UNSPECIFIED) {
    state.set_message("learning: no VALID result yet");
  }
  state.set_state(HistoryKeeper::StateOf(state));
  return state;
}

}  // namespace

kbench::v1::RegressionState HistoryKeeper::StateOf(const CellState& state) {
  return state.state() == kbench::v1::REGRESSION_STATE_UNSPECIFIED ? kbench::v1::LEARNING
                                                                   : state.state();
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
  std::set<std::string> asked;
  std::vector<Work> work;
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
    asked = AskedOf(*cell);
    Act(*cell, cell->watch.Pin(pinned, by, ToTimestamp(clock_.WallMicros())), &work);
    state = cell->watch.state();
  }
  Forgo(asked, {});
  MeasureAgain(work);
  KB_RETURN_IF_ERROR(Keep(state.cell()));
  return state;
}

absl::StatusOr<CellState> HistoryKeeper::Drop(const kbench::v1::DropBaselineRequest& request) {
  CellState state;
  std::set<std::string> asked;
  {
    MutexLock lock(mutex_);
    KB_ASSIGN_OR_RETURN(Cell * cell, Find(request.cell()));
    if (cell->watch.state().baseline().origin() != "pinned") {
      return NotFound(NameOf(cell->watch.state().cell()) + " has no pinned baseline");
    }
    asked = AskedOf(*cell);
    std::vector<Work> none;
    Act(*cell, cell->watch.Drop(ToTimestamp(clock_.WallMicros())), &none);
    state = cell->watch.state();
  }
  Forgo(asked, {});
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
  if (of_device.empty() && devices.count(request.device()) > 0) {
    return NotFound("no result on " + request.device() + " was VALID yet");
  }
  if (of_device.empty()) {
    return NotFound(fmt::format(
        "nothing is recorded on {}; there {}", request.device(),
        devices.empty() ? "are no results yet" : fmt::format("is {}", fmt::join(devices, ", "))));
  }
  if (request.pinned_only() && sources.empty()) {
    return NotFound(
        fmt::format("no cell of {} is pinned; `kbench-client baseline pin KERNEL DTYPE "
                    "SIZE` pins one",
                    request.device()));
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
  // An environment may come back: its id names its last time, and its results are those of then.
  const auto within = [&of_device](const history::DeviceEpoch& epoch, const HistoryPoint& point) {
    const bool last = &epoch == &of_device.back();
    const double time = history::SecondsOf(point.time());
    return epoch.of_results.count(point.epoch()) > 0 &&
           time >= history::SecondsOf(epoch.epoch.since()) &&
           (last || time < history::SecondsOf((&epoch + 1)->epoch.since()));
  };
  std::vector<history::EpochCell> cells;
  for (const Source& source : sources) {
    history::EpochCell cell{source.cell, {}, {}, source.noise_ratio};
    // The levels on both sides of the change: what moved within one environment is not its doing.
    const auto fill = [&](const history::DeviceEpoch& epoch, history::Level level,
                          std::vector<Result>& side) {
      std::vector<HistoryPoint> points;
      std::copy_if(source.points.begin(), source.points.end(), std::back_inserter(points),
                   [&](const auto& one) { return history::IsValid(one) && within(epoch, one); });
      const auto kept = history::LevelOf(points, level);
      for (auto point = kept.rbegin(); point != kept.rend(); ++point) {
        if (side.size() >= kMostEpochResults) return;
        absl::StatusOr<Result> result = store_.GetResult(point->result());
        if (result.ok()) side.push_back(*std::move(result));
      }
    };
    fill(*before, history::Level::kLast, cell.before);
    fill(*after, history::Level::kFirst, cell.after);
    if (!cell.before.empty() || !cell.after.empty()) cells.push_back(std::move(cell));
  }
  return history::CompareEpochs(
      request.device(), before->epoch, after->epoch, cells,
      {.between_session_ratio = OptionsFor(request.device()).between_session_ratio});
}

}  // namespace kbench::server
