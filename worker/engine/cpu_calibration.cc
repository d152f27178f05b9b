#include "worker/engine/cpu_calibration.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "worker/engine/burst.h"
#include "worker/engine/cache_flush.h"
#include "worker/engine/calibration.h"
#include "worker/engine/host_memory.h"
#include "worker/engine/memory_pass.h"

namespace kbench::engine {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Medians of this many: on a shared machine some launches lose the core, half of them do not.
constexpr int kEmptySamples = 1001;
struct Known {
  double seconds;
  int samples;
};
constexpr Known kKnown[KB_KNOWN_DURATIONS] = {{5e-6, 101}, {50e-6, 51}, {500e-6, 21}, {5e-3, 7}};
constexpr int kFlushSamples = 31;
constexpr int kFlushTries = 3;  // a neighbour may blur one of them
// Short enough that some passes escape the neighbours.
constexpr std::int64_t kPassBytes = 32 << 20;
constexpr int kMostPasses = 10;
constexpr double kPassSeconds = 0.05;  // for one kind of pass: no further one starts after it

double SecondsBetween(SteadyClock::time_point begin, SteadyClock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

int LaunchNothing(void*, void*) { return 0; }

// Spins for `seconds` and notes how long it really did.
struct Spin {
  double seconds = 0;
  std::vector<double> recorded;
};

int LaunchSpin(void* user, void*) {
  auto* spin = static_cast<Spin*>(user);
  const auto begin = SteadyClock::now();
  auto now = begin;
  while (SecondsBetween(begin, now) < spin->seconds) now = SteadyClock::now();
  spin->recorded.push_back(SecondsBetween(begin, now));
  return 0;
}

struct Range {
  char* data = nullptr;
  std::size_t bytes = 0;
  const void* found = nullptr;
};

int LaunchRead(void* user, void*) {
  auto* range = static_cast<Range*>(user);
  range->found = std::memchr(range->data, 0xFF, range->bytes);
  return 0;
}

// Anonymous memory that gives itself back.
class Mapping {
 public:
  explicit Mapping(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
    void* data = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return;
    (void)madvise(data, bytes_, MADV_HUGEPAGE);  // as the operands have
    data_ = static_cast<char*>(data);
    std::memset(data_, 0, bytes_);
  }
  ~Mapping() {
    if (data_ != nullptr) (void)munmap(data_, bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  char* data() const { return data_; }

 private:
  const std::size_t bytes_;
  char* data_ = nullptr;
};

class CpuCalibration {
 public:
  CpuCalibration(CpuTimeline& timeline, int threads, kb_calibration* out)
      : timeline_(timeline), threads_(threads), bursts_(timeline), out_(out) {}

  // Each is false when the calibration is over: a step failed, or `error` is set.
  bool Clock(EngineError* error);
  bool KnownDurations(EngineError* error);
  bool Flush(EngineError* error);
  bool Roofs(EngineError* error);

 private:
  std::vector<double> Samples(int count, FlushKind flush, kb_launch launch, void* user,
                              EngineError* error);
  double Bandwidth(std::initializer_list<PassKind> kinds, char* data, std::int64_t bytes) const;

  CpuTimeline& timeline_;
  const int threads_;
  BurstRunner bursts_;
  kb_calibration* const out_;
};

std::vector<double> CpuCalibration::Samples(int count, FlushKind flush, kb_launch launch,
                                            void* user, EngineError* error) {
  bursts_.SetPace(1e-6);  // blocks as large as they may be
  BurstSpec spec;
  spec.samples = count;
  spec.flush = flush;
  spec.warm_launch = false;
  BurstOutcome outcome;
  *error = bursts_.Run(spec, {launch, user, nullptr}, &outcome);
  return outcome.device_seconds;
}

bool CpuCalibration::Clock(EngineError* error) {
  out_->quantum_seconds = timeline_.Facts().quantum_seconds;
  const auto empty = Samples(kEmptySamples, FlushKind::kNone, LaunchNothing, nullptr, error);
  if (*error) return false;
  // A pair of readings with nothing but a call between them: floor and null kernel are one here.
  out_->event_floor_seconds = Median(empty);
  out_->null_kernel_seconds = out_->event_floor_seconds;
  if (out_->quantum_seconds > 0 && out_->quantum_seconds < 1e-3) return true;
  FailStep("event-floor",
           "the steady clock moves in steps of " + TimeText(out_->quantum_seconds) +
               "; a step of less than 1000 us is right",
           out_);
  return false;
}

bool CpuCalibration::KnownDurations(EngineError* error) {
  // What the clock adds to a spin, from the shortest one: the readings of the spin itself and of
  // the stopwatch around it. Longer ones must show the same and no more.
  Spin shortest{1e-6, {}};
  const auto base = Samples(kEmptySamples, FlushKind::kNone, LaunchSpin, &shortest, error);
  if (*error) return false;
  const double cost = AddedByClock({shortest.recorded, base});
  for (const Known& known : kKnown) {
    Spin spin{known.seconds, {}};
    const auto times = Samples(known.samples, FlushKind::kNone, LaunchSpin, &spin, error);
    if (*error || !CheckKnownDuration({spin.recorded, times}, cost, 0, out_)) return false;
  }
  return true;
}

bool CpuCalibration::Flush(EngineError* error) {
  // Half of what the core's own caches hold stays there between two launches.
  const std::int64_t bytes = std::max<std::int64_t>(PrivateCacheBytes() / 2, 64 << 10);
  const Mapping memory(bytes);
  if (memory.data() == nullptr) {
    *error = {KB_OUT_OF_MEMORY, "no memory for a calibration", bytes, ReadHostMemory().free_bytes};
    return false;
  }
  Range range{memory.data(), static_cast<std::size_t>(bytes), nullptr};
  timeline_.SetOperands({{memory.data(), bytes}});
  for (int i = 0; i < kFlushTries && !*error && out_->flush_cold_ratio <= kLeastColdRatio; ++i) {
    const double hot = Median(Samples(kFlushSamples, FlushKind::kNone, LaunchRead, &range, error));
    if (*error) break;
    const double cold =
        Median(Samples(kFlushSamples, FlushKind::kClean, LaunchRead, &range, error));
    if (!*error && hot > 0) out_->flush_cold_ratio = cold / hot;
  }
  timeline_.SetOperands({});
  if (*error) return false;
  if (out_->flush_cold_ratio > kLeastColdRatio) return true;
  FailStep("flush",
           std::string("a read after evicting its lines (") + EvictionInstruction() + ") takes " +
               std::to_string(out_->flush_cold_ratio) +
               " times as long as a hot one; more than 1.05 is right",
           out_);
  return false;
}

// The best of a few passes: a roof is what the memory can do, and a neighbour only takes away.
double CpuCalibration::Bandwidth(std::initializer_list<PassKind> kinds, char* data,
                                 std::int64_t bytes) const {
  double best = 0;
  for (const PassKind kind : kinds) {
    const auto begin = SteadyClock::now();
    for (int i = 0; i < kMostPasses; ++i) {
      EvictLines(data, bytes);
      const double seconds = MemoryPassSeconds(kind, data, bytes, threads_);
      if (seconds > 0) best = std::max(best, static_cast<double>(bytes) / seconds);
      if (SecondsBetween(begin, SteadyClock::now()) > kPassSeconds) break;
    }
  }
  return best;
}

bool CpuCalibration::Roofs(EngineError* error) {
  const std::int64_t unit = std::int64_t{4096} * threads_;
  std::int64_t bytes = std::min(kPassBytes, ReadHostMemory().free_bytes / 8);
  bytes = std::max(unit, bytes - bytes % unit);
  const Mapping memory(bytes);
  if (memory.data() == nullptr) {
    *error = {KB_OUT_OF_MEMORY, "no memory for a calibration", bytes, ReadHostMemory().free_bytes};
    return false;
  }
  out_->read_bandwidth = Bandwidth({PassKind::kRead, PassKind::kWideRead}, memory.data(), bytes);
  out_->write_bandwidth =
      Bandwidth({PassKind::kWrite, PassKind::kStreamingWrite}, memory.data(), bytes);
  out_->copy_bandwidth =
      Bandwidth({PassKind::kCopy, PassKind::kStreamingCopy}, memory.data(), bytes);
  if (out_->read_bandwidth > 0 && out_->write_bandwidth > 0 && out_->copy_bandwidth > 0) {
    return true;
  }
  FailStep("roofs", "a pass over memory took no time", out_);
  return false;
}

}  // namespace

EngineError CalibrateCpu(CpuTimeline& timeline, int threads, kb_calibration* out) {
  *out = {};
  CpuCalibration calibration(timeline, threads, out);
  EngineError error;
  if (calibration.Clock(&error) && calibration.KnownDurations(&error) &&
      calibration.Flush(&error) && calibration.Roofs(&error)) {
    out->passed = 1;
  }
  return error;
}

}  // namespace kbench::engine
