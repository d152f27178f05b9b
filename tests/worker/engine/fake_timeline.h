// A timeline without a device: records the order of calls, and plays the times, gaps and failures
// that a test gives it.
#pragma once

#include <string>
#include <vector>

#include "worker/engine/burst.h"
#include "worker/engine/timeline.h"

namespace kbench::engine {

class FakeTimeline final : public Timeline {
 public:
  TimelineFacts facts = {"fake", 1e-9, 0, 8, true};
  std::vector<std::string> calls;
  double clock = 0;  // advances by `tick` at each reading
  double tick = 1e-6;
  double sample_seconds = 1e-3;
  std::vector<double> gaps;  // by index within a block; missing ones are `usual_gap`
  double usual_gap = 100e-6;
  double core_hertz = 0;            // what the cores' clock reads
  std::vector<double> odd_samples;  // by index within a block; NaN or missing: sample_seconds
  int time_out_above = 1 << 30;     // the blocker gives up once so many samples are queued
  EngineError synchronize_error;
  EngineError flush_error;
  bool held = false;
  std::uint32_t disturbances = 0;
  EngineError begin_capture_error, end_capture_error, replay_error;
  std::vector<bool> stop_reached;  // by call of StopReached(); missing ones are false
  int nothings = 0;                // calls of EnqueueNothing()
  int captured_launches = 0;       // what the last EndCapture() asked for

  TimelineFacts Facts() const override { return facts; }
  TimelineError BeginBurst() override { return Note("begin"); }
  void EndBurst() override { (void)Note("end"); }
  double ClockHertz() override { return core_hertz; }
  TimelineError Block() override {
    held = facts.has_queue;
    stops_ = 0;
    return Note("block");
  }
  TimelineError Release() override {
    held = false;
    return Note("release");
  }
  TimelineError Flush(FlushKind kind) override {
    Note(kind == FlushKind::kClean ? "clean" : kind == FlushKind::kDirty ? "dirty" : "none");
    return flush_error;
  }
  TimelineError EnqueueNothing() override {
    ++nothings;
    return {};
  }
  TimelineError MarkStart(int index) override { return Note("start" + std::to_string(index)); }
  TimelineError MarkStop(int index) override {
    ++stops_;
    return Note("stop" + std::to_string(index));
  }
  TimelineError Synchronize() override {
    Note("sync");
    return synchronize_error;
  }
  double SampleSeconds(int index) override {
    const auto i = static_cast<std::size_t>(index);
    return i < odd_samples.size() ? odd_samples[i] : sample_seconds;
  }
  double GapSeconds(int index) override {
    const auto i = static_cast<std::size_t>(index);
    return i < gaps.size() ? gaps[i] : usual_gap;
  }
  TimelineError WaitForStop(int index) override { return Note("wait" + std::to_string(index)); }
  bool StopReached(int) override {
    const std::size_t i = stop_queries_++;
    return i < stop_reached.size() && stop_reached[i];
  }
  TimelineError BeginCapture() override {
    Note("capture");
    return begin_capture_error;
  }
  TimelineError EndCapture(int launches) override {
    Note("captured");
    captured_launches = launches;
    return end_capture_error;
  }
  TimelineError Replay() override {
    Note("replay");
    return replay_error;
  }
  bool BlockerTimedOut() override { return stops_ >= time_out_above; }
  std::uint32_t Disturbances() override { return disturbances; }
  double HostSeconds() override { return clock += tick; }
  void Hold(double seconds) override {
    clock += seconds;
    Note("hold");
  }

 private:
  TimelineError Note(const std::string& call) {
    calls.push_back(call);
    return {};
  }
  int stops_ = 0;
  std::size_t stop_queries_ = 0;
};

// An output that notes its calls among the timeline's.
class FakeGate final : public OutputGate {
 public:
  explicit FakeGate(FakeTimeline& timeline) : timeline_(timeline) {}
  bool changed = false;
  bool unwritten = false;

  EngineError Poison() override { return Note("poison"); }
  EngineError Note() override { return Note("note"); }
  EngineError Changed(bool* out) override {
    *out = changed;
    return Note("look");
  }
  bool Unwritten() override { return unwritten; }

 private:
  EngineError Note(const std::string& call) {
    timeline_.calls.push_back(call);
    return {};
  }
  FakeTimeline& timeline_;
};

}  // namespace kbench::engine
