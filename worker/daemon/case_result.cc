// From a cell to its result, its artifacts and the command that replays it.
#include <algorithm>
#include <cmath>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kernels/catalog/catalog.h"
#include "proto/support/fnv.h"
#include "worker/daemon/attach.h"
#include "worker/daemon/case_driver.h"
#include "worker/experiment/compare.h"
#include "worker/experiment/regime.h"
#include "worker/experiment/verdict.h"
#include "worker/stats/comparison.h"

namespace kbench {
namespace {

#ifndef KBENCH_VERSION
#define KBENCH_VERSION "unknown"
#endif

std::string JsonNumbers(const std::vector<double>& values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    // Nine digits: a picosecond in a millisecond.
    fmt::format_to(std::back_inserter(text), "{}{:.9g}", i == 0 ? "" : ",", values[i]);
  }
  return text + "]";
}

std::string JsonStrings(const std::vector<std::string>& values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::string plain;
    for (const char c : values[i]) {
      if (c >= ' ' && c != '"' && c != '\\') plain += c;
    }
    text += (i == 0 ? "\"" : ",\"") + plain + "\"";
  }
  return text + "]";
}

std::string SamplesJson(const Cell& cell) {
  std::string text =
      fmt::format(R"({{"implementation":"{}","unit":"second","rounds":[)", cell.name);
  for (std::size_t i = 0; i < cell.record.rounds.size(); ++i) {
    const experiment::RoundRecord& round = cell.record.rounds[i];
    fmt::format_to(std::back_inserter(text),
                   R"({}{{"round":{},"position":{},"clock_hertz":{:.9g},"discarded":{},)"
                   R"("flags":{},"visits":[{}],"device_seconds":{},"submit_seconds":{}}})",
                   i == 0 ? "\n" : ",\n", round.round, round.position, round.clock_hertz,
                   round.discarded_samples, JsonStrings(round.flags), fmt::join(round.visits, ","),
                   JsonNumbers(round.device_seconds), JsonNumbers(round.submit_seconds));
  }
  return text + "\n]}\n";
}

// `work` with the roofs that the device's calibration measured.
experiment::Work WithRoofs(experiment::Work work, const v1::CaseSpec& spec,
                           const v1::Calibration& calibration) {
  const auto problem = MakeProblem(spec.kernel(), spec.dtype(), spec.shape(), spec.mode());
  if (!problem.ok()) return work;  // cannot be: the case was resolved from it
  double read = 0;
  double written = 0;
  for (const OperandSpec& operand : FindKernel(spec.kernel())->operands(*problem)) {
    (operand.output ? written : read) += static_cast<double>(operand.bytes());
  }
  experiment::AddRoofs(calibration, spec.dtype(), read, written, &work);
  return work;
}

}  // namespace

void CaseDriver::AddArtifacts(const Cell& cell, v1::Result* result,
                              v1::AttemptResult* attempt) const {
  if (!cell.record.rounds.empty()) {
    AddArtifact(FileName("samples-", cell.name, ".json"), "application/json", SamplesJson(cell),
                result, attempt);
  }
  std::string output = cell.output;
  if (cell.runner != nullptr) output += cell.runner->TakeOutput();
  if (!output.empty()) {
    AddArtifact(FileName("log-", cell.name, ".txt"), "text/plain", std::move(output), result,
                attempt);
  }
  AddCode(cell, result, attempt);
  if (!cell.profile_table.empty()) {
    AddArtifact(FileName("profile-", cell.name, ".csv"), "text/csv", cell.profile_table, result,
                attempt);
  }
}

std::string CaseDriver::Replay(const Cell& cell) const {
  const v1::CaseSpec& spec = assign_.case_();
  std::string command = fmt::format("kbench-client submit {} {}", spec.kernel(), spec.dtype());
  if (!spec.shape().empty()) command += " " + spec.shape();
  command += " --impl " + cell.name + " --device " + context_.device_name;
  if (spec.mode() != "cold") command += " --mode " + spec.mode();
  if (policy_.flush() != "clean") command += " --flush " + policy_.flush();
  if (policy_.seed() != 1) command += fmt::format(" --seed {}", policy_.seed());
  if (policy_.target_ratio() == 0.02) command += " --quick";
  if (policy_.target_ratio() == 0.002) command += " --precise";
  return command;
}

// Of a GPU's kernel the functions it launched in the program they come from; else the program.
std::string CaseDriver::CodeDigest(const Cell& cell) const {
  std::string code = cell.code_key;
  const auto* hello = context_.pool->HelloOf(assign_.case_().kernel(), cell.name);
  if (code.empty() && hello != nullptr) code = hello->build_id();
  return code.empty() ? "" : fmt::format("{:012x}", Fnv1a(code) >> 16);
}

v1::Environment CaseDriver::MakeEnvironment(const Cell& cell) const {
  const v1::Device& device = context_.facts->device;
  v1::Environment environment;
  environment.set_device_name(device.model());
  environment.set_device_uuid(device.uuid());
  environment.set_driver(device.driver());
  environment.set_kbench_version(KBENCH_VERSION);
  environment.set_hostname(context_.hostname);
  *environment.mutable_settings() = device.settings();
  for (const auto& [key, value] : cell.prepared.settings()) {
    (*environment.mutable_settings())[key] = value;
  }
  if (const auto* hello = context_.pool->HelloOf(assign_.case_().kernel(), cell.name)) {
    environment.set_engine_version(hello->engine_version());
    *environment.mutable_libraries() = hello->libraries();
  }
  const RunnerSpec* spec = context_.pool->SpecOf(assign_.case_().kernel(), cell.name);
  if (spec != nullptr && spec->python()) {
    (*environment.mutable_settings())["environment"] = spec->environment;
  }
  return environment;
}

v1::Result CaseDriver::MakeResult(const Cell& cell) const {
  v1::Result result;
  result.set_case_index(assign_.id().case_index());
  *result.mutable_case_() = assign_.case_();
  result.set_implementation(cell.name);
  result.set_device(context_.device_name);
  result.set_worker(context_.worker_name);
  result.set_attempt(assign_.id().attempt());
  result.set_is_baseline(cell.baseline);
  *result.mutable_policy() = policy_;
  *result.mutable_environment() = MakeEnvironment(cell);
  result.set_code_digest(CodeDigest(cell));
  *result.mutable_configuration() = cell.prepared.configuration();
  if (!cell.instead_of.empty()) {
    (*result.mutable_configuration())["instead_of"] = cell.instead_of;
  }
  result.set_mechanism(cell.prepared.mechanism());
  result.set_first_call_seconds(cell.prepared.first_call_seconds());
  result.set_compile_seconds(cell.prepared.compile_seconds());
  result.set_autotune_seconds(cell.prepared.autotune_seconds());
  result.set_replay(Replay(cell));
  result.set_launches_per_sample(cell.prepared.launches_per_sample());
  result.set_operand_sets(cell.prepared.operand_sets());
  result.set_event_floor_seconds(context_.calibration.event_floor_seconds());
  const std::string& mode = assign_.case_().mode();
  if (mode == "cold" || mode == "hot") {
    // Measured behind a blocked stream, one launch a sample.
    result.set_null_kernel_seconds(context_.calibration.null_kernel_seconds());
  }
  if (cell.burst_seconds > 0) result.set_duty_ratio(cell.duty_seconds / cell.burst_seconds);
  if (!cell.stages.empty()) {
    v1::Verification& verification = *result.mutable_verification();
    verification.set_verified(cell.verified.passed());
    verification.set_relative_error(cell.verified.relative_error());
    verification.set_tolerance(cell.verified.tolerance());
    verification.set_method(cell.verified.method());
    verification.set_seed(policy_.seed());
    for (const std::string& stage : cell.stages) verification.add_stages(stage);
  }
  if (!cell.code_note.empty()) (*result.mutable_configuration())["code"] = cell.code_note;
  if (cell.state == Cell::State::kMeasured) {
    result.set_outcome(v1::OUTCOME_OK);
    if (policy_.profile()) *result.mutable_profile() = cell.profile;
    FillMeasured(cell, &result);
  } else {
    result.set_outcome(cell.outcome);
    result.set_reason(cell.reason);
    result.set_message(cell.message);
    result.set_estimate_seconds(cell.estimate_seconds);
  }
  return result;
}

void CaseDriver::FillMeasured(const Cell& cell, v1::Result* result) const {
  using namespace experiment;  // NOLINT: six names of one library
  const v1::Calibration& calibration = context_.calibration;
  const v1::TimeDistribution time = DeviceTime(
      cell.record,
      stats::BetweenSessionRatio(calibration.between_session_ratio(), calibration.canaries()));
  *result->mutable_device_time() = time;
  if (const auto submit = SubmitTime(cell.record); submit.samples() > 0) {
    *result->mutable_host_submit_time() = submit;
  }
  if (const auto calls = CallTime(cell.end_to_end_calls); calls.samples() > 0) {
    *result->mutable_end_to_end_time() = calls;
    result->set_end_to_end_seconds(calls.median());
  }
  result->set_device_cycles(DeviceCycles(cell.record, time.median()));
  const experiment::Work work = WithRoofs(work_, assign_.case_(), calibration);
  *result->mutable_throughput() = Rates(work, time.median());
  // Calibrated as one launch between events, which launches of a graph or back to back are not.
  const bool alone = assign_.case_().mode() == "cold" || assign_.case_().mode() == "hot";
  const Regime regime =
      RegimeOf(work, result->throughput(),
               {.device_seconds = time.median(),
                .submit_seconds = result->host_submit_time().median(),
                .null_kernel_seconds = alone ? calibration.null_kernel_seconds() : 0});
  result->set_regime(regime.name);
  result->set_regime_reason(regime.reason);
  *result->mutable_telemetry() = cell.telemetry.Mean();

  VerdictInput input;
  input.stop = cell.stop;
  input.target_ratio = policy_.target_ratio();
  input.quantum_seconds = cell.prepared.clock_quantum_seconds();
  input.cold = assign_.case_().mode() == "cold" && policy_.flush() != "none";
  input.shared_roofs = context_.facts->device.kind() == "cpu";
  input.l2_bytes = context_.facts->device.l2_bytes();
  input.rates = result->throughput();
  input.telemetry = result->telemetry();
  input.reverified = cell.reverified;
  input.grouped = groups_ > 0;
  input.rounds_lost_to_heat = cell.rounds_lost_to_heat > 0;
  Judgement judgement = Judge(cell.record, input);
  result->set_verdict(judgement.verdict);
  for (const std::string& reason : judgement.reasons) result->add_verdict_reasons(reason);
  result->set_message(judgement.explanation);

  for (const auto& other : cells_) {
    if (other->baseline && other.get() != &cell && other->state == Cell::State::kMeasured) {
      Compare(other->name, other->record, cell.record, policy_.margin_ratio(),
              result->mutable_comparison());
    }
  }
  if (result->comparison().baseline().empty()) result->clear_comparison();
}

}  // namespace kbench
