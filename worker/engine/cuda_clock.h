// The clock that the multiprocessors really ran at between two points of a stream: each of them
// stamps its cycle counter and the global timer. The driver's clock is an average over other
// moments, and at the power limit it read 15 % too high on an H200, where even the mean over a
// burst (flushes included) reads 8 % too high: the points must lie right around the launch. The
// idea of reading it from the two counters is NVBench's. Used from one thread; owned by the
// CudaTimeline.
#pragma once

#include <cuda_runtime_api.h>

#include "worker/engine/cuda_kernels.h"
#include "worker/engine/error.h"

namespace kbench::engine {

class CudaClock {
 public:
  CudaClock() = default;
  ~CudaClock();
  CudaClock(const CudaClock&) = delete;
  CudaClock& operator=(const CudaClock&) = delete;

  EngineError Open(int multiprocessors);
  // Enqueues the stamps of a beginning (first = true, which forgets the earlier ones) or an end.
  EngineError Stamp(bool first, cudaStream_t stream);
  // Once the stream is done: the median over the multiprocessors that stamped both; 0 when none
  // did.
  double Hertz() const;

 private:
  int multiprocessors_ = 0;
  ClockStamp* stamps_ = nullptr;         // host's view: all beginnings, then all ends
  ClockStamp* device_stamps_ = nullptr;  // the device's view of the same
};

}  // namespace kbench::engine
