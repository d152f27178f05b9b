#include "worker/engine/burst.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "worker/engine/calibration.h"

namespace kbench::engine {
namespace {

// A block is at most this much queued work: a burst stays interruptible and the clocks' view fresh.
constexpr double kMaxBlockSeconds = 0.2;
// A gap matches the flush time within 20 %, or within 5 us where the flush itself is that short
// (`none`): event resolution and scheduling jitter lie below it.
constexpr double kGapTolerance = 0.2;
constexpr double kGapFloorSeconds = 5e-6;
constexpr std::size_t kGapsKept = 256;
constexpr std::size_t kGapsForMedian = 3;
// A longer hold would rest the device.
constexpr double kMostHold = 0.05;
// Samples between two launches of nothing; see ShiftSlots().
constexpr int kSamplesPerShift = 4;
// A launch longer than this fills the caches with its own lines in a small part of its time.
constexpr double kLongLaunch = 0.05;

EngineError LaunchFailed(int result) {
  return {KB_LAUNCH_FAILED, "the launch returned error " + std::to_string(result)};
}

// Holds the queue for the length of a scope: an early return must never leave the device spinning.
class QueueHold {
 public:
  explicit QueueHold(Timeline& timeline) : timeline_(timeline) {}
  ~QueueHold() {
    if (!held_) return;
    (void)timeline_.Release();  // the first error is the one that is reported
    (void)timeline_.Synchronize();
  }
  QueueHold(const QueueHold&) = delete;
  QueueHold& operator=(const QueueHold&) = delete;

  EngineError Block() {
    EngineError error = timeline_.Block();
    held_ = true;  // even after an error: releasing a queue that is not held is harmless
    return error;
  }
  EngineError ReleaseAndWait() {
    EngineError error = timeline_.Release();
    if (error) return error;
    error = timeline_.Synchronize();
    held_ = false;
    return error;
  }

 private:
  Timeline& timeline_;
  bool held_ = false;
};

}  // namespace

BurstRunner::BurstRunner(Timeline& timeline)
    : timeline_(timeline),
      facts_(timeline.Facts()),
      most_queued_(std::max(1, facts_.samples_per_block > 0 ? facts_.samples_per_block
                                                            : facts_.max_queued_samples)) {}

EngineError BurstRunner::Run(const BurstSpec& spec, const LaunchCall& call, BurstOutcome* out) {
  *out = {};
  if (spec.samples < 1) {
    return {KB_INVALID_ARGUMENT,
            "a burst needs at least 1 sample, not " + std::to_string(spec.samples)};
  }
  const double limit =
      spec.max_seconds > 0 ? spec.max_seconds : std::numeric_limits<double>::infinity();
  if (gaps_kind_ != spec.flush) gaps_.clear();
  gaps_kind_ = spec.flush;
  (void)timeline_.Disturbances();  // starts the watch
  const double begin = timeline_.HostSeconds();
  EngineError error = timeline_.BeginBurst();
  if (!error && spec.warm_launch && pace_seconds_ < kLongLaunch) error = WarmLaunch(call);
  int done = 0;
  double elapsed = 0, cycles = 0, clocked = 0;
  while (!error && done < spec.samples && (done == 0 || elapsed < limit)) {
    const int samples = BlockSize(spec, done, limit - elapsed);
    const double block_begin = timeline_.HostSeconds();
    Block block;
    const bool final = done + samples >= spec.samples || elapsed + 2 * pace_seconds_ >= limit;
    block.gate = final ? spec.gate : nullptr;
    error = RunBlock(samples, spec, call, &block);
    if (error) break;
    const double now = timeline_.HostSeconds();
    elapsed = now - begin;
    if (block.timed_out) {
      error = AfterTimeout(block, samples, out);
      continue;
    }
    pace_seconds_ = (now - block_begin - block.held_seconds) / samples;
    if (const double clock = timeline_.ClockHertz(); clock > 0) {
      cycles += clock * (now - block_begin);
      clocked += now - block_begin;
    }
    error = Accept(block, out);
    done += samples;
  }
  out->seconds = timeline_.HostSeconds() - begin;
  if (clocked > 0) out->clock_hertz = cycles / clocked;
  out->flags |= timeline_.Disturbances();
  timeline_.EndBurst();
  return error;
}

int BurstRunner::BlockSize(const BurstSpec& spec, int done, double remaining_seconds) const {
  int samples = std::min(spec.samples - done, most_queued_);
  if (pace_seconds_ <= 0) return 1;  // the first block finds the pace
  const double fits = std::min(kMaxBlockSeconds, remaining_seconds) / pace_seconds_;
  if (fits < samples) samples = std::max(1, static_cast<int>(fits));
  return samples;
}

EngineError BurstRunner::WarmLaunch(const LaunchCall& call) {
  const int result = call.launch(call.user, call.stream);
  const EngineError waited = timeline_.Synchronize();
  if (waited || result == 0) return waited;
  return LaunchFailed(result);
}

EngineError BurstRunner::RunBlock(int samples, const BurstSpec& spec, const LaunchCall& call,
                                  Block* block) {
  QueueHold hold(timeline_);
  EngineError error = hold.Block();
  if (!error) error = ShiftSlots(samples);
  if (!error) error = Enqueue(samples, spec, call, block);
  if (!error && block->gate != nullptr && facts_.has_queue) {
    if (hold_next_) block->held_seconds = std::min(pace_seconds_, kMostHold);
    hold_next_ = !hold_next_;
    if (block->held_seconds > 0) timeline_.Hold(block->held_seconds);
  }
  // Asked before the release, because afterwards a blocker that gave up looks like one released.
  if (facts_.has_queue && timeline_.BlockerTimedOut()) block->timed_out = true;
  const EngineError waited = hold.ReleaseAndWait();
  // A poisoned device explains a launch that failed, not the other way round.
  if (waited && (!error || waited.code == KB_DEVICE_ERROR)) return waited;
  return error;
}

// The driver writes what describes a launch into slots by turns, and a sample always takes as many.
// Behind the flush a launch waits 0.8 us for its own (H200), unless a neighbour's has just been
// read beside it: one slot in four. Which samples wait would depend on the slot that a burst began
// with, every second of one burst and none of the next. A launch of nothing now and then lets the
// samples of each burst fall on every slot in turn.
EngineError BurstRunner::ShiftSlots(int samples) {
  since_shift_ += samples;
  if (!facts_.has_queue || since_shift_ < kSamplesPerShift) return {};
  since_shift_ = 0;
  return timeline_.EnqueueNothing();
}

EngineError BurstRunner::Enqueue(int samples, const BurstSpec& spec, const LaunchCall& call,
                                 Block* block) {
  for (int i = 0; i < samples; ++i) {
    const bool last = i + 1 == samples;
    const bool gated = last && block->gate != nullptr;
    if (gated) {  // before the flush, which evicts what it wrote
      if (EngineError error = block->gate->Poison()) return error;
    }
    if (EngineError error = timeline_.Flush(spec.flush)) return error;
    if (last) {
      if (EngineError error = timeline_.StampClock(true)) return error;
    }
    if (EngineError error = timeline_.MarkStart(i)) return error;
    const double before = facts_.has_queue ? timeline_.HostSeconds() : 0;
    const int result = call.launch(call.user, call.stream);
    if (facts_.has_queue) block->submit.push_back(timeline_.HostSeconds() - before);
    if (result != 0) return LaunchFailed(result);
    if (EngineError error = timeline_.MarkStop(i)) return error;
    if (gated) {
      if (EngineError error = block->gate->Note()) return error;
    }
    if (last) {
      if (EngineError error = timeline_.StampClock(false)) return error;
    }
    if (facts_.has_queue && timeline_.BlockerTimedOut()) {
      block->timed_out = true;  // nothing later can be trusted: do not queue more
      return {};
    }
    block->queued = i + 1;
  }
  return {};
}

EngineError BurstRunner::AfterTimeout(const Block& block, int samples, BurstOutcome* out) {
  out->flags |= KB_FLAG_BLOCKER_TIMEOUT;
  if (samples == 1) {
    return {KB_TIMEOUT,
            "the blocked queue ran out of time behind a single launch: the launch waits for the "
            "device (it must only enqueue), or the host stood still"};
  }
  most_queued_ = std::clamp(block.queued, 1, std::max(1, samples / 2));
  return {};
}

EngineError BurstRunner::Accept(const Block& block, BurstOutcome* out) {
  const auto count = static_cast<std::size_t>(block.queued);
  // The gap before the last sample holds the poison too, and tells nothing.
  const std::size_t judged = block.gate != nullptr && count > 0 ? count - 1 : count;
  std::vector<double> gaps;  // before sample i + 1
  for (std::size_t i = 0; facts_.has_queue && i + 1 < judged; ++i) {
    gaps.push_back(timeline_.GapSeconds(static_cast<int>(i)));
  }
  gaps_.insert(gaps_.end(), gaps.begin(), gaps.end());
  if (gaps_.size() > kGapsKept) {
    gaps_.erase(gaps_.begin(), gaps_.end() - static_cast<std::ptrdiff_t>(kGapsKept));
  }
  const double longest = LongestGap();
  for (std::size_t i = 0; i < count; ++i) {
    const double seconds = timeline_.SampleSeconds(static_cast<int>(i));
    const bool stalled = i > 0 && i <= gaps.size() && gaps[i - 1] > longest;
    if (stalled) out->flags |= KB_FLAG_HOST_STALL;
    if (std::isfinite(seconds) && seconds > 0) out->busy_seconds += seconds;
    if (stalled || !std::isfinite(seconds) || !(seconds > 0)) {
      ++out->discarded;
      continue;
    }
    out->device_seconds.push_back(seconds);
    if (facts_.has_queue) out->submit_seconds.push_back(block.submit[i]);
  }
  if (block.gate == nullptr) return {};
  bool changed = false;
  EngineError error = block.gate->Changed(&changed);
  if (changed) {
    out->changed_late = true;
    out->flags |= KB_FLAG_SIDE_STREAM;
  }
  if (!error && block.gate->Unwritten()) out->unwritten = true;
  return error;
}

// The longest gap that is still only the flush; infinite until enough gaps are known.
double BurstRunner::LongestGap() const {
  if (gaps_.size() < kGapsForMedian) return std::numeric_limits<double>::infinity();
  const double expected = Median(gaps_);
  return expected + std::max(kGapFloorSeconds, kGapTolerance * expected);
}

}  // namespace kbench::engine
