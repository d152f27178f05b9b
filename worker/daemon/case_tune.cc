// Tuning a case's cells: which of its implementation's candidates each one runs with.
#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "spdlog/spdlog.h"
#include "worker/daemon/case_driver.h"
#include "worker/experiment/budget.h"

namespace kbench {
namespace {

// Enough for some thirty candidates of a large product; less where the case has little time.
constexpr double kTuneSeconds = 1.5;
constexpr double kTuneShare = 0.1;

// What the runner is made of: another build may mean another thing by the same candidate.
std::string MakingOf(const v1::RunnerHelloReply& hello) {
  std::string making = hello.engine_version() + " " + hello.build_id();
  std::vector<std::string> libraries;
  for (const auto& [name, version] : hello.libraries()) libraries.push_back(name + "=" + version);
  std::sort(libraries.begin(), libraries.end());
  for (const std::string& library : libraries) making += " " + library;
  return making;
}

}  // namespace

std::string CaseDriver::TuningCell(const Cell& cell) const {
  const v1::CaseSpec& spec = assign_.case_();
  // Trials are flushed as the samples are.
  return fmt::format("{} {} {} {} flush={} {}", spec.kernel(), spec.dtype(), spec.shape(),
                     spec.mode(), policy_.flush(), cell.name);
}

std::string CaseDriver::KnownCandidate(const Cell& cell) const {
  const auto* hello = context_.pool->HelloOf(assign_.case_().kernel(), cell.name);
  if (context_.tuning == nullptr || hello == nullptr) return "";
  return context_.tuning->Find(TuningCell(cell), MakingOf(*hello));
}

// What was the fastest and does not work may work after another tuning, and is at least not taken
// for granted.
void CaseDriver::ForgetCandidate(const Cell& cell) {
  if (context_.tuning == nullptr) return;
  const absl::Status forgotten = context_.tuning->Forget(TuningCell(cell));
  if (!forgotten.ok()) spdlog::warn("{}", std::string(forgotten.message()));
}

// One after the other, with everything prepared and nothing else running: what is compared within
// an implementation must not be disturbed by another one.
void CaseDriver::TuneResident() {
  for (Cell* cell : Resident()) {
    if (Stopped()) return;
    const v1::Prepared& prepared = cell->prepared;
    if (prepared.candidates() < 2 || prepared.tuned() != "default") continue;
    const double usable = Usable();
    if (usable <= 0) return;  // the first candidate is an answer too
    Say("tune", cell->name);
    v1::RunnerRequest request;
    request.mutable_tune()->set_max_seconds(std::min(kTuneSeconds, kTuneShare * usable));
    auto reply =
        cell->runner->Call(std::move(request), experiment::FairShare(usable, 2), "tune", cancel_);
    last_launch_ = Elapsed();
    if (!reply.ok()) {
      End(*cell, reply.error());
      continue;
    }
    cell->prepared = std::move(*reply->mutable_tuned());
    cell->tune_seconds = prepared.autotune_seconds();
    if (prepared.tuned() != "measured") continue;  // what ran out of time decides nothing for later
    const auto* hello = context_.pool->HelloOf(assign_.case_().kernel(), cell->name);
    if (context_.tuning == nullptr || hello == nullptr) continue;
    const absl::Status kept =
        context_.tuning->Put(TuningCell(*cell), MakingOf(*hello), prepared.candidate());
    if (!kept.ok()) spdlog::warn("what was tuned is not kept: {}", std::string(kept.message()));
  }
}

}  // namespace kbench
