// The GPU's timeline: one stream, a blocker kernel that holds it, and timing events preallocated
// around each sample. Used from one thread; owned by the CudaDevice.
//
// The flushes of a GPU, as measured on an H200 (a flush that only writes leaves dirty lines, whose
// write-back the kernel then pays: a memory-bound sum reads 12 % too slow):
//   clean  writes a buffer of twice the L2, then reads another of twice the L2 (reading once the L2
//          leaves dirty lines behind); a calibration may have found another size to be enough;
//   dirty  sets the size of the L2 once, as NVBench's does;
//   none   leaves what the last launch left.
// One sample stands behind a blocker. With more of them behind one, each reads 0.4 to 0.9 us more
// on an H200 (the front end fetches what was queued later only when it comes there), and a launch
// that works on a side stream would write into the next sample.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "worker/engine/cuda_clock.h"
#include "worker/engine/cuda_kernels.h"
#include "worker/engine/timeline.h"

namespace kbench::engine {

class CudaTimeline final : public Timeline {
 public:
  static constexpr double kBlockerSeconds = KB_BLOCKER_SECONDS;  // the deadlock guard

  CudaTimeline() = default;
  ~CudaTimeline() override;
  CudaTimeline(const CudaTimeline&) = delete;
  CudaTimeline& operator=(const CudaTimeline&) = delete;

  // Allocates everything, loads every kernel and measures the clock's quantum. Once, before use.
  EngineError Open(cudaStream_t stream);

  std::int64_t l2_bytes() const { return l2_bytes_; }
  std::int64_t flush_bytes() const { return flush_bytes_; }  // of each half

  TimelineFacts Facts() const override;
  TimelineError BeginBurst() override;
  void EndBurst() override {}
  TimelineError Block() override;
  TimelineError Release() override;
  TimelineError SetFlushBytes(std::int64_t bytes) override;
  TimelineError Flush(FlushKind kind) override;
  TimelineError EnqueueNothing() override;
  TimelineError MarkStart(int index) override;
  TimelineError MarkStop(int index) override;
  TimelineError Synchronize() override;
  double SampleSeconds(int index) override;
  double GapSeconds(int index) override;
  TimelineError WaitForStop(int index) override;
  bool StopReached(int index) override;
  TimelineError StampClock(bool first) override { return clock_.Stamp(first, stream_); }
  double ClockHertz() override { return clock_.Hertz(); }
  TimelineError BeginCapture() override;
  TimelineError EndCapture(int launches) override;
  TimelineError Replay() override;
  bool BlockerTimedOut() override;
  std::uint32_t Disturbances() override;
  double HostSeconds() override;
  void Hold(double seconds) override;

 private:
  EngineError Allocate();
  EngineError Preload();
  EngineError MeasureQuantum();
  EngineError ResizeFlush(std::int64_t bytes);
  std::size_t L2SetAside() const;
  bool PersistingL2() const;
  double Between(cudaEvent_t from, cudaEvent_t to);

  cudaStream_t stream_ = nullptr;
  std::vector<cudaEvent_t> starts_, stops_;
  BlockerFlags* flags_ = nullptr;         // host's view
  BlockerFlags* device_flags_ = nullptr;  // the device's view of the same
  unsigned long long generation_ = 0;
  void* write_buffer_ = nullptr;
  void* read_buffer_ = nullptr;
  unsigned* sink_ = nullptr;
  std::int64_t l2_bytes_ = 0;
  std::int64_t flush_bytes_ = 0;     // what a flush touches of each buffer
  std::int64_t flush_capacity_ = 0;  // of each buffer
  int flush_blocks_ = 1;
  bool persisting_l2_ = false;       // the device has it
  std::size_t least_set_aside_ = 0;  // what the device keeps when asked for none
  bool persisting_found_ = false;    // somebody had set it before this burst
  bool drained_late_ = false;        // the device was busy after the stream was done
  cudaGraphExec_t graph_ = nullptr;  // what Replay() enqueues
  double quantum_seconds_ = 0;
  CudaClock clock_;
};

}  // namespace kbench::engine
