#include "worker/engine/cpu_timeline.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "worker/engine/cache_flush.h"
#include "worker/engine/calibration.h"

namespace kbench::engine {
namespace {

constexpr int kMostSamples = 64;  // between two looks at the time limit
// The libraries' threads spin for a few milliseconds after their work (runner_main.cc sets how
// long): one that is still awake after this much will not sleep at all.
constexpr double kMostRestSeconds = 0.05;

using SteadyClock = std::chrono::steady_clock;

double Seconds(SteadyClock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// The smallest step the clock was seen to take: readings in a row until it moved.
double MeasureQuantum() {
  std::vector<double> readings;
  const auto begin = SteadyClock::now();
  for (auto before = begin; readings.size() < 1000;) {
    auto after = before;
    while (after == before) after = SteadyClock::now();
    readings.push_back(Seconds(after - begin));
    before = after;
  }
  return Quantum(std::move(readings), 0.5e-9);
}

}  // namespace

CpuTimeline::CpuTimeline(int threads)
    : threads_(threads), quantum_seconds_(MeasureQuantum()), marks_(kMostSamples) {}

void CpuTimeline::SetOperands(std::vector<std::pair<const void*, std::int64_t>> operands) {
  operands_ = std::move(operands);
}

TimelineFacts CpuTimeline::Facts() const {
  TimelineFacts facts;
  facts.mechanism = "steady-clock";
  facts.quantum_seconds = quantum_seconds_;
  for (const auto& [data, bytes] : operands_) facts.flush_bytes += bytes;
  facts.max_queued_samples = kMostSamples;
  facts.has_queue = false;
  return facts;
}

TimelineError CpuTimeline::BeginBurst() {
  own_threads_.Place();
  return {};
}

void CpuTimeline::EndBurst() {
  own_threads_.FreeCaller();
  (void)OwnThreads::WaitUntilAsleep(kMostRestSeconds);
}

TimelineError CpuTimeline::Flush(FlushKind kind) {
  if (kind == FlushKind::kNone) return {};
  for (const auto& [data, bytes] : operands_) EvictLines(data, bytes);
  if (kind == FlushKind::kDirty) {
    foreign_.resize(static_cast<std::size_t>(PrivateCacheBytes()));
    std::memset(foreign_.data(), ++foreign_value_, foreign_.size());
  }
  return {};
}

TimelineError CpuTimeline::MarkStart(int index) {
  Marks& marks = marks_[static_cast<std::size_t>(index)];
  marks.core = sched_getcpu();
  marks.start = SteadyClock::now();
  return {};
}

TimelineError CpuTimeline::MarkStop(int index) {
  Marks& marks = marks_[static_cast<std::size_t>(index)];
  marks.stop = SteadyClock::now();
  if (threads_ == 1 && sched_getcpu() != marks.core) migrated_ = true;
  return {};
}

double CpuTimeline::SampleSeconds(int index) {
  const Marks& marks = marks_[static_cast<std::size_t>(index)];
  return Seconds(marks.stop - marks.start);
}

double CpuTimeline::GapSeconds(int index) {
  const auto i = static_cast<std::size_t>(index);
  return Seconds(marks_[i + 1].start - marks_[i].stop);
}

std::uint32_t CpuTimeline::Disturbances() {
  std::uint32_t flags = 0;
  if (migrated_) flags |= KB_FLAG_MIGRATED;
  if (watch_.Stolen()) flags |= KB_FLAG_STOLEN;
  migrated_ = false;
  return flags;
}

double CpuTimeline::HostSeconds() { return Seconds(SteadyClock::now().time_since_epoch()); }

}  // namespace kbench::engine
