#include "worker/daemon/canary.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "fmt/format.h"
#include "worker/daemon/quick_cell.h"

namespace kbench {
namespace {

constexpr int kBursts = 6;
constexpr int kSamples = 16;
constexpr double kForeignShare = 0.01;

// The cells that are there, by the catalog's baselines.
std::vector<QuickCell> Cells(const RunnerPool& pool, const DeviceFacts& facts) {
  const bool cuda = facts.device.kind() == "cuda";
  std::vector<QuickCell> cells;
  const auto add = [&](const char* kernel, const char* dtype, const char* size) {
    if (auto cell = MakeQuickCell(pool, kernel, dtype, size)) cells.push_back(*std::move(cell));
  };
  add("sum", "fp32", cuda ? "2^24" : "2^20");
  if (cuda && MakeQuickCell(pool, "matmul", "fp16", "2048")) add("matmul", "bf16", "2048");
  return cells;
}

bool OthersCompute(DeviceMonitor& monitor) {
  for (const ForeignProcess& process : monitor.Foreign()) {
    if (process.utilization < 0 || process.utilization >= kForeignShare) return true;
  }
  return false;
}

absl::StatusOr<CanarySession> Fly(RunnerPool& pool, DeviceMonitor& monitor, const QuickCell& cell,
                                  const CancelToken& cancel) {
  auto runner = pool.Take(cell.kernel, cell.implementation, RunnerPool::Which::kFresh);
  if (!runner.ok()) return runner.status();
  monitor.SetOwnProcesses({(*runner)->pid()});
  const auto medians = RunQuickCell(**runner, cell, cancel);
  runner->reset();
  monitor.SetOwnProcesses({});
  const std::string name =
      cell.kernel + " " + cell.dtype + " " + cell.shape + " " + cell.implementation;
  if (!medians.ok()) {
    const RunnerError& error = medians.error();
    if (error.outcome == v1::OUTCOME_WRONG_RESULT) return absl::DataLossError(error.message);
    return absl::InternalError(name + ": " + error.message);
  }
  if (medians->size() < 2) {
    return absl::InternalError(name + ": the host disturbed every sample");
  }
  const double least = *std::min_element(medians->begin(), medians->end());
  if (!(least > 0)) {
    return absl::InternalError(fmt::format("{}: took {} s, which is impossible", name, least));
  }
  return SessionOf(name, *medians);
}

}  // namespace

absl::StatusOr<std::vector<CanarySession>> FlyCanarySession(
    RunnerPool& pool, DeviceMonitor& monitor, const DeviceFacts& facts, std::int64_t flush_bytes,
    const std::string& scratch_dir, const CancelToken& cancel) {
  std::vector<QuickCell> cells = Cells(pool, facts);
  if (cells.empty()) return absl::FailedPreconditionError("no runner offers a canary's kernel");
  if (OthersCompute(monitor)) {
    return absl::FailedPreconditionError("others compute on the device");
  }
  const std::string dir = scratch_dir + "/canary";
  std::error_code ignored;
  std::filesystem::create_directories(dir, ignored);
  std::vector<CanarySession> sessions;
  absl::Status status;
  for (QuickCell& cell : cells) {
    cell.reference_dir = dir;
    cell.flush_bytes = facts.device.kind() == "cuda" ? flush_bytes : 0;
    cell.bursts = kBursts;
    cell.samples = kSamples;
    cell.verify = true;
    auto session = Fly(pool, monitor, cell, cancel);
    status = session.status();
    if (!status.ok()) break;
    sessions.push_back(*std::move(session));
  }
  std::filesystem::remove_all(dir, ignored);
  if (!status.ok()) return status;
  return sessions;
}

}  // namespace kbench
