#include "worker/tuning/tuner.h"

#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "proto/support/clock.h"
#include "worker/tuning/halving.h"

namespace kbench::tuning {
namespace {

// Longer than any trial should take that is worth going on with; one sample is taken at least.
constexpr double kTrialSeconds = 0.2;

class Trials {
 public:
  Trials(kb_engine* engine, const Implementation& implementation, const Problem& problem,
         int threads, void* scratch)
      : engine_(engine), implementation_(implementation), problem_(problem) {
    context_.threads = threads;
    context_.stream = kb_stream(engine);
    for (int i = 0; i < kb_operand_count(engine); ++i) {
      void* data = nullptr;
      int32_t is_output = 0;
      (void)kb_operand(engine, i, &data, nullptr, &is_output);  // the indices are in range
      if (is_output == 0) operands_.inputs.push_back(data);
    }
    operands_.output = scratch;
  }

  // The samples of one candidate; none: it failed, and failure() says why.
  std::vector<double> Run(const std::string& candidate, int samples) {
    try {
      return RunCreated(candidate, samples);
    } catch (const std::exception& exception) {
      return Fail(candidate, exception.what());
    } catch (...) {
      return Fail(candidate, "it threw");
    }
  }

  const std::string& failure() const { return failure_; }  // the latest
  bool device_lost() const { return device_lost_; }

 private:
  std::vector<double> RunCreated(const std::string& candidate, int samples) {
    context_.candidate = candidate;
    auto created = implementation_.create(problem_, operands_, context_);
    if (!created) return Fail(candidate, created.error().message);
    const std::unique_ptr<Instance> instance = std::move(created).value();
    double seconds = 0;  // the first call loads what there is to load
    kb_status status = kb_call(engine_, Launch, instance.get(), &seconds);
    std::vector<double> device(static_cast<std::size_t>(samples)), submit(device.size());
    kb_burst_record record{};
    if (status == KB_OK) {
      const kb_burst_spec spec{samples, kTrialSeconds};
      record.device_seconds = device.data();
      record.submit_seconds = submit.data();
      status = kb_trial(engine_, &spec, Launch, instance.get(), &record);
    }
    if (status != KB_OK) {
      device_lost_ = status == KB_DEVICE_ERROR;
      return Fail(candidate, kb_error(engine_));
    }
    device.resize(static_cast<std::size_t>(record.count));
    if (device.empty()) return Fail(candidate, "the host disturbed every sample");
    return device;
  }

  static int Launch(void* user, void* stream) {
    return static_cast<Instance*>(user)->Launch(stream);
  }

  std::vector<double> Fail(const std::string& candidate, const std::string& why) {
    failure_ = "candidate " + candidate + ": " + why;
    return {};
  }

  kb_engine* const engine_;
  const Implementation& implementation_;
  const Problem& problem_;
  OperandPointers operands_;
  DeviceContext context_;
  std::string failure_;
  bool device_lost_ = false;
};

}  // namespace

Tuned Tune(kb_engine* engine, const Implementation& implementation, const Problem& problem,
           const std::vector<std::string>& candidates, int threads, double max_seconds) {
  const double begin = SystemClock().SteadySeconds();
  const auto elapsed = [&] { return SystemClock().SteadySeconds() - begin; };
  Tuned tuned;
  void* scratch = nullptr;
  if (kb_scratch_open(engine, &scratch) != KB_OK) {
    tuned.note = kb_error(engine);
    return tuned;
  }
  Trials trials(engine, implementation, problem, threads, scratch);
  Halving halving(candidates.size(), max_seconds);
  while (const auto trial = halving.Next(elapsed())) {
    halving.Report(trials.Run(candidates[trial->candidate], trial->samples));
    if (!trials.device_lost()) continue;
    tuned.device_lost = true;
    tuned.note = trials.failure();
    return tuned;
  }
  kb_scratch_close(engine);
  if (const auto best = halving.Best()) tuned.candidate = candidates[*best];
  if (tuned.candidate.empty()) {
    tuned.note =
        trials.failure().empty() ? "no time was left to try a candidate" : trials.failure();
  }
  tuned.decided = halving.decided();
  tuned.timed = halving.timed();
  tuned.seconds = elapsed();
  return tuned;
}

}  // namespace kbench::tuning
