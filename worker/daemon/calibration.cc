#include "worker/daemon/calibration.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "fmt/format.h"
#include "proto/support/clock.h"
#include "worker/daemon/quick_cell.h"

namespace kbench {
namespace {

struct Roof {
  const char* dtype;
  int size;   // of the largest square product; halved where a launch takes too long or does not fit
  int sizes;  // so many of them: at the power limit the largest is not the fastest
};
constexpr Roof kCudaRoofs[] = {
    {"fp64", 4096, 2}, {"fp32", 4096, 2}, {"tf32", 8192, 3},    {"fp16", 8192, 3},
    {"bf16", 8192, 3}, {"int8", 8192, 3}, {"fp8e4m3", 8192, 3},
};
constexpr Roof kCpuRoofs[] = {{"fp32", 1024, 1}};
constexpr int kSmallestRoof = 128;

class Calibrating {
 public:
  Calibrating(const CalibrationSetup& setup, const CancelToken& cancel)
      : setup_(setup),
        cancel_(cancel),
        cuda_(setup.facts->device.kind() == "cuda"),
        reference_dir_(setup.scratch_dir + "/calibration") {
    std::error_code ignored;
    std::filesystem::create_directories(reference_dir_, ignored);
  }
  ~Calibrating() {
    // A spare holds no context of the device; this runner does.
    runner_.reset();
    setup_.monitor->SetOwnProcesses({});
    std::error_code ignored;
    std::filesystem::remove_all(reference_dir_, ignored);
  }

  std::optional<v1::Calibration> Run() {
    const double begin = SystemClock().SteadySeconds();
    if (MeasureStopwatch() && CheckResults()) MeasureRoofs();
    if (cancel_.cancelled()) return std::nullopt;
    result_.set_seconds(SystemClock().SteadySeconds() - begin);
    return std::move(result_);
  }

 private:
  bool Fail(const std::string& step, const std::string& message) {
    result_.set_passed(false);
    result_.set_failed_step(step);
    result_.set_message(message);
    return false;
  }

  // A runner that offers the implementation: the one at hand where it does. Only one lives at a
  // time, for devices in exclusive mode.
  bool Use(const std::string& kernel, const std::string& implementation) {
    const v1::RunnerHelloReply* hello = setup_.pool->HelloOf(kernel, implementation);
    if (runner_ != nullptr && hello == hello_) return true;
    runner_.reset();
    auto runner = setup_.pool->Take(kernel, implementation, RunnerPool::Which::kFresh);
    if (!runner.ok()) return Fail("runner", std::string(runner.status().message()));
    runner_ = *std::move(runner);
    hello_ = hello;
    setup_.monitor->SetOwnProcesses({runner_->pid()});
    return true;
  }

  bool MeasureStopwatch() {
    if (setup_.pool->implementations().empty()) {
      return Fail("runner", "no runner of this worker offers an implementation");
    }
    // The runner that will measure the roofs, where there is one.
    const v1::ImplementationInfo& first = setup_.pool->implementations()[0];
    const auto roof = MakeQuickCell(*setup_.pool, "matmul", "fp32", "128");
    if (!(roof ? Use("matmul", roof->implementation) : Use(first.kernel(), first.name()))) {
      return false;
    }
    v1::RunnerRequest request;
    request.mutable_calibrate();
    auto reply = runner_->Call(std::move(request), setup_.watchdog_seconds, "calibrate", &cancel_);
    if (!reply.ok()) return Fail("runner", reply.error().message);
    result_ = std::move(*reply->mutable_calibrated()->mutable_calibration());
    result_.set_engine_version(hello_->engine_version());
    if (result_.passed()) return true;
    if (result_.failed_step().empty()) result_.set_failed_step("runner");
    if (result_.message().empty()) result_.set_message("the runner gives no reason");
    return false;
  }

  // Before anything is believed of the device: one small product, checked. Nothing to check with
  // is no fault of the device.
  bool CheckResults() {
    auto cell = MakeQuickCell(*setup_.pool, "matmul", "fp32", "256");
    if (!cell) return true;
    cell->reference_dir = reference_dir_;
    cell->flush_bytes = cuda_ ? result_.flush_bytes() : 0;
    cell->verify = true;
    cell->bursts = 1;
    cell->samples = 1;
    cell->warm_seconds = 0.01;
    if (!Use("matmul", cell->implementation)) return false;
    const auto times = RunQuickCell(*runner_, *cell, cancel_);
    if (times.ok() || times.error().outcome != v1::OUTCOME_WRONG_RESULT) return true;
    runner_.reset();  // a case is prepared in it
    return Fail(kWrongResultsStep, times.error().message);
  }

  void MeasureRoofs() {
    if (cuda_) {
      for (const Roof& roof : kCudaRoofs) {
        if (!MeasureRoof(roof)) return;
      }
    } else {
      for (const Roof& roof : kCpuRoofs) {
        if (!MeasureRoof(roof)) return;
      }
    }
  }

  // False when the device is not fit. A dtype that nobody offers has no roof.
  bool MeasureRoof(const Roof& roof) {
    int left = roof.sizes;
    for (int size = roof.size; size >= kSmallestRoof && left > 0; size /= 2) {
      auto cell = MakeQuickCell(*setup_.pool, "matmul", roof.dtype, std::to_string(size));
      if (!cell) return true;
      cell->reference_dir = reference_dir_;
      cell->flush_bytes = cuda_ ? result_.flush_bytes() : 0;
      cell->launch_limit_seconds = cuda_ ? 0.05 : 0.03;
      cell->warm_seconds = 0.03;
      cell->shortest = true;  // a roof is what was reached, not what is usual
      cell->samples = cuda_ ? 8 : 3;
      cell->burst_seconds = cuda_ ? 0.1 : 0.03;
      if (!Use("matmul", cell->implementation)) return false;
      const auto times = RunQuickCell(*runner_, *cell, cancel_);
      if (times.ok()) {
        if (!Take(roof, *cell, *times)) return false;
        --left;
        continue;
      }
      const RunnerError& error = times.error();
      const bool too_large =
          error.outcome == v1::OUTCOME_SKIPPED || error.outcome == v1::OUTCOME_OUT_OF_MEMORY;
      if (error.outcome == v1::OUTCOME_UNSUPPORTED) return true;
      if (!too_large || error.lost) {
        return Fail("roofs", fmt::format("{} in {} with {}: {}", cell->kernel, roof.dtype,
                                         cell->implementation, error.message));
      }
    }
    return true;  // not even the smallest fits: a roof would say nothing
  }

  bool Take(const Roof& roof, const QuickCell& cell, const std::vector<double>& times) {
    if (times.empty()) {
      return Fail("roofs", fmt::format("{} in {} with {}: the host disturbed every sample",
                                       cell.kernel, roof.dtype, cell.implementation));
    }
    const double best = *std::min_element(times.begin(), times.end());
    if (!(best > 0)) {
      return Fail("roofs", fmt::format("{} in {} with {} took {} s, which is impossible",
                                       cell.kernel, roof.dtype, cell.implementation, best));
    }
    double& reached = (*result_.mutable_matmul_flops())[roof.dtype];
    reached = std::max(reached, cell.flops / best);
    return true;
  }

  const CalibrationSetup& setup_;
  const CancelToken& cancel_;
  const bool cuda_;
  const std::string reference_dir_;
  std::unique_ptr<RunnerProcess> runner_;
  const v1::RunnerHelloReply* hello_ = nullptr;
  v1::Calibration result_;
};

}  // namespace

std::optional<v1::Calibration> Calibrate(const CalibrationSetup& setup, const CancelToken& cancel) {
  return Calibrating(setup, cancel).Run();
}

}  // namespace kbench
