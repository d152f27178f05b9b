// The schedules there are, and what is to be done about them as time passes. Pure; not thread-safe:
// owned by the coordinator, which makes durable what changes. Times are seconds since the epoch.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kbench/v1/schedule_service.pb.h"
#include "server/schedules/rhythm.h"

namespace kbench::schedules {

// Who comes later than this after a due time finds it missed: the coordinator was away, or its
// clock jumped.
inline constexpr double kLateSeconds = 15 * 60;
inline constexpr int kKeptRuns = 20;

// A schedule whose time has come.
struct Due {
  std::string name;
  double due = 0;
  std::string skipped;  // why it does not run; empty: submit its jobs, and tell Ran()
};

class Book {
 public:
  // Makes or replaces; the runs of one that was there stay. `schedule` is what was asked for, with
  // its owner. The stored form, with next_time and interval_seconds.
  absl::StatusOr<kbench::v1::Schedule> Put(kbench::v1::Schedule schedule, double now);
  // One that was stored. A faulty one (a time zone that has gone) is dropped: what is wrong with
  // it.
  absl::Status Restore(const kbench::v1::Schedule& schedule, double now, std::int64_t skipped = 0,
                       double awaited = 0);
  bool Remove(const std::string& name);
  // nullptr: there is none of this name. One that goes on is next due from now.
  const kbench::v1::Schedule* Pause(const std::string& name, bool paused, double now);
  const kbench::v1::Schedule* Find(const std::string& name) const;
  // Runs that were skipped since it was made, also those no longer kept; 0: there is none of this
  // name.
  std::int64_t SkippedOf(const std::string& name) const;
  // Since when a run is awaited, whether one ended since or not: it was made, went on, or had a
  // device again (Await). 0: there is none of this name, or it is paused.
  double AwaitedOf(const std::string& name) const;
  // It could not have run until now.
  void Await(const std::string& name, double now);
  // By the next time; paused ones last, by name.
  std::vector<const kbench::v1::Schedule*> All() const;

  std::optional<double> NextTime() const;
  // What is due. Each moves on to its next time, and a run that is skipped is written down;
  // `has_ended` tells of the jobs of the run before.
  std::vector<Due> Take(double now, const std::function<bool(const std::string& job)>& has_ended);
  // A run that Take() asked for: its jobs, or why there are none after all.
  void Ran(const std::string& name, double due, const std::vector<std::string>& jobs,
           const std::string& failure);

 private:
  struct Entry {
    kbench::v1::Schedule schedule;
    Rhythm rhythm;
    double next = 0;  // 0: paused
    std::int64_t skipped = 0;
    double awaited = 0;
  };

  static void SetNext(Entry& entry, double now);
  static void AddRun(Entry& entry, double due, const std::vector<std::string>& jobs,
                     const std::string& skipped);

  std::map<std::string, Entry> entries_;
};

}  // namespace kbench::schedules
