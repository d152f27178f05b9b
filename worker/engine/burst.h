// The burst: samples queued behind one blocker. Per sample the operands are evicted, then the
// launch runs between two marks; the host enqueues all of it while the queue is held, so that no
// host cost lies inside a sample. The output is poisoned before the last launch, so that what is
// checked afterwards is what that one wrote. Before every other burst's poison the queue is held as
// long as a sample takes: work on a stream that waits for nothing is over by then and leaves the
// poison, or it is not, and then it ends after the stop mark of the bursts that are not held.
// Knows a Timeline only, neither CUDA nor a CPU. Used from one thread; owned by the engine, one a
// case.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/engine/error.h"
#include "worker/engine/timeline.h"

namespace kbench::engine {

// The output of the launches, as far as a burst touches it: all enqueued in the order of the
// timed queue.
class OutputGate {
 public:
  virtual ~OutputGate() = default;
  virtual EngineError Poison() = 0;
  // Notes what the output is once everything enqueued so far has run.
  virtual EngineError Note() = 0;
  // After the whole device is idle: whether the output is another than the one noted. Then a launch
  // works where its stop mark does not wait for it.
  virtual EngineError Changed(bool* changed) = 0;
  // After Changed(): whether what was noted was still the poison, so that nothing in the timed
  // queue had written the output.
  virtual bool Unwritten() = 0;
};

struct BurstSpec {
  int samples = 1;
  double max_seconds = 0;  // stop early after this long, with at least one block; 0: no limit
  FlushKind flush = FlushKind::kClean;
  OutputGate* gate = nullptr;  // may be null: nothing is poisoned
  // One launch before the first sample that is not timed: whoever measured before us has left the
  // caches cold. Left out where a launch is long enough to warm them itself.
  bool warm_launch = false;
};

struct BurstOutcome {
  std::vector<double> device_seconds;  // accepted samples in order
  std::vector<double> submit_seconds;  // of the same samples; empty where there is no queue
  int discarded = 0;
  double seconds = 0;         // wall time of the whole burst
  double busy_seconds = 0;    // device time of all samples, also of those discarded
  double clock_hertz = 0;     // of the device's cores, mean over the blocks; 0: not known
  bool changed_late = false;  // the gate's Changed(), after any block
  bool unwritten = false;     // the gate's Unwritten(), likewise
  std::uint32_t flags = 0;    // KB_FLAG_*
};

// One launch as the caller gave it.
struct LaunchCall {
  kb_launch launch = nullptr;
  void* user = nullptr;
  void* stream = nullptr;
};

class BurstRunner {
 public:
  explicit BurstRunner(Timeline& timeline);

  // How long one sample is expected to take, before any was measured: bounds the first block.
  void SetPace(double seconds) { pace_seconds_ = seconds; }

  // Times `spec.samples` launches, in as many blocks as the queue's depth and 200 ms of queued work
  // ask for. A blocker that ran out halves the block; at one sample that is KB_TIMEOUT. Whatever
  // happens, the queue is released and empty on return.
  EngineError Run(const BurstSpec& spec, const LaunchCall& call, BurstOutcome* out);

 private:
  struct Block {
    OutputGate* gate = nullptr;  // of its last sample
    int queued = 0;              // samples wholly enqueued
    bool timed_out = false;      // the blocker gave up before the release
    double held_seconds = 0;     // beyond what queueing took
    std::vector<double> submit;  // host seconds of each launch
  };

  int BlockSize(const BurstSpec& spec, int done, double remaining_seconds) const;
  EngineError WarmLaunch(const LaunchCall& call);
  EngineError RunBlock(int samples, const BurstSpec& spec, const LaunchCall& call, Block* block);
  EngineError ShiftSlots(int samples);
  EngineError Enqueue(int samples, const BurstSpec& spec, const LaunchCall& call, Block* block);
  EngineError AfterTimeout(const Block& block, int samples, BurstOutcome* out);
  EngineError Accept(const Block& block, BurstOutcome* out);
  double LongestGap() const;

  Timeline& timeline_;
  const TimelineFacts facts_;
  bool hold_next_ = false;    // the next burst's poison
  int since_shift_ = 0;       // samples behind the last launch of nothing
  int most_queued_;           // halved after a blocker that ran out
  double pace_seconds_ = 0;   // wall time of one sample with its flush; 0: unknown
  std::vector<double> gaps_;  // the latest gaps of one flush kind: their median is the flush time
  FlushKind gaps_kind_ = FlushKind::kClean;
};

}  // namespace kbench::engine
