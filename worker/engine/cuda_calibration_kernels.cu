#include "worker/engine/cuda_calibration_kernels.h"

namespace kbench::engine {
namespace {

constexpr int kThreads = 256;
constexpr int kInFlight = 8;
static_assert(kThreads * kInFlight * sizeof(uint4) == kPassPiece);
constexpr int kMostReadings = 1 << 22;

__device__ unsigned long long GlobalNanoseconds() {
  unsigned long long time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

__global__ void Nothing() {}

__global__ void TimerSteps(unsigned long long* values, int count) {
  unsigned long long last = GlobalNanoseconds();
  for (int i = 0; i < count; ++i) {
    unsigned long long now = last;
    for (int reading = 0; now == last && reading < kMostReadings; ++reading) {
      now = GlobalNanoseconds();
    }
    if (now == last) return;
    values[i] = last = now;
  }
}

__global__ void Spin(unsigned long long nanoseconds, DeviceSpan* span) {
  const unsigned long long begin = GlobalNanoseconds();
  unsigned long long now = begin;
  while (now - begin < nanoseconds) now = GlobalNanoseconds();
  span->begin = begin;
  span->end = now;
}

// A block of so many threads fills a multiprocessor far enough that each gets one.
constexpr int kBusyThreads = 1024;

__global__ void __launch_bounds__(kBusyThreads) BusyCycles(unsigned cycles) {
  const long long begin = clock64();
  while (clock64() - begin < static_cast<long long>(cycles)) {
  }
}

__device__ std::int64_t FirstWord() {
  return static_cast<std::int64_t>(blockIdx.x) * kThreads * kInFlight + threadIdx.x;
}

__global__ void ReadPass(const uint4* data, unsigned* sink) {
  const uint4* from = data + FirstWord();
  uint4 words[kInFlight];
#pragma unroll
  for (int i = 0; i < kInFlight; ++i) words[i] = from[i * kThreads];
  unsigned any = 0;
#pragma unroll
  for (int i = 0; i < kInFlight; ++i) any |= words[i].x | words[i].y | words[i].z | words[i].w;
  if (any != 0) *sink = any;
}

__global__ void WritePass(uint4* data) {
  uint4* to = data + FirstWord();
#pragma unroll
  for (int i = 0; i < kInFlight; ++i) to[i * kThreads] = make_uint4(0, 0, 0, 0);
}

__global__ void CopyPass(const uint4* from, uint4* to) {
  from += FirstWord();
  to += FirstWord();
  uint4 words[kInFlight];
#pragma unroll
  for (int i = 0; i < kInFlight; ++i) words[i] = from[i * kThreads];
#pragma unroll
  for (int i = 0; i < kInFlight; ++i) to[i * kThreads] = words[i];
}

unsigned Pieces(std::int64_t bytes) { return static_cast<unsigned>(bytes / kPassPiece); }

}  // namespace

cudaError_t EnqueueNothing(cudaStream_t stream) {
  Nothing<<<1, 1, 0, stream>>>();
  return cudaGetLastError();
}

cudaError_t EnqueueTimerSteps(unsigned long long* values, int count, cudaStream_t stream) {
  TimerSteps<<<1, 1, 0, stream>>>(values, count);
  return cudaGetLastError();
}

cudaError_t EnqueueSpin(unsigned long long nanoseconds, DeviceSpan* span, cudaStream_t stream) {
  Spin<<<1, 1, 0, stream>>>(nanoseconds, span);
  return cudaGetLastError();
}

cudaError_t EnqueueBusyCycles(unsigned cycles, cudaStream_t stream) {
  int device = 0, multiprocessors = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  }
  if (error != cudaSuccess) return error;
  BusyCycles<<<multiprocessors, kBusyThreads, 0, stream>>>(cycles);
  return cudaGetLastError();
}

cudaError_t EnqueueReadPass(const void* data, std::int64_t bytes, unsigned* sink,
                            cudaStream_t stream) {
  ReadPass<<<Pieces(bytes), kThreads, 0, stream>>>(static_cast<const uint4*>(data), sink);
  return cudaGetLastError();
}

cudaError_t EnqueueWritePass(void* data, std::int64_t bytes, cudaStream_t stream) {
  WritePass<<<Pieces(bytes), kThreads, 0, stream>>>(static_cast<uint4*>(data));
  return cudaGetLastError();
}

cudaError_t EnqueueCopyPass(const void* from, void* to, std::int64_t bytes, cudaStream_t stream) {
  CopyPass<<<Pieces(bytes), kThreads, 0, stream>>>(static_cast<const uint4*>(from),
                                                   static_cast<uint4*>(to));
  return cudaGetLastError();
}

}  // namespace kbench::engine
