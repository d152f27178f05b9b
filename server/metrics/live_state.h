// What is true right now (queue, devices, workers), asked for at each scrape so that what has gone
// leaves no series behind. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kbench/v1/device.pb.h"
#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "proto/support/mutex.h"
#include "server/scheduler/backlog.h"

namespace kbench::metrics {

// A job none of whose cases has begun or runs, in the words of the queue.
struct NextJob {
  std::string owner;
  std::string priority_class;
  std::string text;      // of its next case: "matmul fp16 4096", "hold 30m"
  std::string selector;  // empty: any device
};

struct RunningCase {
  std::string device;
  std::string owner;
  std::string priority_class;
  std::string text;
  double started_at = 0;  // seconds since the epoch
};

struct LiveState {
  std::vector<std::pair<std::string, scheduler::Waiting>> waiting;  // by class
  int queued_jobs = 0;  // that have not begun, or of which nothing runs now
  int running_jobs = 0;
  int running_cases = 0;
  int watchers = 0;
  std::vector<kbench::v1::Device> devices;
  std::vector<NextJob> next;         // the first few, in the order in which they would start
  std::vector<RunningCase> running;  // at most one a device
  // Why a device takes nothing new, by its name: drain, quarantine, hold; any of them at once.
  std::map<std::string, std::set<std::string>> blocks;
  // Of those in quarantine why: ASKED (by somebody), XID, ECC, WRONG_RESULTS.
  std::map<std::string, std::string> quarantines;
};

void AddQueue(const LiveState& state, std::vector<prometheus::MetricFamily>& families);
void AddDevices(const LiveState& state, std::vector<prometheus::MetricFamily>& families);

class LiveCollector final : public prometheus::Collectable {
 public:
  // `source` must be quick, must not throw, and is called on the exposer's thread. Null: nothing.
  void SetSource(std::function<LiveState()> source);
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  mutable Mutex mutex_;
  std::function<LiveState()> source_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kbench::metrics
