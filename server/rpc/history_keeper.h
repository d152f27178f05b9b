// Keeps what is thought of every cell: takes up results as they are stored, has doubtful cases
// measured again, tells the metrics, and stores the state of each cell. Thread-safe; works on a
// thread of its own, so that whoever stores results does not wait for it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "kbench/v1/history_service.pb.h"
#include "proto/support/clock.h"
#include "proto/support/mutex.h"
#include "server/history/cell_watch.h"
#include "server/metrics/metrics.h"
#include "server/rpc/coordinator.h"
#include "server/store/store.h"

namespace kbench::server {

struct HistoryOptions {
  bool confirm = true;       // measure suspicions again
  double look_seconds = 30;  // how often it is looked for suspicions that have lapsed
};

class HistoryKeeper {
 public:
  // A cell none of whose results was VALID has not even begun to learn.
  static kbench::v1::RegressionState StateOf(const kbench::v1::CellState& state);

  // The longest time between two runs of a schedule that measures the cell; 0: it does not.
  using IntervalOf =
      std::function<double(const std::string& schedule, const kbench::v1::CellKey& cell)>;

  // All outlive it.
  HistoryKeeper(store::Store& store, Coordinator& coordinator, metrics::Metrics& metrics,
                Clock& clock, IntervalOf interval_of, HistoryOptions options = {});
  ~HistoryKeeper();

  // Takes up what the store holds, and begins.
  absl::Status Start();
  void Stop();

  // Results of one case that have just become durable, with the labels of their job. Quick.
  void OnResults(const std::vector<kbench::v1::Result>& results,
                 const std::map<std::string, std::string>& labels);
  // What IntervalOf says may have changed.
  void OnSchedules();
  // Waits until all that was handed over is taken up; for tests.
  void Settle();

  absl::StatusOr<kbench::v1::ListCellsResponse> List(const kbench::v1::ListCellsRequest& request);
  absl::StatusOr<kbench::v1::History> Get(const kbench::v1::GetHistoryRequest& request);
  absl::StatusOr<kbench::v1::CellState> Pin(const kbench::v1::PinBaselineRequest& request,
                                            const std::string& by);
  absl::StatusOr<kbench::v1::CellState> Drop(const kbench::v1::DropBaselineRequest& request);
  absl::StatusOr<kbench::v1::Cause> Why(const kbench::v1::WhyRequest& request);
  absl::StatusOr<kbench::v1::EpochReport> Compare(const kbench::v1::CompareEpochsRequest& request);

 private:
  // kernel, dtype, shape, mode, implementation, device: the order of listings.
  using Key =
      std::tuple<std::string, std::string, std::string, std::string, std::string, std::string>;
  struct Cell {
    history::CellWatch watch;
    std::string schedule;
  };
  struct Arrived {
    kbench::v1::Result result;
    std::string schedule;
  };
  // What is to be done about a decision, outside of the lock.
  struct Work {
    kbench::v1::CellKey cell;
    int sessions = 0;
    std::string suspect;
    double until = 0;
  };

  static Key KeyOf(const kbench::v1::CellKey& cell);
  static std::string TextOf(const Key& key);
  static std::string NameOf(const kbench::v1::CellKey& cell);  // for people
  // The jobs that measure it again.
  static std::set<std::string> AskedOf(const Cell& cell);
  static bool Matches(const kbench::v1::CellKey& filter, const kbench::v1::CellKey& cell);

  history::WatchOptions OptionsFor(const std::string& device);
  absl::Status Restore(const store::Record& record);
  void CatchUp();
  void Loop();
  void TakeUp(const Arrived& arrived);
  void LookForLapsed();
  // Counts, tells the metrics, and remembers what is to be stored.
  void Act(Cell& cell, const history::Decision& decision, std::vector<Work>* work)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Tell(const Cell& cell) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MeasureAgain(const std::vector<Work>& work);
  void Forgo(const std::set<std::string>& asked, const std::set<std::string>& wanted);
  absl::Status Keep(const kbench::v1::CellKey& cell);
  // The cell that is meant; device and mode may be left out where that is clear.
  absl::StatusOr<Cell*> Find(const kbench::v1::CellKey& cell) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<kbench::v1::Cause> WhyOf(const std::string& a, const std::string& b,
                                          const std::string& device);

  store::Store& store_;
  Coordinator& coordinator_;
  metrics::Metrics& metrics_;
  Clock& clock_;
  const IntervalOf interval_of_;
  const HistoryOptions options_;

  Mutex mutex_;
  std::map<Key, Cell> cells_ ABSL_GUARDED_BY(mutex_);
  std::deque<Arrived> arrived_ ABSL_GUARDED_BY(mutex_);
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  CondVar wake_;
  CondVar settled_;
  std::thread thread_;
};

}  // namespace kbench::server
