#include <algorithm>

#include "kernels/reference/random.h"
#include "worker/engine/cuda_kernels.h"
#include "worker/engine/digest.h"

namespace kbench::engine {
namespace {

constexpr int kThreads = 256;

__device__ unsigned long long GlobalNanoseconds() {
  unsigned long long time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

__global__ void HoldQueue(volatile BlockerFlags* flags, unsigned long long generation,
                          unsigned long long timeout_nanoseconds) {
  const unsigned long long begin = GlobalNanoseconds();
  while (flags->released < generation) {
    // Whatever the host does, the device comes free again: a launch that waits for the device would
    // otherwise never return.
    if (GlobalNanoseconds() - begin > timeout_nanoseconds) {
      flags->timed_out = generation;
      __threadfence_system();
      return;
    }
    __nanosleep(200);
  }
}

// A whole multiprocessor's threads a block, so that each block finds one of its own.
constexpr int kStampThreads = 1024;

__global__ void __launch_bounds__(kStampThreads) StampClocks(ClockStamp* stamps, int count) {
  if (threadIdx.x != 0) return;
  unsigned multiprocessor;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  if (multiprocessor >= static_cast<unsigned>(count)) return;
  stamps[multiprocessor].cycles = static_cast<unsigned long long>(clock64());
  stamps[multiprocessor].nanoseconds = GlobalNanoseconds();
  __threadfence_system();
}

__device__ std::int64_t FirstIndex() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ std::int64_t Stride() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

__global__ void WriteLines(uint4* data, std::int64_t count) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) data[i] = make_uint4(0, 0, 0, 0);
}

__global__ void ReadLines(const uint4* data, std::int64_t count, unsigned* sink) {
  unsigned sum = 0;
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) {
    const uint4 value = data[i];
    sum |= value.x | value.y | value.z | value.w;
  }
  if (sum != 0) *sink = sum;  // the buffer is all zeros, which the compiler does not know
}

__global__ void Fill(DType storage, bool positive, std::uint64_t seed, std::uint32_t operand,
                     std::int64_t count, void* data) {
  for (std::int64_t i = FirstIndex(); i < count; i += Stride()) {
    reference::StoreInputAt(storage, positive, seed, operand, static_cast<std::uint64_t>(i), data);
  }
}

__global__ void SumMixedWords(const unsigned char* data, std::int64_t bytes,
                              unsigned long long* sum) {
  const std::int64_t whole = bytes / 8;
  const auto* words = reinterpret_cast<const std::uint64_t*>(data);
  std::uint64_t own = 0;
  for (std::int64_t i = FirstIndex(); i < whole; i += Stride()) {
    own += MixWord(words[i], static_cast<std::uint64_t>(i));
  }
  if (FirstIndex() == 0 && bytes % 8 != 0) {
    own += MixWord(LoadWord(data, bytes, whole), static_cast<std::uint64_t>(whole));
  }
  for (int offset = 16; offset > 0; offset /= 2) own += __shfl_down_sync(~0u, own, offset);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, static_cast<unsigned long long>(own));
}

// Enough blocks for the work, and no more than keep any GPU busy: the loops stride.
int BlocksFor(std::int64_t count) {
  return static_cast<int>(std::clamp<std::int64_t>((count + kThreads - 1) / kThreads, 1, 2048));
}

}  // namespace

cudaError_t EnqueueBlocker(BlockerFlags* flags, unsigned long long generation,
                           double timeout_seconds, cudaStream_t stream) {
  HoldQueue<<<1, 1, 0, stream>>>(flags, generation,
                                 static_cast<unsigned long long>(timeout_seconds * 1e9));
  return cudaGetLastError();
}

cudaError_t EnqueueClockStamps(ClockStamp* stamps, int count, cudaStream_t stream) {
  StampClocks<<<count, kStampThreads, 0, stream>>>(stamps, count);
  return cudaGetLastError();
}

cudaError_t EnqueueFlushWrite(void* buffer, std::int64_t bytes, int blocks, cudaStream_t stream) {
  WriteLines<<<blocks, kThreads, 0, stream>>>(static_cast<uint4*>(buffer), bytes / 16);
  return cudaGetLastError();
}

cudaError_t EnqueueFlushRead(const void* buffer, std::int64_t bytes, unsigned* sink, int blocks,
                             cudaStream_t stream) {
  ReadLines<<<blocks, kThreads, 0, stream>>>(static_cast<const uint4*>(buffer), bytes / 16, sink);
  return cudaGetLastError();
}

cudaError_t EnqueueFill(const OperandSpec& spec, int operand, std::uint64_t seed, void* data,
                        cudaStream_t stream) {
  const std::int64_t count = spec.elements();
  Fill<<<BlocksFor(count), kThreads, 0, stream>>>(spec.storage, spec.positive, seed,
                                                  static_cast<std::uint32_t>(operand), count, data);
  return cudaGetLastError();
}

cudaError_t EnqueueDigest(const void* data, std::int64_t bytes, unsigned long long* sum,
                          cudaStream_t stream) {
  SumMixedWords<<<BlocksFor(bytes / 8), kThreads, 0, stream>>>(
      static_cast<const unsigned char*>(data), bytes, sum);
  return cudaGetLastError();
}

}  // namespace kbench::engine
