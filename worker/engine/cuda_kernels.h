// The device code of the engine behind host functions that enqueue it on a stream. Private to the
// CUDA engine; used from one thread. Each returns the launch's own error; a fault on the device
// surfaces at the next synchronisation.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/catalog/problem.h"

namespace kbench::engine {

// Where host and device meet about the held queue; in host memory that the device reads and writes.
struct BlockerFlags {
  unsigned long long released = 0;   // the host: blockers up to this generation may end
  unsigned long long timed_out = 0;  // the device: this generation gave up by itself
};

// Occupies the stream until `flags->released` reaches `generation`, at most `timeout_seconds`.
cudaError_t EnqueueBlocker(BlockerFlags* flags, unsigned long long generation,
                           double timeout_seconds, cudaStream_t stream);

// One multiprocessor's cycle counter and the global timer at the same moment.
struct ClockStamp {
  unsigned long long cycles = 0;
  unsigned long long nanoseconds = 0;  // 0: it did not stamp
};
// Stamps `stamps[i]` on each multiprocessor i that gets a block; `count` of them.
cudaError_t EnqueueClockStamps(ClockStamp* stamps, int count, cudaStream_t stream);

// Writes, or reads, every line of a buffer (a multiple of 16 bytes).
cudaError_t EnqueueFlushWrite(void* buffer, std::int64_t bytes, int blocks, cudaStream_t stream);
// `sink`: one word that is never really written; it keeps the reads from being optimised away.
cudaError_t EnqueueFlushRead(const void* buffer, std::int64_t bytes, unsigned* sink, int blocks,
                             cudaStream_t stream);

// The same bits as kernels/reference makes on the host.
cudaError_t EnqueueFill(const OperandSpec& spec, int operand, std::uint64_t seed, void* data,
                        cudaStream_t stream);

// Adds the mixed words of HostDigest() to *sum, which the caller has zeroed.
cudaError_t EnqueueDigest(const void* data, std::int64_t bytes, unsigned long long* sum,
                          cudaStream_t stream);

}  // namespace kbench::engine
