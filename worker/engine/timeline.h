// One device's queue and clock, behind which the burst algorithm (burst.h) knows nothing of CUDA or
// the CPU. Tests run it against a fake timeline. Used from one thread; owned by the engine.
#pragma once

#include <cstdint>
#include <string>

#include "worker/engine/error.h"

namespace kbench::engine {

using TimelineError = EngineError;

enum class FlushKind { kClean, kDirty, kNone };

struct TimelineFacts {
  std::string mechanism;
  double quantum_seconds = 0;  // smallest step between two sample times
  std::int64_t flush_bytes = 0;
  int max_queued_samples = 1;  // how many samples may stand in the queue
  bool has_queue = false;      // a launch only enqueues: host submit time means something
  bool has_graphs = false;     // BeginCapture() and the like work
  int samples_per_block = 0;   // how many stand behind one blocker; 0: as many as the queue holds
};

class Timeline {
 public:
  virtual ~Timeline() = default;
  virtual TimelineFacts Facts() const = 0;
  // Once before each burst, with an empty queue: what must not differ between bursts is set.
  virtual TimelineError BeginBurst() = 0;
  // Once after each burst: leaves the machine to whoever measures next.
  virtual void EndBurst() = 0;
  // Holds the queue: nothing enqueued later starts before Release(). A no-op without a queue.
  virtual TimelineError Block() = 0;
  virtual TimelineError Release() = 0;
  // What each half of a flush touches from now on; 0: twice the last-level cache. Ignored where a
  // flush evicts the operands alone.
  virtual TimelineError SetFlushBytes(std::int64_t /*bytes*/) { return {}; }
  // Enqueues the eviction of the operands (and of everything else the flush kind asks for).
  virtual TimelineError Flush(FlushKind kind) = 0;
  // Enqueues a launch that does nothing.
  virtual TimelineError EnqueueNothing() { return {}; }
  // Marks around sample `index` of the burst.
  virtual TimelineError MarkStart(int index) = 0;
  virtual TimelineError MarkStop(int index) = 0;
  // Waits for everything enqueued. The error of an asynchronous fault surfaces here.
  virtual TimelineError Synchronize() = 0;
  // After Synchronize(): seconds between the marks of a sample, and from a sample's stop to the
  // next one's start.
  virtual double SampleSeconds(int index) = 0;
  virtual double GapSeconds(int index) = 0;
  // Waits until the device has passed the stop mark of a sample, and whether it has; without a
  // queue it always has.
  virtual TimelineError WaitForStop(int /*index*/) { return {}; }
  virtual bool StopReached(int /*index*/) { return true; }
  // What is enqueued from BeginCapture() on becomes a graph instead of work; EndCapture() keeps it
  // in place of the last one, once it holds at least `launches` nodes; Replay() enqueues it.
  virtual TimelineError BeginCapture() { return NoGraphs(); }
  virtual TimelineError EndCapture(int /*launches*/) { return NoGraphs(); }
  virtual TimelineError Replay() { return NoGraphs(); }
  // The clock of the device's cores between two points of the queue: StampClock(true) enqueues the
  // first, StampClock(false) the second; after Synchronize() cycles a second, 0 where nothing tells
  // them.
  virtual TimelineError StampClock(bool /*first*/) { return {}; }
  virtual double ClockHertz() { return 0; }
  // True when the blocker gave up by itself before Release() (a launch synchronized).
  virtual bool BlockerTimedOut() = 0;
  // What disturbed the measurement since the last call: KB_FLAG_MIGRATED, KB_FLAG_STOLEN,
  // KB_FLAG_SIDE_STREAM, KB_FLAG_PERSISTING_L2.
  virtual std::uint32_t Disturbances() = 0;
  // Host time, seconds.
  virtual double HostSeconds() = 0;
  // Lets host time pass while the queue is held; nothing where there is no queue.
  virtual void Hold(double /*seconds*/) {}

 private:
  static TimelineError NoGraphs() {
    return {KB_INVALID_ARGUMENT, "mode graph needs CUDA graphs, which a CPU has not"};
  }
};

}  // namespace kbench::engine
