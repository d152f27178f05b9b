// What a result means to a cell: the transitions of the state machine.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "fmt/format.h"
#include "server/history/baseline.h"
#include "server/history/cell_watch.h"
#include "server/history/environment.h"
#include "server/history/points.h"
#include "server/history/words.h"

namespace kbench::history {
namespace {

constexpr int kImproved = 5;  // results in a row that are faster by every gate
// Sessions asked for beyond those planned, because one gave no VALID result.
constexpr int kMostReplaced = 3;

// Half of the gate: a level that hovers at the gate itself neither confirms nor clears by luck.
bool Back(const GateReading& reading) { return reading.change < reading.relative_gate / 2; }

Environment EnvironmentOfEpoch(const std::vector<v1::Epoch>& epochs, const std::string& id) {
  const auto found =
      std::find_if(epochs.begin(), epochs.end(), [&](const auto& e) { return e.id() == id; });
  if (found == epochs.end()) return {};
  return {found->environment().begin(), found->environment().end()};
}

}  // namespace

bool CellWatch::Overdue(const google::protobuf::Timestamp& now) const {
  if (state_.state() != v1::SUSPECTED) return false;
  const double waited = SecondsOf(now) - SecondsOf(state_.since());
  // A clock that was set back by as much tells nothing of how long it has been.
  return waited > options_.lapse_seconds || waited < -options_.lapse_seconds;
}

void CellWatch::Lapse(const google::protobuf::Timestamp& now, Decision* decision) {
  decision->lapsed = true;
  const std::size_t fresh = Fresh().size();
  const std::string suspect = state_.suspect();
  Enter(v1::NONE, now,
        fmt::format("the suspicion raised by {} lapsed: {} of {} fresh sessions came in time",
                    suspect, std::min<std::size_t>(fresh, options_.confirmations),
                    options_.confirmations));
}

void CellWatch::AskFor(int sessions, const google::protobuf::Timestamp& now,
                       Decision* decision) const {
  decision->sessions = sessions;
  decision->until = now;
  decision->until.set_seconds(now.seconds() + static_cast<std::int64_t>(options_.lapse_seconds));
}

void CellWatch::EnterEpoch(const v1::HistoryPoint& point, Decision* decision) {
  const bool first = state_.state() == v1::REGRESSION_STATE_UNSPECIFIED;
  const bool opened = !first && state_.epoch() != point.epoch();
  state_.set_epoch(point.epoch());
  decision->epoch_opened = opened;
  if (state_.has_baseline() && IsPinned(state_.baseline())) {
    if (state_.baseline().epoch() == point.epoch()) {
      if (state_.state() == v1::INCOMPARABLE) Enter(v1::NONE, point.time(), "");
      return;
    }
    decision->cleared = decision->cleared || state_.state() == v1::CONFIRMED;
    SetChange(GateReading{});
    std::string change = ChangeBetween(EnvironmentOfEpoch(epochs_, state_.baseline().epoch()),
                                       EnvironmentOfEpoch(epochs_, point.epoch()));
    if (change.empty()) change = "another environment";
    Enter(
        v1::INCOMPARABLE, point.time(),
        fmt::format("not comparable with the pinned baseline: {}; pin one measured since", change));
    return;
  }
  if (!first && !opened) return;
  decision->cleared = decision->cleared || state_.state() == v1::CONFIRMED;
  if (state_.has_baseline()) state_.set_known_noise_ratio(state_.baseline().noise_ratio());
  state_.clear_baseline();
  SetChange(GateReading{});
  state_.clear_state();  // so that `since` moves even where LEARNING begins anew
  Enter(v1::LEARNING, point.time(), "");
}

void CellWatch::Learn(const v1::HistoryPoint& point) {
  const std::vector<v1::HistoryPoint> counted = Counted();
  const Noise noise =
      NoiseOf(counted, {options_.between_session_ratio, state_.known_noise_ratio()});
  auto baseline = LearnedBaseline(counted, noise);
  if (!baseline.has_value()) {
    state_.set_message(fmt::format("learning: {} of {} results in this environment", counted.size(),
                                   kLeastBaselineResults));
    return;
  }
  *state_.mutable_baseline() = *std::move(baseline);
  const GateReading reading = ReadGates({&point, 1}, state_.baseline(), noise, options_.gates);
  SetChange(reading);
  Enter(v1::NONE, point.time(), reading.sentence);
}

void CellWatch::SetChange(const GateReading& reading) {
  state_.set_change_ratio(reading.change);
  state_.set_change_low(reading.low);
  state_.set_change_high(reading.high);
}

void CellWatch::Judge(const v1::HistoryPoint& point, Decision* decision) {
  const Noise noise = NoiseNow();
  const GateReading reading = ReadGates({&point, 1}, state_.baseline(), noise, options_.gates);
  SetChange(reading);
  if (InDoubt()) Exclude(point.result());
  if (state_.state() == v1::SUSPECTED) {
    WhileSuspected(point, reading, noise, decision);
  } else if (state_.state() == v1::CONFIRMED) {
    WhileConfirmed(point, reading, noise, decision);
  } else {
    WhileQuiet(point, reading, noise, decision);
  }
}

void CellWatch::WhileQuiet(const v1::HistoryPoint& point, const GateReading& reading,
                           const Noise& noise, Decision* decision) {
  if (reading.Slower()) {
    decision->suspected = true;
    Exclude(point.result());
    state_.set_suspect(point.result());
    Enter(v1::SUSPECTED, point.time(),
          fmt::format("suspected: {}; measured again in {} fresh sessions", reading.sentence,
                      options_.confirmations));
    AskFor(options_.confirmations, point.time(), decision);
    return;
  }
  state_.set_message(reading.sentence);
  GrowBaseline(noise);
  if (reading.Faster()) FollowImprovement(point, noise);
}

void CellWatch::WhileSuspected(const v1::HistoryPoint& point, const GateReading& reading,
                               const Noise& noise, Decision* decision) {
  std::vector<v1::HistoryPoint> fresh = Fresh();
  // Another result of a job that has told its own already.
  if (fresh.empty() || fresh.back().result() != point.result()) return;
  const auto wanted = static_cast<std::size_t>(options_.confirmations);
  if (!Back(reading) && fresh.size() < wanted) {
    state_.set_message(fmt::format("suspected, and slower again in {} of {} fresh sessions: {}",
                                   fresh.size(), wanted, reading.sentence));
    return;
  }
  const GateReading together = ReadGates(fresh, state_.baseline(), noise, options_.gates);
  if (!Back(reading) && together.Slower()) {
    decision->confirmed = true;
    SetChange(together);
    Enter(v1::CONFIRMED, point.time(),
          fmt::format("confirmed, slower again in each of {} fresh sessions: {}", fresh.size(),
                      together.sentence));
    return;
  }
  decision->rejected = true;
  const std::string suspect = state_.suspect();
  for (const v1::HistoryPoint& one : points_) {
    if (one.result() == suspect) fresh.push_back(one);
  }
  Include(fresh);
  Enter(v1::NONE, point.time(),
        fmt::format("a false alarm raised by {}, measured again: {}", suspect,
                    Back(reading) ? reading.sentence : together.sentence));
}

void CellWatch::WhileConfirmed(const v1::HistoryPoint& point, const GateReading& reading,
                               const Noise& noise, Decision* decision) {
  if (!Back(reading)) {
    state_.set_message("confirmed, and still slower: " + reading.sentence);
    return;
  }
  // The VALID result of another job before this one, if it came since the confirmation.
  const auto before =
      std::find_if(std::next(points_.rbegin()), points_.rend(), [&](const v1::HistoryPoint& other) {
        return IsValid(other) && JobOfResult(other.result()) != JobOfResult(point.result());
      });
  const bool since = before != points_.rend() &&
                     SecondsOf(before->time()) >= SecondsOf(state_.since()) &&
                     before->epoch() == state_.epoch();
  if (since && Back(ReadGates({&*before, 1}, state_.baseline(), noise, options_.gates))) {
    decision->cleared = true;
    Include({*before, point});
    Enter(v1::NONE, point.time(), "as fast as before, twice: " + reading.sentence);
    return;
  }
  state_.set_message("confirmed; the newest result is as fast as before and is measured again: " +
                     reading.sentence);
  AskFor(1, point.time(), decision);
}

// A session that says nothing is asked for again, a few times.
void CellWatch::NotValidWhileSuspected(Decision* decision) {
  if (state_.state() != v1::SUSPECTED) return;
  const auto suspect = std::find_if(points_.begin(), points_.end(), [&](const auto& point) {
    return point.result() == state_.suspect();
  });
  const auto silent =
      std::count_if(suspect, points_.end(), [](const auto& point) { return !IsValid(point); });
  if (silent <= kMostReplaced) AskFor(1, state_.since(), decision);
}

void CellWatch::GrowBaseline(const Noise& noise) {
  auto& baseline = *state_.mutable_baseline();
  if (IsPinned(baseline) || baseline.results() >= kMostBaselineResults) {
    baseline.set_noise_ratio(noise.ratio);
    return;
  }
  const std::vector<v1::HistoryPoint> counted = Counted();
  // Of results that fell out of what is kept nothing is forgotten.
  if (static_cast<int>(counted.size()) < baseline.results()) return;
  if (auto grown = LearnedBaseline(counted, noise); grown.has_value()) baseline = *std::move(grown);
}

// Faster for good: a step back to the old level would be a regression nobody sees.
void CellWatch::FollowImprovement(const v1::HistoryPoint& point, const Noise& noise) {
  if (IsPinned(state_.baseline())) return;
  const std::vector<v1::HistoryPoint> counted = Counted();
  if (counted.size() < kImproved) return;
  const std::vector<v1::HistoryPoint> newest(counted.end() - kImproved, counted.end());
  for (const v1::HistoryPoint& one : newest) {
    if (!ReadGates({&one, 1}, state_.baseline(), noise, options_.gates).Faster()) return;
  }
  const double was = state_.baseline().seconds();
  state_.set_known_noise_ratio(state_.baseline().noise_ratio());
  const Noise level = NoiseOf(newest, {options_.between_session_ratio, state_.known_noise_ratio()});
  *state_.mutable_baseline() = *LearnedBaseline(newest, level);
  SetChange(ReadGates({&point, 1}, state_.baseline(), level, options_.gates));
  state_.set_message(fmt::format("faster in {} results in a row: the baseline is {} now, it was {}",
                                 kImproved, SecondsText(state_.baseline().seconds()),
                                 SecondsText(was)));
}

}  // namespace kbench::history
