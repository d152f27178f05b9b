// Keeps the schedules: in the store, in the metrics, and to their times. Submits their jobs as
// their owners would. Thread-safe; a thread of its own waits for what is due.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "kbench/v1/history_service.pb.h"
#include "kbench/v1/schedule_service.pb.h"
#include "proto/support/clock.h"
#include "proto/support/mutex.h"
#include "server/metrics/schedule_series.h"
#include "server/rpc/coordinator.h"
#include "server/schedules/book.h"
#include "server/store/store.h"

namespace kbench::server {

inline constexpr int kMostSchedules = 1000;
inline constexpr int kMostScheduledJobs = 100;
inline constexpr int kMostScheduledCases = 10'000;

class ScheduleKeeper {
 public:
  // All outlive it. `look_seconds`: how often the clock is looked at, which may jump.
  ScheduleKeeper(store::Store& store, Coordinator& coordinator, Clock& clock,
                 double look_seconds = 5);
  ~ScheduleKeeper();

  // Takes up what the store holds, and begins to wait.
  absl::Status Start();
  void Stop();

  // Durable when they return. `owner` has been checked. INVALID_ARGUMENT names the field.
  absl::StatusOr<kbench::v1::Schedule> Set(kbench::v1::Schedule schedule);
  absl::StatusOr<kbench::v1::Schedule> Pause(const std::string& name, bool paused);
  absl::Status Delete(const std::string& name);
  // Empty: there is none of this name.
  std::string OwnerOf(const std::string& name);
  // Without their jobs, but with the devices these name; the state of runs from the store.
  std::vector<kbench::v1::Schedule> All();
  // The longest time between two runs; 0: there is none of this name, it is paused, or it does not
  // measure such a case by now (a job's label alone says nothing: people may set it).
  double IntervalOf(const std::string& name, const kbench::v1::CellKey& cell);
  // Called, without a lock that IntervalOf takes, when what it says may have changed. Before Start.
  void SetObserver(std::function<void()> on_change) { on_change_ = std::move(on_change); }
  // Asked before each run: who may not submit any more has no schedules that do. Before Start.
  void SetGuard(std::function<absl::Status(const std::string& owner)> may_submit) {
    may_submit_ = std::move(may_submit);
  }

  // For the metrics: as they stand, without I/O.
  std::vector<metrics::ScheduleState> Series();

  // Submits what is due now, looks which runs have ended and which schedules have no device. On the
  // keeper's thread; also for tests.
  void Look();

 private:
  double Now() const { return static_cast<double>(clock_.WallMicros()) * 1e-6; }
  // Fills in the canonical shapes of the cases.
  absl::Status CheckJobs(kbench::v1::Schedule& schedule);
  absl::Status Keep(const std::string& name);  // as the book has it; tells the observer
  bool HasEnded(const std::string& job);
  void Run(const schedules::Due& due);
  void SubmitDue();
  // Reads the store for the end of each schedule's newest run.
  void NoteEnds();
  // Those whose devices are all drained or lent are not awaited until they have one again.
  void NoteAside();
  std::set<std::string> DevicesOf(const kbench::v1::Schedule& schedule);
  kbench::v1::JobState StateOf(const kbench::v1::ScheduledRun& run);
  // When the last of them ended; 0: one has not.
  double EndOf(const kbench::v1::ScheduledRun& run);
  void Loop();

  // A run that was not skipped.
  struct Ended {
    double due = 0;
    double ended = 0;
  };

  store::Store& store_;
  Coordinator& coordinator_;
  Clock& clock_;
  std::function<void()> on_change_ = [] {};
  std::function<absl::Status(const std::string&)> may_submit_ = [](const std::string&) {
    return absl::OkStatus();
  };
  const double look_seconds_;

  Mutex change_mutex_;  // one change at a time: what is stored last is what the book has
  Mutex mutex_;
  schedules::Book book_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Ended> ended_ ABSL_GUARDED_BY(mutex_);  // the newest, by schedule
  std::set<std::string> aside_ ABSL_GUARDED_BY(mutex_);         // schedules without a device now
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  CondVar wake_;
  std::thread thread_;
};

}  // namespace kbench::server
