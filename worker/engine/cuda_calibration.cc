#include "worker/engine/cuda_calibration.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "worker/engine/calibration.h"
#include "worker/engine/cuda_calibration_kernels.h"
#include "worker/engine/cuda_error.h"

namespace kbench::engine {
namespace {

constexpr int kFloorSamples = 1024;
constexpr int kNullSamples = 256;
constexpr int kTimerSteps = 256;
struct Known {
  double seconds;
  int samples;
};
constexpr Known kKnown[KB_KNOWN_DURATIONS] = {{5e-6, 64}, {50e-6, 64}, {500e-6, 24}, {5e-3, 8}};
// What the clock adds to a spin is taken from one this short: it has the launch, the stamps and the
// stores of the longer ones, which must then differ by their length alone.
constexpr Known kShortestSpin = {2e-6, 64};
constexpr int kReadSamples = 32;
constexpr int kRoofSamples = 16;
constexpr int kMostSlots = 64;
constexpr unsigned kBusyCycles = 40000;  // of the kernel that the events' cost is read from
constexpr std::int64_t kSmallestPass = 4 << 20;
constexpr double kMostFloor = 50e-6;
constexpr double kMostTick = 20e-6;
constexpr double kMostEventCost = 50e-6;
constexpr double kFlushTimesL2[] = {1, 1.5, 2, 3};

using Enqueue = std::function<cudaError_t(int)>;  // sample by its number

class DeviceMemory {
 public:
  ~DeviceMemory() { (void)cudaFree(data_); }
  EngineError Allocate(std::int64_t bytes) {
    EngineError error = FromCuda(cudaMalloc(&data_, static_cast<std::size_t>(bytes)),
                                 "allocating " + std::to_string(bytes) + " bytes to calibrate");
    if (error) return error;
    return FromCuda(cudaMemset(data_, 0, static_cast<std::size_t>(bytes)), "clearing memory");
  }
  char* data() const { return static_cast<char*>(data_); }

 private:
  void* data_ = nullptr;
};

class CudaCalibration {
 public:
  CudaCalibration(CudaTimeline& timeline, cudaStream_t stream, kb_calibration* out)
      : timeline_(timeline), stream_(stream), out_(out) {}

  EngineError Open();
  // A step returns an error, or nothing; out_->failed_step tells when it was the last one.
  EngineError EventFloor();
  EngineError GlobalTimer();
  EngineError KnownDurations();
  EngineError EventCost();
  EngineError Flush();
  EngineError Roofs();
  bool failed() const { return out_->failed_step[0] != '\0'; }

 private:
  EngineError Times(int samples, FlushKind flush, const Enqueue& enqueue,
                    std::vector<double>* seconds);
  EngineError Block(int first, int samples, FlushKind flush, const Enqueue& enqueue);
  EngineError TimeSpins(const Known& known, KnownDurationTimes* times);
  EngineError ReadSpans(int count, std::vector<double>* seconds);
  EngineError ReadSeconds(std::int64_t bytes, FlushKind flush, double* seconds);
  EngineError Bandwidth(const Enqueue& enqueue, double* bandwidth);

  CudaTimeline& timeline_;
  const cudaStream_t stream_;
  kb_calibration* const out_;
  DeviceMemory memory_;  // of memory_bytes_: what the passes work on, all zeros
  std::int64_t memory_bytes_ = 0;
  DeviceMemory small_;  // spans, timer values, and the sink of the reads
  DeviceSpan* spans_ = nullptr;
  unsigned long long* values_ = nullptr;
  unsigned* sink_ = nullptr;
};

EngineError CudaCalibration::Open() {
  std::size_t free = 0, total = 0;
  if (EngineError error = FromCuda(cudaMemGetInfo(&free, &total), "asking for the free memory")) {
    return error;
  }
  memory_bytes_ =
      std::min<std::int64_t>({std::int64_t{1} << 30, static_cast<std::int64_t>(total / 8),
                              static_cast<std::int64_t>(free / 2)});
  memory_bytes_ -= memory_bytes_ % (2 * kPassPiece);
  if (memory_bytes_ < kSmallestPass) {
    return {KB_OUT_OF_MEMORY,
            "a calibration needs " + std::to_string(2 * kSmallestPass) + " bytes and " +
                std::to_string(free) + " are free",
            2 * kSmallestPass, static_cast<std::int64_t>(free)};
  }
  if (EngineError error = memory_.Allocate(memory_bytes_)) return error;
  constexpr std::int64_t kSpanBytes = kMostSlots * sizeof(DeviceSpan);
  constexpr std::int64_t kValueBytes = kTimerSteps * sizeof(unsigned long long);
  if (EngineError error = small_.Allocate(kSpanBytes + kValueBytes + 64)) return error;
  spans_ = reinterpret_cast<DeviceSpan*>(small_.data());
  values_ = reinterpret_cast<unsigned long long*>(small_.data() + kSpanBytes);
  sink_ = reinterpret_cast<unsigned*>(small_.data() + kSpanBytes + kValueBytes);
  // Every kernel is loaded before anything is held: loading may wait for the device.
  for (const cudaError_t error :
       {EnqueueNothing(stream_), EnqueueTimerSteps(values_, 1, stream_),
        EnqueueSpin(1000, spans_, stream_), EnqueueBusyCycles(1, stream_),
        EnqueueReadPass(memory_.data(), kPassPiece, sink_, stream_),
        EnqueueWritePass(memory_.data(), kPassPiece, stream_),
        EnqueueCopyPass(memory_.data(), memory_.data() + kPassPiece, kPassPiece, stream_)}) {
    if (EngineError failed = FromCuda(error, "loading the calibration's kernels")) return failed;
  }
  if (EngineError error = timeline_.Synchronize()) return error;
  return timeline_.BeginBurst();
}

EngineError CudaCalibration::Block(int first, int samples, FlushKind flush,
                                   const Enqueue& enqueue) {
  for (int i = 0; i < samples; ++i) {
    if (EngineError error = timeline_.Flush(flush)) return error;
    if (EngineError error = timeline_.MarkStart(i)) return error;
    if (EngineError error = FromCuda(enqueue(first + i), "calibrating")) return error;
    if (EngineError error = timeline_.MarkStop(i)) return error;
  }
  return {};
}

EngineError CudaCalibration::Times(int samples, FlushKind flush, const Enqueue& enqueue,
                                   std::vector<double>* seconds) {
  seconds->clear();
  const int most = timeline_.Facts().samples_per_block;  // as a burst takes them
  while (static_cast<int>(seconds->size()) < samples) {
    const int first = static_cast<int>(seconds->size());
    const int count = std::min(most, samples - first);
    EngineError error = timeline_.Block();
    if (!error) error = Block(first, count, flush, enqueue);
    const bool timed_out = timeline_.BlockerTimedOut();
    (void)timeline_.Release();
    if (EngineError waited = timeline_.Synchronize()) return waited;
    if (error) return error;
    if (timed_out) {
      return {KB_TIMEOUT, "the host took more than 2 s to enqueue a block of the calibration"};
    }
    for (int i = 0; i < count; ++i) seconds->push_back(timeline_.SampleSeconds(i));
  }
  return {};
}

EngineError CudaCalibration::EventFloor() {
  std::vector<double> times;
  out_->quantum_seconds = timeline_.Facts().quantum_seconds;
  if (EngineError error = Times(
          kFloorSamples, FlushKind::kNone, [](int) { return cudaSuccess; }, &times)) {
    return error;
  }
  out_->event_floor_seconds = Median(times);
  if (EngineError error = Times(
          kNullSamples, FlushKind::kNone, [&](int) { return EnqueueNothing(stream_); }, &times)) {
    return error;
  }
  out_->null_kernel_seconds = Median(times);
  const double floor = out_->event_floor_seconds;
  if (!(floor > 0 && floor < kMostFloor)) {
    FailStep("event-floor",
             "an empty pair of events reads " + TimeText(floor) + "; between 0 and 50 us is right",
             out_);
  } else if (!(out_->null_kernel_seconds >= floor)) {
    FailStep("event-floor",
             "an empty kernel reads " + TimeText(out_->null_kernel_seconds) +
                 ", less than no kernel at all, " + TimeText(floor),
             out_);
  }
  return {};
}

EngineError CudaCalibration::GlobalTimer() {
  if (EngineError error =
          FromCuda(EnqueueTimerSteps(values_, kTimerSteps, stream_), "reading the global timer")) {
    return error;
  }
  if (EngineError error = timeline_.Synchronize()) return error;
  std::vector<unsigned long long> values(kTimerSteps);
  if (EngineError error =
          FromCuda(cudaMemcpy(values.data(), values_, sizeof(values[0]) * kTimerSteps,
                              cudaMemcpyDeviceToHost),
                   "reading the global timer")) {
    return error;
  }
  std::vector<double> steps;
  bool moved = true;
  for (std::size_t i = 1; i < values.size(); ++i) {
    moved = moved && values[i] > values[i - 1];
    steps.push_back(static_cast<double>(values[i] - values[i - 1]) * 1e-9);
  }
  out_->timer_tick_seconds = Median(steps);
  if (!moved) {
    FailStep("global-timer", "the device's global timer stands still or runs backwards", out_);
  } else if (out_->timer_tick_seconds > kMostTick) {
    FailStep("global-timer",
             "the device's global timer moves in steps of " + TimeText(out_->timer_tick_seconds) +
                 "; at most 20 us is right",
             out_);
  }
  return {};
}

EngineError CudaCalibration::ReadSpans(int count, std::vector<double>* seconds) {
  std::vector<DeviceSpan> spans(static_cast<std::size_t>(count));
  if (EngineError error =
          FromCuda(cudaMemcpy(spans.data(), spans_, sizeof(DeviceSpan) * spans.size(),
                              cudaMemcpyDeviceToHost),
                   "reading the kernels' times")) {
    return error;
  }
  seconds->clear();
  for (const DeviceSpan& span : spans) {
    seconds->push_back(static_cast<double>(span.end - span.begin) * 1e-9);
  }
  return {};
}

EngineError CudaCalibration::TimeSpins(const Known& known, KnownDurationTimes* times) {
  const auto nanoseconds = static_cast<unsigned long long>(known.seconds * 1e9);
  const Enqueue spin = [&](int i) { return EnqueueSpin(nanoseconds, spans_ + i, stream_); };
  if (EngineError error = Times(known.samples, FlushKind::kNone, spin, &times->measured)) {
    return error;
  }
  return ReadSpans(known.samples, &times->recorded);
}

EngineError CudaCalibration::KnownDurations() {
  KnownDurationTimes times;
  if (EngineError error = TimeSpins(kShortestSpin, &times)) return error;
  const double cost = AddedByClock(times);
  if (cost < 0 || cost > kMostEventCost) {
    FailStep("known-durations",
             "the events add " + TimeText(cost) + " to a kernel of 2 us; 0 to 50 us is right",
             out_);
    return {};
  }
  for (const Known& known : kKnown) {
    if (EngineError error = TimeSpins(known, &times)) return error;
    if (!CheckKnownDuration(times, cost, out_->timer_tick_seconds, out_)) return {};
  }
  return {};
}

EngineError CudaCalibration::ReadSeconds(std::int64_t bytes, FlushKind flush, double* seconds) {
  std::vector<double> times;
  const Enqueue read = [&](int) { return EnqueueReadPass(memory_.data(), bytes, sink_, stream_); };
  const EngineError error = Times(kReadSamples, flush, read, &times);
  *seconds = Median(times);
  return error;
}

// Two pairs of events around a kernel less one around two of them. The kernel fills the device and
// touches no memory, so that two in a row are as long as both.
EngineError CudaCalibration::EventCost() {
  const auto times = [&](int kernels, std::vector<double>* seconds) {
    return Times(
        kReadSamples, FlushKind::kNone,
        [&](int) {
          cudaError_t error = cudaSuccess;
          for (int i = 0; i < kernels && error == cudaSuccess; ++i) {
            error = EnqueueBusyCycles(kBusyCycles, stream_);
          }
          return error;
        },
        seconds);
  };
  std::vector<double> one, two;
  if (EngineError error = times(1, &one)) return error;
  if (EngineError error = times(2, &two)) return error;
  out_->event_cost_seconds = 2 * Median(one) - Median(two);
  const double least = -2 * std::max(out_->timer_tick_seconds, out_->quantum_seconds);
  if (out_->event_cost_seconds < least || out_->event_cost_seconds > kMostEventCost) {
    FailStep("event-cost",
             "the events add " + TimeText(out_->event_cost_seconds) + " to a kernel of " +
                 TimeText(Median(one)) + "; 0 to 50 us is right",
             out_);
  }
  return {};
}

EngineError CudaCalibration::Flush() {
  std::int64_t bytes = std::min(timeline_.l2_bytes() / 2, memory_bytes_);
  bytes = std::max(kPassPiece, bytes - bytes % kPassPiece);
  double hot = 0;
  for (int i = 0; i < 2; ++i) {  // the first time warms
    if (EngineError error = ReadSeconds(bytes, FlushKind::kNone, &hot)) return error;
  }
  std::vector<FlushTime> by_size;
  for (const double times : kFlushTimesL2) {
    FlushTime flush;
    flush.bytes = static_cast<std::int64_t>(times * static_cast<double>(timeline_.l2_bytes()));
    if (EngineError error = timeline_.SetFlushBytes(flush.bytes)) return error;
    flush.bytes = timeline_.flush_bytes();  // as the timeline rounded it
    if (EngineError error = ReadSeconds(bytes, FlushKind::kClean, &flush.cold_seconds)) {
      return error;
    }
    by_size.push_back(flush);
  }
  const FlushChoice choice = ChooseFlush(by_size, hot);
  out_->flush_bytes = choice.bytes;
  out_->flush_cold_ratio = choice.cold_ratio;
  if (!(choice.cold_ratio > kLeastColdRatio)) {
    FailStep("flush",
             "a read of half the L2 takes " + TimeText(by_size.back().cold_seconds) +
                 " after a flush and " + TimeText(hot) +
                 " hot; more than 1.05 times as long is right",
             out_);
    return {};
  }
  return timeline_.SetFlushBytes(choice.bytes);  // the roofs are measured with it
}

EngineError CudaCalibration::Bandwidth(const Enqueue& enqueue, double* bandwidth) {
  std::vector<double> times;
  if (EngineError error = Times(kRoofSamples, FlushKind::kClean, enqueue, &times)) return error;
  const double seconds = Median(times);
  *bandwidth = seconds > 0 ? static_cast<double>(memory_bytes_) / seconds : 0;
  return {};
}

EngineError CudaCalibration::Roofs() {
  const std::int64_t half = memory_bytes_ / 2;
  char* data = memory_.data();
  const Enqueue read = [&](int) { return EnqueueReadPass(data, memory_bytes_, sink_, stream_); };
  const Enqueue write = [&](int) { return EnqueueWritePass(data, memory_bytes_, stream_); };
  const Enqueue copy = [&](int) { return EnqueueCopyPass(data, data + half, half, stream_); };
  if (EngineError error = Bandwidth(read, &out_->read_bandwidth)) return error;
  if (EngineError error = Bandwidth(write, &out_->write_bandwidth)) return error;
  if (EngineError error = Bandwidth(copy, &out_->copy_bandwidth)) return error;
  if (!(out_->read_bandwidth > 0 && out_->write_bandwidth > 0 && out_->copy_bandwidth > 0)) {
    FailStep("roofs", "a pass over memory took no time", out_);
  }
  return {};
}

}  // namespace

EngineError CalibrateCuda(CudaTimeline& timeline, cudaStream_t stream, kb_calibration* out) {
  *out = {};
  CudaCalibration calibration(timeline, stream, out);
  EngineError error = calibration.Open();
  using Step = EngineError (CudaCalibration::*)();
  for (const Step step : {&CudaCalibration::EventFloor, &CudaCalibration::GlobalTimer,
                          &CudaCalibration::KnownDurations, &CudaCalibration::EventCost,
                          &CudaCalibration::Flush, &CudaCalibration::Roofs}) {
    if (error || calibration.failed()) break;
    error = (calibration.*step)();
  }
  if (!error && !calibration.failed()) out->passed = 1;
  if (EngineError reset = timeline.SetFlushBytes(0); reset && !error) error = reset;
  return error;
}

}  // namespace kbench::engine
