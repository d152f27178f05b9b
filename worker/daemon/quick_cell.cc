#include "worker/daemon/quick_cell.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "kernels/catalog/catalog.h"
#include "stats/summary.h"

namespace kbench {
namespace {

bool Offers(const RunnerPool& pool, const std::string& kernel, const std::string& name,
            const std::string& dtype) {
  const auto& all = pool.implementations();
  return std::any_of(all.begin(), all.end(), [&](const v1::ImplementationInfo& info) {
    const auto& dtypes = info.dtypes();
    return info.kernel() == kernel && info.name() == name &&
           std::find(dtypes.begin(), dtypes.end(), dtype) != dtypes.end();
  });
}

v1::RunnerRequest PrepareRequest(const QuickCell& cell) {
  v1::RunnerRequest request;
  v1::Prepare& prepare = *request.mutable_prepare();
  prepare.mutable_case_()->set_kernel(cell.kernel);
  prepare.mutable_case_()->set_dtype(cell.dtype);
  prepare.mutable_case_()->set_shape(cell.shape);
  prepare.mutable_case_()->set_mode("cold");
  prepare.set_implementation(cell.implementation);
  prepare.set_seed(1);
  prepare.set_flush("clean");
  prepare.set_flush_bytes(cell.flush_bytes);
  prepare.set_reference_dir(cell.reference_dir);
  prepare.set_launch_limit_seconds(cell.launch_limit_seconds);
  return request;
}

// Nothing when the output is right.
std::optional<RunnerError> Verify(RunnerProcess& runner, const QuickCell& cell,
                                  v1::Verify::Stage stage, const CancelToken& cancel) {
  if (!cell.verify) return std::nullopt;
  v1::RunnerRequest request;
  request.mutable_verify()->set_stage(stage);
  auto reply = runner.Call(std::move(request), cell.watchdog_seconds, "verify", &cancel);
  if (!reply.ok()) return reply.error();
  const v1::Verified& verified = reply->verified();
  if (verified.passed()) return std::nullopt;
  RunnerError error;
  error.outcome = v1::OUTCOME_WRONG_RESULT;
  error.reason = verified.reason();
  error.message =
      fmt::format("{} in {} with {} computed wrongly: relative error {:.2e}, {:.2e} may be ({})",
                  cell.kernel, cell.dtype, cell.implementation, verified.relative_error(),
                  verified.tolerance(), verified.reason());
  return error;
}

}  // namespace

std::optional<QuickCell> MakeQuickCell(const RunnerPool& pool, const std::string& kernel,
                                       const std::string& dtype, const std::string& size) {
  const auto problem = MakeProblem(kernel, dtype, size, "cold");
  if (!problem.ok()) return std::nullopt;
  const KernelEntry& entry = *FindKernel(kernel);
  for (const std::string& name : entry.baselines) {
    if (!Offers(pool, kernel, name, dtype)) continue;
    QuickCell cell;
    cell.kernel = kernel;
    cell.dtype = dtype;
    cell.shape = problem->shape.Canonical();
    cell.implementation = name;
    cell.flops = entry.flops(*problem);
    return cell;
  }
  return std::nullopt;
}

Expected<std::vector<double>, RunnerError> RunQuickCell(RunnerProcess& runner,
                                                        const QuickCell& cell,
                                                        const CancelToken& cancel) {
  const double watchdog = cell.watchdog_seconds;
  auto prepared = runner.Call(PrepareRequest(cell), watchdog, "prepare", &cancel);
  if (!prepared.ok()) return prepared.error();
  if (auto wrong = Verify(runner, cell, v1::Verify::BEFORE, cancel)) return *std::move(wrong);
  v1::RunnerRequest warm;
  warm.mutable_warm()->set_min_seconds(cell.warm_seconds / 2);
  warm.mutable_warm()->set_max_seconds(cell.warm_seconds);
  auto warmed = runner.Call(std::move(warm), watchdog, "warm", &cancel);
  if (!warmed.ok()) return warmed.error();
  std::vector<double> times;
  for (int i = 0; i < cell.bursts; ++i) {
    v1::RunnerRequest request;
    request.mutable_burst()->set_samples(cell.samples);
    request.mutable_burst()->set_max_seconds(cell.burst_seconds);
    auto reply = runner.Call(std::move(request), watchdog, "measure", &cancel);
    if (!reply.ok()) return reply.error();
    const auto& seconds = reply->burst().device_seconds();
    if (seconds.empty()) continue;  // the host disturbed them all
    times.push_back(cell.shortest
                        ? *std::min_element(seconds.begin(), seconds.end())
                        : stats::Median(std::vector<double>(seconds.begin(), seconds.end())));
  }
  if (auto wrong = Verify(runner, cell, v1::Verify::AFTER, cancel)) return *std::move(wrong);
  v1::RunnerRequest finish;
  finish.mutable_finish();
  auto finished = runner.Call(std::move(finish), watchdog, "finish", &cancel);
  if (!finished.ok()) return finished.error();
  return times;
}

}  // namespace kbench
