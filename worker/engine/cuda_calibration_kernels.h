// The kernels of a calibration behind host functions that enqueue them on a stream. Each returns
// the launch's own error. Times are nanoseconds of the device's global timer. Used from one thread.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace kbench::engine {

// When a kernel ran, by the device's own timer; in device memory.
struct DeviceSpan {
  unsigned long long begin = ~0ull;
  unsigned long long end = 0;
};

cudaError_t EnqueueNothing(cudaStream_t stream);

// The next `count` values that the global timer shows, each different from the one before; stops
// short (zeros are left) when the timer does not move for millions of readings.
cudaError_t EnqueueTimerSteps(unsigned long long* values, int count, cudaStream_t stream);

// Spins for so long and notes when it began and ended.
cudaError_t EnqueueSpin(unsigned long long nanoseconds, DeviceSpan* span, cudaStream_t stream);

// Keeps every multiprocessor busy for so many of its cycles, without memory.
cudaError_t EnqueueBusyCycles(unsigned cycles, cudaStream_t stream);

// The passes over memory work on whole pieces of this many bytes, 16 bytes a thread and access with
// eight of them in flight.
inline constexpr std::int64_t kPassPiece = 32 << 10;

// Reads a buffer of zeros; `sink` is one word that is never really written.
cudaError_t EnqueueReadPass(const void* data, std::int64_t bytes, unsigned* sink,
                            cudaStream_t stream);
cudaError_t EnqueueWritePass(void* data, std::int64_t bytes, cudaStream_t stream);
cudaError_t EnqueueCopyPass(const void* from, void* to, std::int64_t bytes, cudaStream_t stream);

}  // namespace kbench::engine
