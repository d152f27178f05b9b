// What is thought of one cell: a state machine fed with its results, one by one as they are stored.
// Pure: the caller hands in results, pins and the time, and does what a Decision says. Not
// thread-safe; owned by whoever feeds it.
//
//   LEARNING      fewer than five VALID results in this environment.
//   NONE          the newest result is not slower by every gate (gates.h).
//   SUSPECTED     one was. Three fresh sessions are asked for: VALID results of jobs of their own.
//                 One that is slower by less than half of the relative gate rejects the suspicion
//                 at once; three that are not, and whose median is slower by every gate, confirm
//                 it. The one that raised it does not count, being chosen for its slowness. After a
//                 day it lapses: the machine is another one by then.
//   CONFIRMED     Ends when two results in a row are back below half of the gate (after the first
//                 a fresh session is asked for), when a baseline is pinned (by which the newest
//                 result is judged at once) or dropped, and with the environment. A further step
//                 does not end it and raises nothing new.
//   INCOMPARABLE  the newest result has another environment than the pinned baseline. A learned
//                 baseline is learned anew instead.
//
// Only VALID results count. Those measured in doubt (from the suspicion on) count for no baseline;
// when it is rejected they count as noise, so that what comes by itself raises the gates. Results
// are taken as they come: a name that was seen before, or none, changes nothing; one up to a day
// older than the newest is put in its place and decides nothing; one older still means that the
// clock was set back, and is the newest.
#pragma once

#include <string>
#include <vector>

#include "google/protobuf/timestamp.pb.h"
#include "kbench/v1/history_service.pb.h"
#include "server/history/gates.h"
#include "server/history/noise.h"

namespace kbench::history {

struct WatchOptions {
  GateOptions gates;
  double between_session_ratio = 0;  // of the device; 0: stats' prior
  int confirmations = 3;
  double lapse_seconds = 24 * 3600;
  int most_points = 200;  // kept; at least kMostNoiseResults
};

// What the caller has to do and to count. One result may mean several.
struct Decision {
  int sessions = 0;  // measure the case again so many times, each in a job of its own
  google::protobuf::Timestamp until;  // after which they are of no use
  bool suspected = false;
  bool confirmed = false;  // the alert is raised
  bool rejected = false;   // a false alarm that measuring again found out
  bool lapsed = false;     // not measured again in time
  bool cleared = false;    // what was confirmed is over; also when a baseline was pinned or dropped
  bool epoch_opened = false;
  bool changed = false;  // the state is to be stored
};

class CellWatch {
 public:
  explicit CellWatch(v1::CellKey cell, WatchOptions options = {});

  // As it was: the stored state with the newest points and their epochs, oldest first. Without a
  // stored state (none of its fields set but the cell) the points are gone through again.
  static CellWatch Restore(const v1::CellState& state, std::vector<v1::HistoryPoint> points,
                           std::vector<v1::Epoch> epochs, WatchOptions options = {});

  Decision OnResult(const v1::HistoryPoint& point, const v1::Epoch& epoch);
  // Lapses what has waited too long.
  Decision OnTime(const google::protobuf::Timestamp& now);
  // A job that measures the suspicion again.
  void AddConfirmation(const std::string& job);
  // Why a result cannot be pinned: it is not VALID, or of another environment than the newest one.
  // Empty: it can.
  std::string WhyNotPinned(const v1::HistoryPoint& point) const;
  // Of a point that can be pinned. The newest result is judged by it at once.
  Decision Pin(const v1::HistoryPoint& point, const std::string& by,
               const google::protobuf::Timestamp& now);
  Decision Drop(const google::protobuf::Timestamp& now);

  // What is known of the device by now.
  void SetDevice(double between_session_ratio, double clock_step_seconds) {
    options_.between_session_ratio = between_session_ratio;
    options_.gates.clock_step_seconds = clock_step_seconds;
  }

  const v1::CellState& state() const { return state_; }
  const std::vector<v1::HistoryPoint>& points() const { return points_; }  // oldest first
  const std::vector<v1::Epoch>& epochs() const { return epochs_; }

 private:
  bool Seen(const std::string& result) const;
  bool PutLate(const v1::HistoryPoint& point);
  void NoteLatest();
  bool InDoubt() const;
  bool Excluded(const std::string& result) const;
  void Exclude(const std::string& result);
  void Include(const std::vector<v1::HistoryPoint>& points);
  std::vector<v1::HistoryPoint> Counted() const;
  std::vector<v1::HistoryPoint> Fresh() const;
  Noise NoiseNow() const;

  void Enter(v1::RegressionState state, const google::protobuf::Timestamp& since,
             const std::string& message);
  void EnterEpoch(const v1::HistoryPoint& point, Decision* decision);
  void Learn(const v1::HistoryPoint& point);
  void SetChange(const GateReading& reading);
  void Judge(const v1::HistoryPoint& point, Decision* decision);
  void WhileQuiet(const v1::HistoryPoint& point, const GateReading& reading, const Noise& noise,
                  Decision* decision);
  void WhileSuspected(const v1::HistoryPoint& point, const GateReading& reading, const Noise& noise,
                      Decision* decision);
  void WhileConfirmed(const v1::HistoryPoint& point, const GateReading& reading, const Noise& noise,
                      Decision* decision);
  void NotValidWhileSuspected(Decision* decision);
  void GrowBaseline(const Noise& noise);
  void FollowImprovement(const v1::HistoryPoint& point, const Noise& noise);
  void Lapse(const google::protobuf::Timestamp& now, Decision* decision);
  bool Overdue(const google::protobuf::Timestamp& now) const;
  void AskFor(int sessions, const google::protobuf::Timestamp& now, Decision* decision) const;
  void Trim();

  WatchOptions options_;
  v1::CellState state_;
  std::vector<v1::HistoryPoint> points_;
  std::vector<v1::Epoch> epochs_;
};

}  // namespace kbench::history
