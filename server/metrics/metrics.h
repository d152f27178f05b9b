// The coordinator's metrics and the HTTP endpoint that exports them on /metrics. Owned by the
// server; thread-safe. Names start with kbench_, base units; no job, user or UUID labels outside
// _info. Label sets of results are exactly {kernel, implementation, dtype, size, mode, device}.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kbench/v1/result.pb.h"
#include "server/metrics/live_state.h"
#include "server/metrics/result_series.h"
#include "server/metrics/rpc_calls.h"
#include "server/metrics/schedule_series.h"
#include "server/scheduler/types.h"

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
class Registry;
template <typename T>
class Family;
}  // namespace prometheus

namespace kbench::metrics {

class HttpEndpoint;

enum class AttemptEnd { kDone, kInfra, kCancelled, kLost };

// What a result, or time, made of a cell; any of these may be true at once.
struct CellDecision {
  bool suspected = false;
  bool confirmed = false;
  bool rejected = false;  // a false alarm that measuring again found out
  bool lapsed = false;    // not measured again in time
  bool cleared = false;
};

class Metrics {
 public:
  explicit Metrics(const std::string& version, SeriesBounds bounds = {});
  ~Metrics();

  void JobSubmitted();
  // Seconds from submission to the start (negative: it never started) and from there to the end.
  void JobCompleted(scheduler::State state, double queue_seconds, double run_seconds);
  void AttemptEnded(AttemptEnd end);
  void LeasesExpired(int count);  // attempts that were lost
  void StaleResult();
  void CommitTook(double seconds);
  // Where the time of an attempt on the device went, by phase (those of AttemptResult), and how
  // long the device had waited for it while more of the job was known (0: it had not).
  void AttemptTook(const std::string& device, const std::map<std::string, double>& phase_seconds,
                   double gap_seconds);
  // `reason`: ASKED (by a person), XID, ECC, WRONG_RESULTS.
  void DeviceQuarantined(const std::string& device, const std::string& reason);
  // Bytes kept of what, by kind: those of store::Upkeep::Bytes, and backups.
  void StoreKeeps(const std::map<std::string, std::int64_t>& bytes);
  // The most that is kept of a kind; 0: no bound.
  void StoreMayKeep(const std::string& kind, std::int64_t bytes);
  void RecordResult(const kbench::v1::Result& result);
  // For a result that was stored before this process began: it is no event.
  void RestoreResult(const kbench::v1::Result& result) { results_.Record(result); }
  std::vector<kbench::v1::CellKey> KeptWithoutResult() const {
    return results_.KeptWithoutResult();
  }
  void NoteCell(const kbench::v1::CellKey& cell, const CellNote& note) {
    results_.Note(cell, note);
  }
  void CellDecided(const std::string& device, const CellDecision& decision);
  // What a device's results are compared in is known, and whether that is a change.
  void DeviceEnvironment(const std::string& device, bool changed);
  void SetLiveSource(std::function<LiveState()> source) { live_.SetSource(std::move(source)); }
  void SetScheduleSource(std::function<std::vector<ScheduleState>()> source) {
    schedules_.SetSource(std::move(source));
  }
  RpcCalls& rpc_calls() { return rpc_calls_; }

  // Serves on HOST:PORT (port 0: a free one); the address really bound. One line when it is taken.
  // `not_ready` says why no jobs are served, for /-/ready; empty: they are.
  absl::StatusOr<std::string> Serve(const std::string& address,
                                    std::function<std::string()> not_ready = {});
  void Stop();
  // The text that /metrics answers with.
  std::string Text() const;

 private:
  std::unique_ptr<prometheus::Registry> registry_;
  ResultSeries results_;
  LiveCollector live_;
  ScheduleCollector schedules_;
  RpcCalls rpc_calls_;
  std::unique_ptr<HttpEndpoint> http_;
  // References into the registry, which lives as long; nothing is ever removed from it.
  prometheus::Counter* submitted_;
  std::array<prometheus::Counter*, 6> completed_{};  // by scheduler::State
  std::array<prometheus::Counter*, 4> attempts_{};   // by AttemptEnd
  prometheus::Counter* lease_expirations_;
  prometheus::Counter* stale_results_;
  prometheus::Histogram* commit_seconds_;
  prometheus::Histogram* queue_seconds_;
  prometheus::Histogram* run_seconds_;
  prometheus::Histogram* gap_seconds_;
  prometheus::Family<prometheus::Counter>* busy_seconds_;              // by device and phase
  prometheus::Family<prometheus::Counter>* quarantines_;               // by device and reason
  prometheus::Family<prometheus::Gauge>* store_bytes_;                 // by kind
  prometheus::Family<prometheus::Gauge>* store_caps_;                  // the same
  std::array<prometheus::Family<prometheus::Counter>*, 5> decided_{};  // as CellDecision's fields
  prometheus::Family<prometheus::Counter>* epochs_;                    // by device
  prometheus::Family<prometheus::Counter>* stored_;  // results by device and verdict
};

}  // namespace kbench::metrics
