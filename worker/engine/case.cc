#include "worker/engine/case.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "kernels/catalog/catalog.h"
#include "worker/engine/rotation.h"

namespace kbench::engine {
namespace {

const char* OrEmpty(const char* text) { return text == nullptr ? "" : text; }

void CopyText(const std::string& text, char* out, std::size_t size) {
  std::snprintf(out, size, "%s", text.c_str());
}

EngineError ParseFlush(const std::string& word, FlushKind* flush) {
  if (word.empty() || word == "clean") {
    *flush = FlushKind::kClean;
  } else if (word == "dirty") {
    *flush = FlushKind::kDirty;
  } else if (word == "none") {
    *flush = FlushKind::kNone;
  } else {
    return {KB_INVALID_ARGUMENT, "there is no flush '" + word + "'; there are clean, dirty, none"};
  }
  return {};
}

// The output where a burst poisons it and looks at it: the set that is launched last.
class DeviceGate final : public OutputGate {
 public:
  // `spec` of the output, `output` where it lies.
  DeviceGate(Device& device, const OperandSpec& spec, const Buffer& output)
      : device_(device),
        output_(output),
        tells_poison_(Info(spec.storage).output_roundoff > 0 || spec.elements() >= kLeastIntegers) {
  }
  EngineError Poison() override {
    return device_.EnqueueSet(output_.data, kPoisonByte, output_.bytes);
  }
  EngineError Note() override { return device_.EnqueueNote(output_); }
  EngineError Changed(bool* changed) override { return device_.ChangedSinceNote(output_, changed); }
  bool Unwritten() override { return tells_poison_ && device_.NoteHolds(output_, kPoisonByte); }

 private:
  // The poison is a NaN in every floating type and an honest -1 in an integer one.
  static constexpr std::int64_t kLeastIntegers = 16;
  Device& device_;
  const Buffer output_;
  const bool tells_poison_;
};

// A check that failed for another reason than the numbers.
void Fail(const std::string& reason, const std::string& message, kb_check* check) {
  check->passed = 0;
  CopyText(reason, check->reason, sizeof(check->reason));
  CopyText(message, check->message, sizeof(check->message));
}

EngineError NeedRoom(const kb_burst_record& record) {
  if (record.device_seconds != nullptr && record.submit_seconds != nullptr) return {};
  return {KB_INVALID_ARGUMENT, "the burst's record has no room for its samples"};
}

void FillRecord(const EngineError& error, const BurstOutcome& outcome, kb_burst_record* record) {
  const std::size_t count = error ? 0 : outcome.device_seconds.size();
  const std::size_t submits = error ? 0 : outcome.submit_seconds.size();
  std::copy_n(outcome.device_seconds.begin(), count, record->device_seconds);
  std::copy_n(outcome.submit_seconds.begin(), submits, record->submit_seconds);
  record->count = static_cast<int32_t>(count);
  record->submit_count = static_cast<int32_t>(submits);
  record->discarded = outcome.discarded;
  record->seconds = outcome.seconds;
  record->flags = outcome.flags;
  record->clock_hertz = outcome.clock_hertz;
  record->duty_ratio =
      outcome.seconds > 0 ? std::min(1.0, outcome.busy_seconds / outcome.seconds) : 0;
}

}  // namespace

EngineError ParseCase(const kb_case& spec, CaseSpec* out) {
  auto problem = MakeProblem(OrEmpty(spec.kernel), OrEmpty(spec.dtype), OrEmpty(spec.shape),
                             OrEmpty(spec.mode));
  if (!problem) return {KB_INVALID_ARGUMENT, problem.error().message};
  out->problem = std::move(problem).value();
  if (EngineError error = ParseFlush(OrEmpty(spec.flush), &out->flush)) return error;
  if (out->problem.mode != Mode::kCold) out->flush = FlushKind::kNone;
  out->seed = spec.seed;
  out->reference_dir = OrEmpty(spec.reference_dir);
  out->memory_limit_bytes = spec.memory_limit_bytes;
  out->flush_bytes = spec.flush_bytes;
  return {};
}

Case::Case(Device& device, CaseSpec spec)
    : device_(device),
      spec_(std::move(spec)),
      specs_(FindKernel(spec_.problem.kernel)->operands(spec_.problem)),
      bursts_(device.timeline()) {}

EngineError Case::Open() {
  if (spec_.problem.mode == Mode::kGraph && !device_.timeline().Facts().has_graphs) {
    return {KB_INVALID_ARGUMENT,
            "mode graph needs CUDA graphs, which a CPU has not; use cold, hot or steady"};
  }
  if (EngineError error = device_.timeline().SetFlushBytes(spec_.flush_bytes)) return error;
  const std::int64_t needed = Operands::NeededBytes(specs_);
  std::int64_t free = device_.FreeBytes();
  if (spec_.memory_limit_bytes > 0) free = std::min(free, spec_.memory_limit_bytes);
  if (needed > free) {
    return {KB_OUT_OF_MEMORY,
            "the operands need " + std::to_string(needed) + " bytes and " + std::to_string(free) +
                " are free",
            needed, free};
  }
  int sets = 1;
  if (spec_.problem.mode == Mode::kGraph) {
    if (EngineError error = CountSets(free, &sets)) return error;
  }
  for (int i = 0; i < sets; ++i) {
    sets_.push_back(std::make_unique<Operands>(device_, specs_));
    if (EngineError error = sets_.back()->Open()) return error;
    if (EngineError error = sets_.back()->Fill(spec_.seed)) return error;
  }
  current_set_ = sets - 1;  // the first launch gets the first set
  if (!specs_.empty())
    gate_ = std::make_unique<DeviceGate>(device_, specs_.back(), sets_.back()->output());
  PlanBursts();
  return {};
}

// Of modes graph and steady; the first burst finds how many launches make a sample.
void Case::PlanBursts() {
  if (spec_.problem.mode == Mode::kGraph) {
    graph_ = std::make_unique<GraphBurst>(device_.timeline(), bursts_, sets(), &current_set_);
  } else if (spec_.problem.mode == Mode::kSteady) {
    steady_ = std::make_unique<SteadyBurst>(device_.timeline());
  }
}

// As many as keep a set's lines out of the cache until its turn comes again, in half of the memory:
// implementations want workspaces, one for each set.
EngineError Case::CountSets(std::int64_t free_bytes, int* sets) const {
  *sets = RotationSets(FootprintBytes(spec_.problem), device_.CacheBytes());
  const std::int64_t needed = Operands::NeededBytes(specs_);
  if (needed == 0) return {};
  const std::int64_t usable = free_bytes / 2;
  const std::int64_t fit = usable / needed;
  if (fit < 2) {
    return {KB_OUT_OF_MEMORY,
            "mode graph rotates through at least 2 complete operand sets, which need " +
                std::to_string(2 * needed) + " bytes, and may use " + std::to_string(usable) +
                ", half of what is free",
            2 * needed, usable};
  }
  *sets = static_cast<int>(std::min<std::int64_t>(*sets, fit));
  return {};
}

int Case::launches_per_sample() const {
  const int planned = graph_ ? graph_->launches() : steady_ ? steady_->launches() : 1;
  return std::max(1, planned);
}

std::string Case::mechanism() const {
  const TimelineFacts facts = device_.timeline().Facts();
  if (graph_) return "cuda-graph-rotation";
  if (steady_) return facts.has_queue ? "cuda-back-to-back" : "steady-clock-back-to-back";
  return facts.mechanism;
}

EngineError Case::Call(const LaunchCall& call, double* seconds) {
  Timeline& timeline = device_.timeline();
  if (EngineError error = timeline.Synchronize()) return error;
  current_set_ = (current_set_ + 1) % sets();
  const double begin = timeline.HostSeconds();
  const int result = call.launch(call.user, call.stream);
  const EngineError error = timeline.Synchronize();
  *seconds = timeline.HostSeconds() - begin;
  if (error) return error;
  if (result != 0) {
    return {KB_LAUNCH_FAILED, "the launch returned error " + std::to_string(result)};
  }
  if (!graph_) bursts_.SetPace(*seconds);  // a replay has another
  return {};
}

EngineError Case::Verify(int stage, std::uint64_t seed, const LaunchCall& call, kb_check* check) {
  *check = {};
  if (stage < KB_VERIFY_BEFORE || stage > KB_VERIFY_NEW_SEED) {
    return {KB_INVALID_ARGUMENT, "there is no verification stage " + std::to_string(stage)};
  }
  if (stage == KB_VERIFY_AFTER) {
    if (EngineError error = device_.timeline().Synchronize()) return error;
    if (FailForTricks(check)) return {};
  } else if (EngineError error = LaunchForCheck(stage, seed, call)) {
    return error;
  }
  return Judge(check);
}

// Launches once on every set; the last one's output is what is compared.
EngineError Case::LaunchForCheck(int stage, std::uint64_t seed, const LaunchCall& call) {
  if (stage == KB_VERIFY_NEW_SEED) {
    if (seed != spec_.seed) reference_.reset();
    spec_.seed = seed;
  }
  burst_flags_ = 0;
  changed_late_ = unwritten_ = false;
  for (const auto& set : sets_) {
    if (stage == KB_VERIFY_NEW_SEED) {
      if (EngineError error = set->Fill(seed)) return error;
    }
    if (EngineError error = set->PoisonOutput()) return error;
  }
  current_set_ = sets() - 1;
  for (int i = 0; i < sets(); ++i) {
    double seconds = 0;
    if (EngineError error = Call(call, &seconds)) return error;
  }
  return {};
}

bool Case::FailForTricks(kb_check* check) const {
  if (changed_late_) {
    Fail("SIDE_STREAM",
         "the output changed after the timed stream had passed the launch: it works on another "
         "stream, which its time does not hold",
         check);
    return true;
  }
  if (unwritten_) {
    Fail(
        "NOT_WRITTEN",
        "the timed stream had passed a launch and the output still held the poison from before it: "
        "the launch does not write its output, or on another stream, which its time does not hold",
        check);
    return true;
  }
  if ((burst_flags_ & KB_FLAG_PERSISTING_L2) != 0) {
    Fail("PERSISTING_L2",
         "the launch asks for L2 lines that persist, so that its operands would survive the flush; "
         "cold mode needs them evicted",
         check);
    return true;
  }
  return false;
}

EngineError Case::Judge(kb_check* check) {
  for (const auto& set : sets_) {
    std::string damage;
    if (EngineError error = set->FindOverwrittenGuard(&damage)) return error;
    if (!damage.empty()) {
      Fail("GUARD_OVERWRITTEN", "the launch wrote outside of operand '" + damage + "'", check);
      return {};
    }
    if (EngineError error = set->FindModifiedInput(&damage)) return error;
    if (!damage.empty()) {
      Fail("INPUT_MODIFIED", "the launch changed its input '" + damage + "'", check);
      return {};
    }
  }
  return CheckOutput(check);
}

EngineError Case::OpenScratch(void** data) {
  *data = nullptr;
  if (specs_.empty()) return {};
  if (!scratch_) {
    auto scratch = std::make_unique<ScratchOutput>(device_, sets_.back()->output().bytes);
    const std::int64_t needed = scratch->NeededBytes();
    std::int64_t free = device_.FreeBytes();
    if (spec_.memory_limit_bytes > 0) {
      free = std::min(free, spec_.memory_limit_bytes - sets() * Operands::NeededBytes(specs_));
    }
    if (needed > free) {
      return {KB_OUT_OF_MEMORY,
              "a scratch output needs " + std::to_string(needed) + " bytes and " +
                  std::to_string(free) + " are free",
              needed, free};
    }
    if (EngineError error = scratch->Open()) return error;
    scratch_ = std::move(scratch);
  }
  *data = scratch_->data();
  return {};
}

EngineError Case::Trial(const kb_burst_spec& spec, const LaunchCall& call,
                        kb_burst_record* record) {
  if (EngineError error = NeedRoom(*record)) return error;
  BurstSpec burst;
  burst.samples = spec.samples;
  burst.max_seconds = spec.max_seconds;
  burst.flush = graph_ ? FlushKind::kClean : spec_.flush;
  burst.warm_launch = burst.flush == FlushKind::kNone;
  BurstRunner bursts(device_.timeline());  // the pace of others says nothing
  BurstOutcome outcome;
  const EngineError error = bursts.Run(burst, call, &outcome);
  FillRecord(error, outcome, record);
  PlanBursts();
  return error;
}

EngineError Case::Burst(const kb_burst_spec& spec, const LaunchCall& call,
                        kb_burst_record* record) {
  if (EngineError error = NeedRoom(*record)) return error;
  BurstSpec burst;
  burst.samples = spec.samples;
  burst.max_seconds = spec.max_seconds;
  burst.flush = spec_.flush;
  burst.gate = gate_.get();
  burst.warm_launch = spec_.flush == FlushKind::kNone;
  BurstOutcome outcome;
  const EngineError error = RunBurst(burst, call, &outcome);
  burst_flags_ |= outcome.flags;
  changed_late_ = changed_late_ || outcome.changed_late;
  unwritten_ = unwritten_ || outcome.unwritten;
  FillRecord(error, outcome, record);
  return error;
}

EngineError Case::RunBurst(const BurstSpec& spec, const LaunchCall& call, BurstOutcome* outcome) {
  if (graph_) return graph_->Run(spec, call, outcome);
  if (!steady_) return bursts_.Run(spec, call, outcome);
  if (EngineError error = steady_->Run(spec, call, outcome)) return error;
  // What is checked is one more launch behind a blocker: back to back nothing can be poisoned
  // without letting the device wait.
  BurstSpec checked;
  checked.flush = FlushKind::kNone;
  checked.gate = spec.gate;
  BurstOutcome untimed;
  const EngineError error = bursts_.Run(checked, call, &untimed);
  outcome->flags |= untimed.flags & (KB_FLAG_SIDE_STREAM | KB_FLAG_PERSISTING_L2);
  outcome->changed_late = untimed.changed_late;
  outcome->unwritten = untimed.unwritten;
  return error;
}

}  // namespace kbench::engine
