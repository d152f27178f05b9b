// The CPU's timeline: launches run at once on the calling thread, between two readings of the
// steady clock. There is no queue to hold, so a launch's submit time means nothing here. Used from
// one thread; owned by the CpuDevice.
//
// The flushes of a CPU:
//   clean  evicts the operands line by line: the kernel reads from memory and finds no dirty line
//          of anybody else's that it would have to write back;
//   dirty  the same, and then the caches that belong to this core alone (L1d and L2) are filled
//          with freshly written foreign lines, whose write-back the kernel pays;
//   none   leaves what the last launch left.
//
// Every thread of the process has a CPU of its own during a burst, and the library's threads are
// asleep after it.
#pragma once

#include <chrono>
#include <utility>
#include <vector>

#include "worker/engine/own_threads.h"
#include "worker/engine/scheduler_watch.h"
#include "worker/engine/timeline.h"

namespace kbench::engine {

class CpuTimeline final : public Timeline {
 public:
  explicit CpuTimeline(int threads);

  // What Flush() evicts: {data, bytes} of each operand. They stay the caller's.
  void SetOperands(std::vector<std::pair<const void*, std::int64_t>> operands);

  TimelineFacts Facts() const override;
  TimelineError BeginBurst() override;
  void EndBurst() override;
  TimelineError Block() override { return {}; }
  TimelineError Release() override { return {}; }
  TimelineError Flush(FlushKind kind) override;
  TimelineError MarkStart(int index) override;
  TimelineError MarkStop(int index) override;
  TimelineError Synchronize() override { return {}; }
  double SampleSeconds(int index) override;
  double GapSeconds(int index) override;
  bool BlockerTimedOut() override { return false; }
  std::uint32_t Disturbances() override;
  double HostSeconds() override;

 private:
  struct Marks {
    std::chrono::steady_clock::time_point start, stop;
    int core = -1;  // where the sample started
  };

  const int threads_;
  const double quantum_seconds_;
  std::vector<Marks> marks_;
  std::vector<std::pair<const void*, std::int64_t>> operands_;
  std::vector<char> foreign_;  // what a dirty flush writes
  char foreign_value_ = 0;
  bool migrated_ = false;
  OwnThreads own_threads_;
  SchedulerWatch watch_;
};

}  // namespace kbench::engine
