#include "worker/engine/cuda_clock.h"

#include <algorithm>
#include <vector>

#include "worker/engine/cuda_error.h"

namespace kbench::engine {
namespace {

// Over a shorter time the global timer's own steps (64 ns on an H200, up to 1 us elsewhere) and the
// stamps themselves would be seen.
constexpr double kShortestSeconds = 30e-6;

}  // namespace

CudaClock::~CudaClock() { (void)cudaFreeHost(stamps_); }

EngineError CudaClock::Open(int multiprocessors) {
  multiprocessors_ = multiprocessors;
  const std::size_t bytes = 2 * sizeof(ClockStamp) * static_cast<std::size_t>(multiprocessors);
  if (EngineError error =
          FromCuda(cudaHostAlloc(reinterpret_cast<void**>(&stamps_), bytes, cudaHostAllocMapped),
                   "allocating the clock's stamps")) {
    return error;
  }
  std::fill_n(stamps_, 2 * multiprocessors, ClockStamp{});
  return FromCuda(cudaHostGetDevicePointer(reinterpret_cast<void**>(&device_stamps_), stamps_, 0),
                  "mapping the clock's stamps");
}

EngineError CudaClock::Stamp(bool first, cudaStream_t stream) {
  if (first) std::fill_n(stamps_, 2 * multiprocessors_, ClockStamp{});
  return FromCuda(
      EnqueueClockStamps(device_stamps_ + (first ? 0 : multiprocessors_), multiprocessors_, stream),
      "stamping the clock");
}

double CudaClock::Hertz() const {
  std::vector<double> clocks;
  for (int i = 0; i < multiprocessors_; ++i) {
    const ClockStamp& begin = stamps_[i];
    const ClockStamp& end = stamps_[multiprocessors_ + i];
    if (begin.nanoseconds == 0 || end.nanoseconds <= begin.nanoseconds) continue;
    const double seconds = static_cast<double>(end.nanoseconds - begin.nanoseconds) * 1e-9;
    if (seconds < kShortestSeconds || end.cycles <= begin.cycles) continue;
    clocks.push_back(static_cast<double>(end.cycles - begin.cycles) / seconds);
  }
  if (clocks.empty()) return 0;
  const auto middle = clocks.begin() + static_cast<std::ptrdiff_t>(clocks.size() / 2);
  std::nth_element(clocks.begin(), middle, clocks.end());
  return *middle;
}

}  // namespace kbench::engine
