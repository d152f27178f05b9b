#include "worker/engine/graph_burst.h"

#include <algorithm>
#include <string>

#include "worker/engine/calibration.h"
#include "worker/engine/rotation.h"

namespace kbench::engine {
namespace {

constexpr int kPilotSamples = 5;
// One turn through the sets that takes this long by the host's clock is long enough for a replay.
constexpr double kLongTurn = 0.02;

}  // namespace

GraphBurst::GraphBurst(Timeline& timeline, BurstRunner& bursts, int sets, int* current_set)
    : timeline_(timeline), bursts_(bursts), sets_(sets), current_set_(current_set) {}

EngineError GraphBurst::Run(const BurstSpec& spec, const LaunchCall& call, BurstOutcome* out) {
  *out = {};
  if (launches_ == 0) {
    if (EngineError error = Plan(call)) return error;
  }
  const EngineError error = Replays(spec, call.stream, out);
  for (double& seconds : out->device_seconds) seconds /= launches_;
  for (double& seconds : out->submit_seconds) seconds /= launches_;
  return error;
}

// A first graph of one turn through the sets tells how long a launch takes inside of a graph.
EngineError GraphBurst::Plan(const LaunchCall& call) {
  const double begin = timeline_.HostSeconds();
  for (*current_set_ = 0; *current_set_ < sets_; ++*current_set_) {
    if (const int result = call.launch(call.user, call.stream); result != 0) {
      return {KB_LAUNCH_FAILED, "the launch returned error " + std::to_string(result)};
    }
  }
  *current_set_ = sets_ - 1;
  if (EngineError error = timeline_.Synchronize()) return error;
  const double turn = timeline_.HostSeconds() - begin;
  if (EngineError error = Capture(sets_, call)) return error;
  if (turn >= kLongTurn) {
    bursts_.SetPace(turn);
    launches_ = sets_;
    return {};
  }
  BurstSpec pilot;
  pilot.samples = kPilotSamples;
  pilot.warm_launch = true;
  BurstOutcome outcome;
  if (EngineError error = Replays(pilot, call.stream, &outcome)) return error;
  const double seconds = Median(outcome.device_seconds) / sets_;
  const int launches = LaunchesPerReplay(sets_, seconds, timeline_.Facts().quantum_seconds);
  if (launches != sets_) {
    if (EngineError error = Capture(launches, call)) return error;
  }
  bursts_.SetPace(seconds * launches);
  launches_ = launches;
  return {};
}

EngineError GraphBurst::Capture(int launches, const LaunchCall& call) {
  if (EngineError error = timeline_.BeginCapture()) return error;
  int failed = 0;
  for (int i = 0; i < launches && failed == 0; ++i) {
    *current_set_ = i % sets_;
    failed = call.launch(call.user, call.stream);
  }
  const EngineError ended = timeline_.EndCapture(launches);  // whatever happened: ends the capture
  if (failed == 0 || ended.code == KB_DEVICE_ERROR) return ended;
  return {KB_NOT_CAPTURABLE,
          "the launch cannot be captured in a CUDA graph: it returned error " +
              std::to_string(failed) +
              " where it may only enqueue work on the stream it is given; use mode cold or hot"};
}

EngineError GraphBurst::Replays(const BurstSpec& spec, void* stream, BurstOutcome* out) {
  BurstSpec replays = spec;
  replays.flush = FlushKind::kNone;
  replay_error_ = {};
  const EngineError error = bursts_.Run(replays, {LaunchReplay, this, stream}, out);
  return replay_error_ ? replay_error_ : error;
}

int GraphBurst::LaunchReplay(void* user, void*) {
  auto* self = static_cast<GraphBurst*>(user);
  *self->current_set_ = self->sets_ - 1;  // a replay ends with the last set
  self->replay_error_ = self->timeline_.Replay();
  return self->replay_error_ ? 1 : 0;
}

}  // namespace kbench::engine
