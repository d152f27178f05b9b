// Drives one case: prepares all cells in their runners, checks them, measures them in interleaved
// rounds, checks them again, and says what came out. Every implementation of the assignment gives
// exactly one result, whatever happens; everything ends within the case's budget. One object serves
// one attempt, on the case thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kbench/v1/worker_service.pb.h"
#include "kernels/catalog/problem.h"
#include "proto/support/clock.h"
#include "worker/daemon/cancel.h"
#include "worker/daemon/cell.h"
#include "worker/daemon/code_memory.h"
#include "worker/daemon/phase_times.h"
#include "worker/daemon/runner_pool.h"
#include "worker/daemon/tuning_store.h"
#include "worker/device/device.h"
#include "worker/experiment/passes.h"
#include "worker/experiment/round_plan.h"
#include "worker/experiment/summary.h"

namespace kbench {

// What the driver works with; all of it outlives the driver.
struct DriverContext {
  RunnerPool* pool = nullptr;
  DeviceMonitor* monitor = nullptr;
  const DeviceFacts* facts = nullptr;
  std::string device_name;
  std::string worker_name;
  std::string hostname;
  v1::Calibration calibration;  // of the device; empty when it has none
  std::string scratch_dir;      // a folder for the references of a case is made in it, and removed
  TuningStore* tuning = nullptr;  // may be null: what is tuned is not kept
  CodeMemory* code = nullptr;     // may be null: every case sends its code
  // Programs of the CUDA toolkit; empty: not found.
  std::string ncu;
  std::string disassembler;
  Clock* clock = &SystemClock();
  // How long a case waits for a device that others use, and how long one look at them takes.
  double busy_wait_seconds = 600;
  double busy_window_seconds = 0.5;
};

struct AttemptOutcome {
  v1::AttemptResult result;
  // Not OK: the device did not answer after a bad outcome.
  absl::Status device = absl::OkStatus();
};

class CaseDriver {
 public:
  using ProgressFn = std::function<void(const v1::Progress&)>;

  CaseDriver(DriverContext context, const v1::Assign& assign, const CancelToken* cancel,
             ProgressFn progress);
  // Keeps the sound runners in the pool when more cases of the job follow, ends the others. Done
  // here so that the result is on its way first.
  ~CaseDriver();

  AttemptOutcome Run();

 private:
  // The phase of the attempt while it lives.
  class PhaseScope {
   public:
    PhaseScope(CaseDriver* driver, const char* phase);
    ~PhaseScope();
    PhaseScope(const PhaseScope&) = delete;
    PhaseScope& operator=(const PhaseScope&) = delete;

   private:
    CaseDriver* driver_;
    std::string before_;
  };

  // case_driver.cc
  absl::Status Resolve();
  bool RunGroup();
  void ConcludeUnfinished();
  void Say(const std::string& phase, const std::string& implementation);
  double Elapsed() const;
  // Time left for preparing and measuring: without the checks still to come and the report.
  double Usable() const;
  double FinishSeconds() const;
  // Time left for what comes after the rounds.
  double LeftAfterRounds() const;
  bool Stopped() const { return cancel_->cancelled() || !device_.ok(); }
  void End(Cell& cell, const RunnerError& error);
  void End(Cell& cell, v1::Outcome outcome, const std::string& reason, const std::string& message);
  void CheckDevice(const Cell& cell);
  void ReleaseRunner(Cell& cell);
  std::vector<Cell*> Resident();
  void UpdateOwnProcesses();

  // case_wait.cc
  bool WaitUntilFree();
  // False when it was cut short by a cancellation.
  bool Pause(double seconds);

  // case_prepare.cc
  void PrepareGroup();
  void PrepareTogether(const std::vector<Cell*>& order);
  v1::RunnerRequest PrepareRequest(const Cell& cell, double launch_limit) const;
  bool TakePrepared(Cell& cell, Expected<v1::RunnerReply, RunnerError> reply, bool last_try);
  bool TakeLower(Cell& cell, const std::string& why);
  bool Known(Cell& cell);
  bool PrepareCell(Cell& cell, int left);
  void DropWhatCannotFit();
  void VerifyBefore();
  void ElectBaseline();
  void WarmUp(Cell& cell, double factor);

  // case_tune.cc
  void TuneResident();
  void ForgetCandidate(const Cell& cell);
  std::string TuningCell(const Cell& cell) const;
  std::string KnownCandidate(const Cell& cell) const;

  // case_measure.cc
  void Measure();
  std::vector<Cell*> ActiveCells();
  double SoftSecondsLeft() const;
  bool RunRound(int round, const std::vector<Cell*>& active);
  std::vector<std::size_t> OrderOf(int round, const std::vector<Cell*>& active) const;
  bool RunVisits(const std::vector<Cell*>& active,
                 const std::vector<experiment::PlannedVisit>& visits);
  static double VisitSeconds(const Cell& cell, int samples);
  int StretchedPasses(double seconds) const;
  void Escalate(const std::vector<Cell*>& active);
  bool Rewarm(Cell& cell);
  bool IsDisturbed(Cell& cell, const v1::BurstDone& burst, double visit_seconds) const;
  bool IsOffClock(Cell& cell, const v1::Telemetry& telemetry) const;
  void Visit(Cell& cell, int samples);
  void TakeBurst(Cell& cell, const v1::BurstDone& burst, int lead, const v1::Telemetry& telemetry,
                 double visit_seconds);
  void CoolDown(Cell& cell);
  void LookAt(Cell& cell);
  void VerifyAfter();
  bool VerifyStage(Cell& cell, v1::Verify::Stage stage, std::uint64_t seed, double seconds);

  // case_code.cc
  void CollectCode();
  void CollectCode(Cell& cell);
  bool AskForCode(Cell& cell, const std::string& directory, v1::CodeCollected* collected);
  void Disassemble();
  absl::StatusOr<std::string> TextOf(const Cell& cell, const v1::CodeFile& cubin) const;
  void AddCode(const Cell& cell, v1::Result* result, v1::AttemptResult* attempt) const;
  void RememberCode(const v1::AttemptResult& attempt) const;
  std::string CodeName(const Cell& cell, std::size_t index) const;

  // case_profile.cc
  void ProfileCells();
  void ProfileCell(Cell& cell, double seconds);

  // case_result.cc
  v1::Result MakeResult(const Cell& cell) const;
  void FillMeasured(const Cell& cell, v1::Result* result) const;
  std::string CodeDigest(const Cell& cell) const;
  v1::Environment MakeEnvironment(const Cell& cell) const;
  std::string Replay(const Cell& cell) const;
  void AddArtifacts(const Cell& cell, v1::Result* result, v1::AttemptResult* attempt) const;

  DriverContext context_;
  v1::Assign assign_;
  const CancelToken* cancel_;
  ProgressFn progress_;
  double start_;
  double deadline_;  // of preparing and measuring
  double end_;       // of everything
  double last_progress_ = -1;
  std::string last_phase_;
  std::string reference_dir_;
  v1::MeasurementPolicy policy_;  // with its defaults filled in
  experiment::Work work_;
  experiment::Effort effort_{};
  bool full_steady_ = false;  // mode steady on a GPU, and not in a hurry
  std::vector<std::unique_ptr<Cell>> cells_;
  int round_ = 0;  // counts through all groups
  int groups_ = 0;
  double measure_start_ = 0;
  // Of the round that runs: a pass over its cells, and how many there are.
  std::vector<int> pass_samples_;  // of each active cell
  double pass_seconds_ = 0;
  int passes_ = 1;
  int escalated_passes_ = 1;  // at least; decided at the last look
  double last_launch_ = 0;    // when the device last had work of ours, as Elapsed()
  double start_celsius_ = 0;  // before the first launch; 0 unknown
  PhaseTimes phases_;
  double burst_seconds_ = 0;
  std::string wait_message_;
  std::string busy_error_;
  absl::Status device_ = absl::OkStatus();
};

}  // namespace kbench
