// The GPU's timeline: one stream, a blocker kernel that holds it, and timing events preallocated
// around each sample. Used from one thread; owned by the CudaDevice.
//
// The flushes of a GPU, as measured on an H200 (a flush that only writes leaves dirty lines, whose
// write-back the kernel then pays: a memory-bound sum reads 12 % too slow):
//   clean  writes a buffer of twice the L2, then reads another of twice the L2 (reading once the L2
//          leaves dirty lines behind);
//   dirty  writes only;
//   none   leaves what the last launch left.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "worker/engine/cuda_kernels.h"
#include "worker/engine/timeline.h"

namespace kbench::engine {

class CudaTimeline final : public Timeline {
 public:
  static constexpr double kBlockerSeconds = 2;  // the deadlock guard

  CudaTimeline() = default;
  ~CudaTimeline() override;
  CudaTimeline(const CudaTimeline&) = delete;
  CudaTimeline& operator=(const CudaTimeline&) = delete;

  // Allocates everything, loads every kernel and measures the clock's quantum. Once, before use.
  EngineError Open(cudaStream_t stream);

  TimelineFacts Facts() const override;
  TimelineError BeginBurst() override;
  void EndBurst() override {}
  TimelineError Block() override;
  TimelineError Release() override;
  TimelineError Flush(FlushKind kind) override;
  TimelineError MarkStart(int index) override;
  TimelineError MarkStop(int index) override;
  TimelineError Synchronize() override;
  double SampleSeconds(int index) override;
  double GapSeconds(int index) override;
  bool BlockerTimedOut() override;
  std::uint32_t Disturbances() override { return 0; }  // the samples lie on the device
  double HostSeconds() override;

 private:
  EngineError Allocate();
  EngineError Preload();
  EngineError MeasureQuantum();
  double Between(cudaEvent_t from, cudaEvent_t to);

  cudaStream_t stream_ = nullptr;
  std::vector<cudaEvent_t> starts_, stops_;
  BlockerFlags* flags_ = nullptr;         // host's view
  BlockerFlags* device_flags_ = nullptr;  // the device's view of the same
  unsigned long long generation_ = 0;
  void* write_buffer_ = nullptr;
  void* read_buffer_ = nullptr;
  unsigned* sink_ = nullptr;
  std::int64_t flush_bytes_ = 0;  // of each buffer
  int flush_blocks_ = 1;
  bool persisting_l2_ = false;
  double quantum_seconds_ = 0;
};

}  // namespace kbench::engine
