// What comes in and what is kept; what is thought of it: cell_watch_judge.cc.
#include "server/history/cell_watch.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "fmt/format.h"
#include "server/history/baseline.h"
#include "server/history/environment.h"
#include "server/history/points.h"

namespace kbench::history {
namespace {

// How late a result may come (a spool that was out of reach) and still be put in its place; what
// lies further back was stamped by a clock that has been set back since.
constexpr double kLateSeconds = 24 * 3600;

bool Before(const google::protobuf::Timestamp& a, const google::protobuf::Timestamp& b) {
  return SecondsOf(a) < SecondsOf(b);
}

}  // namespace

CellWatch::CellWatch(v1::CellKey cell, WatchOptions options) : options_(options) {
  *state_.mutable_cell() = std::move(cell);
}

CellWatch CellWatch::Restore(const v1::CellState& state, std::vector<v1::HistoryPoint> points,
                             std::vector<v1::Epoch> epochs, WatchOptions options) {
  CellWatch watch(state.cell(), options);
  if (state.state() != v1::REGRESSION_STATE_UNSPECIFIED) {
    watch.state_ = state;
    watch.points_ = std::move(points);
    watch.epochs_ = std::move(epochs);
    watch.Trim();
    watch.NoteLatest();
    return watch;
  }
  for (const v1::HistoryPoint& point : points) {
    const auto found = std::find_if(epochs.rbegin(), epochs.rend(), [&](const v1::Epoch& epoch) {
      return epoch.id() == point.epoch();
    });
    v1::Epoch epoch;
    if (found != epochs.rend()) epoch = *found;
    epoch.set_id(point.epoch());
    watch.OnResult(point, epoch);
  }
  return watch;
}

Decision CellWatch::OnResult(const v1::HistoryPoint& point, const v1::Epoch& epoch) {
  Decision decision;
  if (point.result().empty() || Seen(point.result())) return decision;
  decision.changed = true;
  if (PutLate(point)) return decision;
  if (!points_.empty() && Before(point.time(), points_.back().time())) {
    // The clock was set back: what began "later" began before this.
    if (Before(point.time(), state_.since())) *state_.mutable_since() = point.time();
    if (state_.has_baseline() && Before(point.time(), state_.baseline().since())) {
      *state_.mutable_baseline()->mutable_since() = point.time();
    }
  }
  points_.push_back(point);
  NoteLatest();
  if (Overdue(point.time())) Lapse(point.time(), &decision);
  if (!IsValid(point)) {
    NotValidWhileSuspected(&decision);
    Trim();
    return decision;
  }
  state_.set_newest(point.result());
  *state_.mutable_newest_time() = point.time();
  state_.set_seconds(point.seconds());
  state_.set_low(point.low());
  state_.set_high(point.high());
  if (AppendEpoch(epoch, &epochs_)) *epochs_.back().mutable_since() = point.time();
  EnterEpoch(point, &decision);
  if (state_.state() == v1::LEARNING) {
    Learn(point);
  } else if (state_.state() != v1::INCOMPARABLE) {
    Judge(point, &decision);
  }
  Trim();
  return decision;
}

void CellWatch::NoteLatest() {
  if (points_.empty()) return;
  const v1::HistoryPoint& latest = points_.back();
  state_.set_latest(latest.result());
  *state_.mutable_latest_time() = latest.time();
  state_.set_latest_verdict(latest.verdict());
}

Decision CellWatch::OnTime(const google::protobuf::Timestamp& now) {
  Decision decision;
  if (Overdue(now)) Lapse(now, &decision);
  decision.changed = decision.lapsed;
  return decision;
}

void CellWatch::AddConfirmation(const std::string& job) { state_.add_confirmations(job); }

std::string CellWatch::WhyNotPinned(const v1::HistoryPoint& point) const {
  if (!IsValid(point)) {
    return fmt::format("{} is {}: only a VALID result can be a baseline", point.result(),
                       point.verdict());
  }
  if (epochs_.empty() || epochs_.back().id() == point.epoch()) return "";
  const auto found = std::find_if(epochs_.rbegin(), epochs_.rend(),
                                  [&](const auto& epoch) { return epoch.id() == point.epoch(); });
  std::string change = "measured in another environment";
  if (found != epochs_.rend()) {
    const auto& then = found->environment();
    const auto& now = epochs_.back().environment();
    change = ChangeBetween({then.begin(), then.end()}, {now.begin(), now.end()}) + " since";
  }
  return fmt::format("{} is not comparable with the newest result ({}): pin a newer one",
                     point.result(), change);
}

Decision CellWatch::Pin(const v1::HistoryPoint& point, const std::string& by,
                        const google::protobuf::Timestamp& now) {
  Decision decision;
  decision.changed = true;
  decision.cleared = state_.state() == v1::CONFIRMED;
  if (state_.has_baseline()) state_.set_known_noise_ratio(state_.baseline().noise_ratio());
  const Noise noise = NoiseOf({}, {options_.between_session_ratio, state_.known_noise_ratio()});
  *state_.mutable_baseline() = PinnedBaseline(point, by, now, noise);
  state_.set_epoch(point.epoch());
  SetChange(GateReading{});
  Enter(v1::NONE, now, fmt::format("pinned by {}; the next result is compared with it", by));
  // A regression that stands against the new baseline too must not be silenced by it.
  const auto newest =
      std::find_if(points_.rbegin(), points_.rend(), [](const auto& one) { return IsValid(one); });
  if (newest != points_.rend() && newest->result() != point.result()) Judge(*newest, &decision);
  return decision;
}

Decision CellWatch::Drop(const google::protobuf::Timestamp& now) {
  Decision decision;
  decision.changed = true;
  decision.cleared = state_.state() == v1::CONFIRMED;
  if (state_.has_baseline()) state_.set_known_noise_ratio(state_.baseline().noise_ratio());
  state_.clear_baseline();
  SetChange(GateReading{});
  Enter(v1::LEARNING, now, "the baseline was dropped: it is learnt from the next results");
  return decision;
}

bool CellWatch::Seen(const std::string& result) const {
  return std::any_of(points_.begin(), points_.end(),
                     [&](const v1::HistoryPoint& point) { return point.result() == result; });
}

bool CellWatch::PutLate(const v1::HistoryPoint& point) {
  if (points_.empty()) return false;
  const double behind = SecondsOf(points_.back().time()) - SecondsOf(point.time());
  if (!(behind > 0) || behind > kLateSeconds) return false;
  auto place = points_.end();
  while (place != points_.begin() && Before(point.time(), std::prev(place)->time())) --place;
  points_.insert(place, point);
  if (InDoubt() && !Before(point.time(), state_.since())) Exclude(point.result());
  Trim();
  return true;
}

bool CellWatch::InDoubt() const {
  return state_.state() == v1::SUSPECTED || state_.state() == v1::CONFIRMED;
}

bool CellWatch::Excluded(const std::string& result) const {
  return std::find(state_.excluded().begin(), state_.excluded().end(), result) !=
         state_.excluded().end();
}

void CellWatch::Exclude(const std::string& result) {
  if (!Excluded(result)) state_.add_excluded(result);
}

void CellWatch::Include(const std::vector<v1::HistoryPoint>& points) {
  auto& excluded = *state_.mutable_excluded();
  for (const v1::HistoryPoint& point : points) {
    excluded.erase(std::remove(excluded.begin(), excluded.end(), point.result()), excluded.end());
  }
}

// Of this level and environment, by the results' times: the level begins with its baseline, or with
// learning one.
std::vector<v1::HistoryPoint> CellWatch::Counted() const {
  const auto& since = state_.has_baseline() ? state_.baseline().since() : state_.since();
  std::vector<v1::HistoryPoint> counted;
  for (const v1::HistoryPoint& point : points_) {
    if (IsValid(point) && point.epoch() == state_.epoch() && !Before(point.time(), since) &&
        !Excluded(point.result())) {
      counted.push_back(point);
    }
  }
  return counted;
}

// The VALID results behind the suspect, one a job.
std::vector<v1::HistoryPoint> CellWatch::Fresh() const {
  auto place = std::find_if(points_.begin(), points_.end(), [&](const v1::HistoryPoint& point) {
    return point.result() == state_.suspect();
  });
  std::vector<v1::HistoryPoint> fresh;
  std::vector<std::string> jobs = {JobOfResult(state_.suspect())};
  if (place != points_.end()) ++place;
  for (; place != points_.end(); ++place) {
    const std::string job = JobOfResult(place->result());
    if (!IsValid(*place) || std::find(jobs.begin(), jobs.end(), job) != jobs.end()) continue;
    jobs.push_back(job);
    fresh.push_back(*place);
  }
  return fresh;
}

// The newest result does not take part in judging itself.
Noise CellWatch::NoiseNow() const {
  std::vector<v1::HistoryPoint> counted = Counted();
  if (!counted.empty() && counted.back().result() == state_.newest()) counted.pop_back();
  return NoiseOf(counted, {options_.between_session_ratio, state_.known_noise_ratio()});
}

void CellWatch::Enter(v1::RegressionState state, const google::protobuf::Timestamp& since,
                      const std::string& message) {
  if (state_.state() != state) *state_.mutable_since() = since;
  state_.set_state(state);
  state_.set_message(message);
  if (InDoubt()) return;
  state_.clear_suspect();
  state_.clear_confirmations();
}

void CellWatch::Trim() {
  const auto most = static_cast<std::size_t>(std::max(options_.most_points, kMostNoiseResults));
  if (points_.size() <= most) return;
  points_.erase(points_.begin(), points_.end() - static_cast<std::ptrdiff_t>(most));
  auto& excluded = *state_.mutable_excluded();
  excluded.erase(std::remove_if(excluded.begin(), excluded.end(),
                                [&](const std::string& result) { return !Seen(result); }),
                 excluded.end());
  const auto used = [&](const v1::Epoch& epoch) {
    return epoch.id() == state_.baseline().epoch() ||
           std::any_of(points_.begin(), points_.end(),
                       [&](const v1::HistoryPoint& point) { return point.epoch() == epoch.id(); });
  };
  epochs_.erase(
      std::remove_if(epochs_.begin(), epochs_.end(), [&](const v1::Epoch& e) { return !used(e); }),
      epochs_.end());
}

}  // namespace kbench::history
