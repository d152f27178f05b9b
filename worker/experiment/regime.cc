#include "worker/experiment/regime.h"

#include "fmt/format.h"

namespace kbench::experiment {
namespace {

// FLOP per byte. Every processor of the last decade balances somewhere between these two.
constexpr double kSurelyMemoryBound = 4;
constexpr double kSurelyComputeBound = 64;
// Of a kernel's time. Above it most of what is timed happens without any work at all.
constexpr double kLaunchShare = 0.5;

std::string Micros(double seconds) { return fmt::format("{:.2f} us", 1e6 * seconds); }
std::string Percent(double ratio) { return fmt::format("{:.0f} %", 100 * ratio); }

struct Share {
  double ratio = 0;
  std::string of;  // "the measured read bandwidth"
};

Share MemoryShare(const Work& work, const v1::Throughput& rates) {
  if (rates.roof_bandwidth_ratio() > 0) {
    return {rates.roof_bandwidth_ratio(), "the measured " + work.traffic + " bandwidth"};
  }
  return {rates.peak_bandwidth_ratio(), "the datasheet's bandwidth"};
}

Share ArithmeticShare(const v1::Throughput& rates) {
  if (rates.roof_flops_ratio() > 0) {
    return {rates.roof_flops_ratio(), "the measured arithmetic rate"};
  }
  return {rates.peak_flops_ratio(), "the datasheet's arithmetic rate"};
}

Regime ByIntensity(const Work& work) {
  if (work.bytes <= 0) return {"compute-bound", "it computes and moves no data"};
  const double intensity = work.flops / work.bytes;
  const std::string reason =
      fmt::format("{:.3g} FLOP for each byte; the device's roofs are not known", intensity);
  if (intensity < kSurelyMemoryBound) return {"memory-bound", reason};
  if (intensity > kSurelyComputeBound) return {"compute-bound", reason};
  return {"", reason};
}

}  // namespace

Regime RegimeOf(const Work& work, const v1::Throughput& rates, const RegimeInput& input) {
  const double device = input.device_seconds;
  if (device <= 0) return {};
  if (input.submit_seconds > device) {
    return {"launch-bound", fmt::format("the host takes {} to enqueue a launch that runs for {}",
                                        Micros(input.submit_seconds), Micros(device))};
  }
  if (input.null_kernel_seconds > kLaunchShare * device) {
    return {"launch-bound", fmt::format("an empty kernel takes {} of its {}",
                                        Micros(input.null_kernel_seconds), Micros(device))};
  }
  if (work.flops <= 0 && work.bytes <= 0) {
    return {"launch-bound", "it computes nothing and moves no data"};
  }
  const Share memory = MemoryShare(work, rates);
  const Share arithmetic = ArithmeticShare(rates);
  const bool known =
      (memory.ratio > 0 || work.bytes <= 0) && (arithmetic.ratio > 0 || work.flops <= 0);
  if (!known) return ByIntensity(work);
  const bool compute = arithmetic.ratio > memory.ratio;
  const Share& first = compute ? arithmetic : memory;
  const Share& second = compute ? memory : arithmetic;
  return {compute ? "compute-bound" : "memory-bound",
          fmt::format("{} of {}, {} of {}", Percent(first.ratio), first.of, Percent(second.ratio),
                      second.of)};
}

}  // namespace kbench::experiment
