#include "worker/engine/steady_burst.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "worker/engine/rotation.h"

namespace kbench::engine {
namespace {

// A pilot this long has left behind what starting an idle device costs.
constexpr double kPilotSeconds = 0.5e-3;
constexpr int kMostPilotLaunches = 1 << 20;
constexpr int kPilots = 3;  // the shortest counts: one may be disturbed
constexpr int kQueuedBatches = 2;
// Beside a batch this long, what it takes to start an idle device is nothing.
constexpr double kLongBatch = 0.05;

}  // namespace

SteadyBurst::SteadyBurst(Timeline& timeline) : timeline_(timeline), facts_(timeline.Facts()) {}

EngineError SteadyBurst::Run(const BurstSpec& spec, const LaunchCall& call, BurstOutcome* out) {
  *out = {};
  if (spec.samples < 1) {
    return {KB_INVALID_ARGUMENT,
            "a burst needs at least 1 sample, not " + std::to_string(spec.samples)};
  }
  (void)timeline_.Disturbances();  // starts the watch
  const double begin = timeline_.HostSeconds();
  EngineError error = timeline_.BeginBurst();
  if (!error && launches_ == 0) error = Plan(call);
  if (!error) error = timeline_.StampClock(true);
  if (!error) error = Batches(spec, call, out);
  if (!error) error = timeline_.StampClock(false);
  // Nothing may be left in the queue, and a fault explains a launch that failed.
  const EngineError waited = timeline_.Synchronize();
  if (waited && (!error || waited.code == KB_DEVICE_ERROR)) error = waited;
  out->seconds = timeline_.HostSeconds() - begin;
  if (!error) out->clock_hertz = timeline_.ClockHertz();
  out->flags |= timeline_.Disturbances();
  timeline_.EndBurst();
  return error;
}

// Doubles the batch until it is long enough to tell what one launch takes.
EngineError SteadyBurst::Plan(const LaunchCall& call) {
  double seconds = 0;
  for (int launches = 1;; launches *= 2) {
    for (int pilot = 0; pilot < kPilots; ++pilot) {
      if (EngineError error = Enqueue(0, launches, call)) return error;
      if (EngineError error = timeline_.Synchronize()) return error;
      const double taken = timeline_.SampleSeconds(0);
      seconds = pilot == 0 ? taken : std::min(seconds, taken);
      if (taken < kPilotSeconds || taken > kLongBatch) break;  // too short to count, or to repeat
    }
    if (seconds < kPilotSeconds && launches < kMostPilotLaunches) continue;
    launches_ = LaunchesPerBatch(seconds / launches, facts_.quantum_seconds);
    batch_seconds_ = seconds / launches * launches_;
    return {};
  }
}

EngineError SteadyBurst::Batches(const BurstSpec& spec, const LaunchCall& call, BurstOutcome* out) {
  const int slots = facts_.max_queued_samples;
  const double limit =
      spec.max_seconds > 0 ? spec.max_seconds : std::numeric_limits<double>::infinity();
  const double begin = timeline_.HostSeconds();
  if (spec.gate != nullptr) {
    if (EngineError error = spec.gate->Poison()) return error;
  }
  // The first batch fills the queue of an idle device and is not one of the samples. On a CPU it
  // warms the caches.
  const int leading = batch_seconds_ < kLongBatch ? 1 : 0;
  int enqueued = 0, done = 0, all = leading + spec.samples;
  while (done < all) {
    if (enqueued < all && enqueued - done < kQueuedBatches) {
      if (EngineError error = Enqueue(enqueued % slots, launches_, call)) return error;
      // The batch before ended while this one was still being enqueued: the queue may have run dry.
      if (facts_.has_queue && enqueued > leading && timeline_.StopReached((enqueued - 1) % slots)) {
        out->flags |= KB_FLAG_HOST_STALL;
      }
      ++enqueued;
      continue;
    }
    if (EngineError error = timeline_.WaitForStop(done % slots)) return error;
    if (done >= leading) {
      if (EngineError error = Collect(done % slots, out)) return error;
    }
    ++done;
    const bool over = timeline_.HostSeconds() - begin >= limit;
    if (over && done > leading) all = std::min(all, enqueued);
  }
  return {};
}

EngineError SteadyBurst::Enqueue(int slot, int launches, const LaunchCall& call) {
  if (EngineError error = timeline_.MarkStart(slot)) return error;
  for (int i = 0; i < launches; ++i) {
    if (const int result = call.launch(call.user, call.stream); result != 0) {
      return {KB_LAUNCH_FAILED, "the launch returned error " + std::to_string(result)};
    }
  }
  return timeline_.MarkStop(slot);
}

EngineError SteadyBurst::Collect(int slot, BurstOutcome* out) {
  const double seconds = timeline_.SampleSeconds(slot);
  if (!std::isfinite(seconds) || !(seconds > 0)) {
    ++out->discarded;
    return {};
  }
  out->busy_seconds += seconds;
  out->device_seconds.push_back(seconds / launches_);
  return {};
}

}  // namespace kbench::engine
