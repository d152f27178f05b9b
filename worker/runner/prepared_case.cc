#include "worker/runner/prepared_case.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "proto/support/clock.h"
#include "worker/runner/failure.h"
#include "worker/tuning/tuner.h"

namespace kbench {
namespace {

constexpr int kMostSamples = 10000;
constexpr double kWindowSeconds = 0.05;
constexpr double kShortestWindowSeconds = 0.005;
constexpr double kSteadyRatio = 0.01;
constexpr std::size_t kSteadyWindows = 3;
constexpr int kEndToEndCalls = 7;
constexpr double kLongLaunch = 0.01;  // several times the 2 ms that a batch of mode steady takes

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

bool LastWindowsAgree(const std::vector<double>& medians) {
  if (medians.size() < kSteadyWindows) return false;
  const auto from = medians.end() - static_cast<std::ptrdiff_t>(kSteadyWindows);
  const auto [low, high] = std::minmax_element(from, medians.end());
  return *high - *low <= kSteadyRatio * *low;
}

int EngineStage(v1::Verify::Stage stage) {
  switch (stage) {
    case v1::Verify::BEFORE:
      return KB_VERIFY_BEFORE;
    case v1::Verify::AFTER:
      return KB_VERIFY_AFTER;
    case v1::Verify::NEW_SEED:
      return KB_VERIFY_NEW_SEED;
    default:
      return 0;
  }
}

void AddFlags(std::uint32_t flags, v1::BurstDone* done) {
  if (flags & KB_FLAG_HOST_STALL) done->add_flags("HOST_STALL");
  if (flags & KB_FLAG_MIGRATED) done->add_flags("MIGRATED");
  if (flags & KB_FLAG_BLOCKER_TIMEOUT) done->add_flags("BLOCKER_TIMEOUT");
  if (flags & KB_FLAG_STOLEN) done->add_flags("STOLEN");
  if (flags & KB_FLAG_SIDE_STREAM) done->add_flags("SIDE_STREAM");
  if (flags & KB_FLAG_PERSISTING_L2) done->add_flags("PERSISTING_L2");
}

}  // namespace

bool PreparedCase::Start(v1::Prepared* reply, v1::RunnerFailure* failure) {
  create_seconds_ = opened_->create_seconds();
  if (!FirstCalls(failure)) return false;
  if (opened_->candidates().size() > 1) {
    const bool cached = !options_.candidate.empty() && opened_->candidate() == options_.candidate;
    choice_["tuned"] = cached ? "cached" : "default";
  }
  Describe(reply);
  return true;
}

bool PreparedCase::FirstCalls(v1::RunnerFailure* failure) {
  double first = 0;
  for (v1::RunnerFailure why; !opened_->Call(&first, &why); why.Clear()) {
    // What one candidate cannot do another may.
    v1::RunnerFailure next;
    if (!why.fatal() && opened_->CreateNext(&next)) continue;
    *failure = next.fatal() ? next : why;
    return false;
  }
  // The first call loads and places things; the second one is what a launch takes.
  double second = first;
  if (first < 1 && !opened_->Call(&second, failure)) return false;
  if (first_call_seconds_ == 0) first_call_seconds_ = first;
  pace_seconds_ = call_seconds_ = std::min(first, second);
  if (options_.many_launches && (options_.rotates || pace_seconds_ < kLongLaunch)) {
    // How many launches make a sample is found by the first burst; of a long one it is one.
    v1::BurstDone pilot;
    if (!RunBurst(1, 0, &pilot, failure)) return false;
  }
  return true;
}

void PreparedCase::Describe(v1::Prepared* reply) const {
  kb_facts facts{};
  (void)kb_get_facts(opened_->engine(), &facts);  // fails on null pointers only
  reply->set_first_call_seconds(first_call_seconds_);
  reply->set_compile_seconds(create_seconds_);
  reply->set_autotune_seconds(tune_seconds_);
  reply->set_estimate_seconds(call_seconds_);
  reply->set_footprint_bytes(facts.footprint_bytes);
  reply->set_mechanism(facts.mechanism);
  reply->set_clock_quantum_seconds(facts.quantum_seconds);
  reply->set_launches_per_sample(facts.launches_per_sample);
  reply->set_operand_sets(facts.operand_sets);
  auto& configuration = *reply->mutable_configuration();
  for (const auto& [key, value] : opened_->instance().Configuration()) {
    if (key != kDeviceFunctionsKey) configuration[key] = value;
  }
  if (!opened_->candidates().empty()) {
    configuration["candidate"] = opened_->candidate();
    configuration["candidates"] = std::to_string(opened_->candidates().size());
    for (const auto& [key, value] : choice_) configuration[key] = value;
    const auto tuned = choice_.find("tuned");
    if (tuned != choice_.end()) reply->set_tuned(tuned->second);
    reply->set_candidate(opened_->candidate());
    reply->set_candidates(static_cast<int>(opened_->candidates().size()));
  }
  auto& settings = *reply->mutable_settings();
  settings["threads"] = std::to_string(facts.threads);
  settings["flush"] = options_.flush;
  settings["flush_bytes"] = std::to_string(options_.flush == "none" ? 0 : facts.flush_bytes);
  if (facts.operand_sets > 1) {
    settings["rotation_bytes"] = std::to_string(facts.operand_sets * facts.footprint_bytes);
  }
}

bool PreparedCase::Tune(const v1::Tune& request, v1::Prepared* reply, v1::RunnerFailure* failure) {
  if (!(request.max_seconds() > 0)) {
    SetFailure(v1::OUTCOME_INFRA, "BAD_REQUEST", "tuning needs max_seconds above 0", failure);
    return false;
  }
  if (opened_->candidates().size() > 1) {
    const tuning::Tuned tuned =
        tuning::Tune(opened_->engine(), opened_->implementation(), opened_->problem(),
                     opened_->candidates(), options_.threads, request.max_seconds());
    if (tuned.device_lost) {
      SetEngineFailure(opened_->engine(), KB_DEVICE_ERROR, "", failure);
      failure->set_message("while its candidates were timed, " + tuned.note);
      return false;
    }
    tune_seconds_ += tuned.seconds;
    if (tuned.candidate.empty()) {
      choice_["tuning"] = tuned.note;
    } else {
      choice_ = {{"tuned", tuned.decided ? "measured" : "unfinished"},
                 {"candidates_timed", std::to_string(tuned.timed)}};
      if (tuned.candidate != opened_->candidate() &&
          !opened_->CreateFrom(tuned.candidate, failure)) {
        return false;
      }
    }
    // Anew: another launch takes another time, and a graph holds the launches of the old one.
    if (!FirstCalls(failure)) return false;
    if (!tuned.candidate.empty() && opened_->candidate() != tuned.candidate) {
      choice_["tuned"] = "default";  // the fastest did not work here
    }
  }
  Describe(reply);
  return true;
}

bool PreparedCase::Verify(const v1::Verify& request, v1::Verified* reply,
                          v1::RunnerFailure* failure) {
  kb_check check{};
  const kb_status status = kb_verify(opened_->engine(), EngineStage(request.stage()),
                                     request.seed(), OpenInstance::Launch, opened_.get(), &check);
  if (status != KB_OK) {
    opened_->Explain(status, failure);
    return false;
  }
  reply->set_passed(check.passed != 0);
  reply->set_relative_error(check.relative_error);
  reply->set_tolerance(check.tolerance);
  reply->set_method(check.method);
  reply->set_reason(check.reason);
  reply->set_message(check.message);
  return true;
}

bool PreparedCase::RunBurst(int samples, double max_seconds, v1::BurstDone* done,
                            v1::RunnerFailure* failure) {
  const auto room = static_cast<std::size_t>(samples);
  std::vector<double> device(room), submit(room);
  kb_burst_spec spec{samples, max_seconds};
  kb_burst_record record{};
  record.device_seconds = device.data();
  record.submit_seconds = submit.data();
  const kb_status status =
      kb_burst(opened_->engine(), &spec, OpenInstance::Launch, opened_.get(), &record);
  if (status != KB_OK) {
    opened_->Explain(status, failure);
    return false;
  }
  done->mutable_device_seconds()->Add(device.begin(), device.begin() + record.count);
  done->mutable_submit_seconds()->Add(submit.begin(), submit.begin() + record.submit_count);
  done->set_discarded(record.discarded);
  done->set_seconds(record.seconds);
  done->set_duty_ratio(record.duty_ratio);
  done->set_clock_hertz(record.clock_hertz);
  AddFlags(record.flags, done);
  const int taken = record.count + record.discarded;
  if (taken > 0) pace_seconds_ = record.seconds / taken;
  return true;
}

bool PreparedCase::Burst(const v1::Burst& request, v1::BurstDone* reply,
                         v1::RunnerFailure* failure) {
  if (request.samples() < 1 || request.samples() > kMostSamples || request.max_seconds() < 0) {
    SetFailure(v1::OUTCOME_INFRA, "BAD_REQUEST",
               "a burst has 1 to " + std::to_string(kMostSamples) +
                   " samples and at least 0 seconds, not " + std::to_string(request.samples()) +
                   " samples and " + std::to_string(request.max_seconds()) + " seconds",
               failure);
    return false;
  }
  return RunBurst(request.samples(), request.max_seconds(), reply, failure);
}

bool PreparedCase::Warm(const v1::Warm& request, v1::Warmed* reply, v1::RunnerFailure* failure) {
  const double most = request.max_seconds();
  if (!(most > 0) || request.min_seconds() < 0 || request.min_seconds() > most) {
    SetFailure(v1::OUTCOME_INFRA, "BAD_REQUEST",
               "warming needs 0 <= min_seconds <= max_seconds and max_seconds above 0", failure);
    return false;
  }
  const double window = std::clamp(most / 6, kShortestWindowSeconds, kWindowSeconds);
  const double begin = SystemClock().SteadySeconds();
  std::vector<double> medians;
  double elapsed = 0;
  bool steady = false;
  do {
    const double fits = pace_seconds_ > 0 ? window / pace_seconds_ : kMostSamples;
    v1::BurstDone done;
    if (!RunBurst(static_cast<int>(std::clamp<double>(fits, 1, kMostSamples)), window, &done,
                  failure)) {
      return false;
    }
    if (done.device_seconds_size() > 0) {
      medians.push_back(Median({done.device_seconds().begin(), done.device_seconds().end()}));
    }
    elapsed = SystemClock().SteadySeconds() - begin;
    steady = LastWindowsAgree(medians);
  } while (elapsed < most && !(steady && elapsed >= request.min_seconds()));
  std::vector<double> calls;
  if (!MeasureEndToEnd(0.1 * most, &calls, failure)) return false;
  reply->set_seconds(SystemClock().SteadySeconds() - begin);
  reply->set_sample_seconds(medians.empty() ? 0 : medians.back());
  reply->set_pace_seconds(pace_seconds_);
  reply->set_steady(steady);
  reply->mutable_end_to_end_calls()->Add(calls.begin(), calls.end());
  return true;
}

bool PreparedCase::ProfileLaunch(const std::function<void(bool)>& range,
                                 v1::RunnerFailure* failure) {
  double seconds = 0;
  range(true);
  const bool launched = opened_->Call(&seconds, failure);
  range(false);
  return launched;
}

std::vector<std::string> PreparedCase::DeviceFunctions() const {
  std::istringstream names(opened_->instance().Configuration()[kDeviceFunctionsKey]);
  return {std::istream_iterator<std::string>(names), std::istream_iterator<std::string>()};
}

bool PreparedCase::MeasureEndToEnd(double budget_seconds, std::vector<double>* calls,
                                   v1::RunnerFailure* failure) {
  const double begin = SystemClock().SteadySeconds();
  do {
    double call = 0;
    if (!opened_->Call(&call, failure)) return false;
    calls->push_back(call);
  } while (static_cast<int>(calls->size()) < kEndToEndCalls &&
           SystemClock().SteadySeconds() - begin < budget_seconds);
  return true;
}

}  // namespace kbench
