// The last default result of each (kernel, implementation, dtype, size, mode, device) as gauges,
// with what is thought of the cell beside it. Bounded: cells that somebody relies on (a pinned
// baseline, a schedule) stay, of all others the newest `most_ad_hoc` do. Series vanish by
// themselves: no reference into a registry is ever kept. Thread-safe; a scrape holds the lock for
// as long as it takes to copy one pointer a cell, and the text of a result is made when it comes,
// not at each scrape: there are many of them, and they change seldom.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kbench/v1/history_service.pb.h"
#include "kbench/v1/result.pb.h"
#include "proto/support/mutex.h"
#include "server/metrics/family.h"

namespace kbench::metrics {

struct SeriesBounds {
  std::size_t most_ad_hoc = 100;
  std::size_t most_kept = 2000;  // pinned or scheduled; beyond it the oldest go too
};

// What is thought of a cell, from history and schedules.
struct CellNote {
  kbench::v1::RegressionState state = kbench::v1::REGRESSION_STATE_UNSPECIFIED;
  double baseline_seconds = 0;  // 0: none yet
  double change_ratio = 0;      // NaN: nothing has been compared with the baseline yet
  double interval_seconds = 0;  // between two runs of its schedule, at most; 0: none measures it
  bool pinned = false;
};

class ResultSeries {
 public:
  explicit ResultSeries(SeriesBounds bounds) : bounds_(bounds) {}

  // Ignores results that are not default ones (store::IsDefaultResult) and those of hidden
  // implementations, the fixtures of the self-test.
  void Record(const kbench::v1::Result& result);
  // Replaces what was known of the cell; it may come before its first result. A note that says
  // nothing is forgotten.
  void Note(const kbench::v1::CellKey& cell, const CellNote& note);
  // Cells that stay however old they are, and of which no result is here.
  std::vector<kbench::v1::CellKey> KeptWithoutResult() const;
  // In the text format, behind what `text` holds.
  void AddTo(std::string* text) const;

 private:
  struct Entry {
    Labels labels;
    std::string label_text;
    std::vector<std::string> values;  // one a family; empty: not known, not exported
    kbench::v1::Verdict verdict = kbench::v1::VERDICT_UNSPECIFIED;
  };
  using Entries = std::list<std::shared_ptr<const Entry>>;  // newest first
  struct Place {
    bool kept = false;
    Entries::iterator entry;
  };

  bool IsKept(const Labels& labels) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Entries& ListOf(bool kept) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return kept ? kept_ : ad_hoc_;
  }
  void Insert(std::shared_ptr<const Entry> entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Evict() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const SeriesBounds bounds_;
  mutable Mutex mutex_;
  Entries kept_ ABSL_GUARDED_BY(mutex_);
  Entries ad_hoc_ ABSL_GUARDED_BY(mutex_);
  std::map<Labels, Place> index_ ABSL_GUARDED_BY(mutex_);
  std::map<Labels, CellNote> notes_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t evicted_ ABSL_GUARDED_BY(mutex_) = 0;
  bool warned_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace kbench::metrics
