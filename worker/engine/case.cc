#include "worker/engine/case.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "kernels/catalog/catalog.h"

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

// A check that failed for another reason than the numbers.
void Fail(const std::string& reason, const std::string& message, kb_check* check) {
  check->passed = 0;
  CopyText(reason, check->reason, sizeof(check->reason));
  CopyText(message, check->message, sizeof(check->message));
}

}  // namespace

EngineError ParseCase(const kb_case& spec, CaseSpec* out) {
  auto problem = MakeProblem(OrEmpty(spec.kernel), OrEmpty(spec.dtype), OrEmpty(spec.shape),
                             OrEmpty(spec.mode));
  if (!problem) return {KB_INVALID_ARGUMENT, problem.error().message};
  out->problem = std::move(problem).value();
  const Mode mode = out->problem.mode;
  if (mode != Mode::kCold && mode != Mode::kHot) {
    return {KB_INVALID_ARGUMENT, std::string("mode ") + ModeName(mode) +
                                     " is not offered by this engine yet; use cold or hot"};
  }
  if (EngineError error = ParseFlush(OrEmpty(spec.flush), &out->flush)) return error;
  if (mode == Mode::kHot) out->flush = FlushKind::kNone;
  out->seed = spec.seed;
  out->reference_dir = OrEmpty(spec.reference_dir);
  out->memory_limit_bytes = spec.memory_limit_bytes;
  return {};
}

Case::Case(Device& device, CaseSpec spec)
    : device_(device),
      spec_(std::move(spec)),
      operands_(device, FindKernel(spec_.problem.kernel)->operands(spec_.problem)),
      bursts_(device.timeline()) {}

EngineError Case::Open() {
  const std::int64_t needed = Operands::NeededBytes(operands_.specs());
  std::int64_t free = device_.FreeBytes();
  if (spec_.memory_limit_bytes > 0) free = std::min(free, spec_.memory_limit_bytes);
  if (needed > free) {
    return {KB_OUT_OF_MEMORY,
            "the operands need " + std::to_string(needed) + " bytes and " + std::to_string(free) +
                " are free",
            needed, free};
  }
  if (EngineError error = operands_.Open()) return error;
  return operands_.Fill(spec_.seed);
}

EngineError Case::Call(const LaunchCall& call, double* seconds) {
  Timeline& timeline = device_.timeline();
  if (EngineError error = timeline.Synchronize()) return error;
  const double begin = timeline.HostSeconds();
  const int result = call.launch(call.user, call.stream);
  const EngineError error = timeline.Synchronize();
  *seconds = timeline.HostSeconds() - begin;
  if (error) return error;
  if (result != 0) {
    return {KB_LAUNCH_FAILED, "the launch returned error " + std::to_string(result)};
  }
  bursts_.SetPace(*seconds);
  return {};
}

EngineError Case::Verify(int stage, std::uint64_t seed, const LaunchCall& call, kb_check* check) {
  *check = {};
  if (stage < KB_VERIFY_BEFORE || stage > KB_VERIFY_NEW_SEED) {
    return {KB_INVALID_ARGUMENT, "there is no verification stage " + std::to_string(stage)};
  }
  if (stage == KB_VERIFY_NEW_SEED && seed != spec_.seed) {
    spec_.seed = seed;
    reference_.reset();
  }
  if (stage == KB_VERIFY_NEW_SEED) {
    if (EngineError error = operands_.Fill(seed)) return error;
  }
  if (stage != KB_VERIFY_AFTER) {
    if (EngineError error = operands_.PoisonOutput()) return error;
    double seconds = 0;
    if (EngineError error = Call(call, &seconds)) return error;
  } else if (EngineError error = device_.timeline().Synchronize()) {
    return error;
  }
  return Judge(check);
}

EngineError Case::Judge(kb_check* check) {
  std::string damage;
  if (EngineError error = operands_.FindOverwrittenGuard(&damage)) return error;
  if (!damage.empty()) {
    Fail("GUARD_OVERWRITTEN", "the launch wrote outside of operand '" + damage + "'", check);
    return {};
  }
  if (EngineError error = operands_.FindModifiedInput(&damage)) return error;
  if (!damage.empty()) {
    Fail("INPUT_MODIFIED", "the launch changed its input '" + damage + "'", check);
    return {};
  }
  return CheckOutput(check);
}

EngineError Case::Burst(const kb_burst_spec& spec, const LaunchCall& call,
                        kb_burst_record* record) {
  if (record->device_seconds == nullptr || record->submit_seconds == nullptr) {
    return {KB_INVALID_ARGUMENT, "the burst's record has no room for its samples"};
  }
  BurstOutcome outcome;
  const EngineError error =
      bursts_.Run({spec.samples, spec.max_seconds, spec_.flush}, call, &outcome);
  const std::size_t count = error ? 0 : outcome.device_seconds.size();
  const std::size_t submits = error ? 0 : outcome.submit_seconds.size();
  std::copy_n(outcome.device_seconds.begin(), count, record->device_seconds);
  std::copy_n(outcome.submit_seconds.begin(), submits, record->submit_seconds);
  record->count = static_cast<int32_t>(count);
  record->submit_count = static_cast<int32_t>(submits);
  record->discarded = outcome.discarded;
  record->seconds = outcome.seconds;
  record->flags = outcome.flags;
  return error;
}

}  // namespace kbench::engine
