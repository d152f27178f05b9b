// cuda/register-tiled matmul, fp32: how far the CUDA cores go without tensor cores.
#include <algorithm>

#include "kernels/cuda/device_instance.h"
#include "kernels/cuda/implementations.h"
#include "kernels/cuda/matmul_extents.h"
#include "kernels/cuda/register_tiled_matmul.cuh"

namespace kbench {
namespace cuda {
namespace {

using CreateChosen = CreateResult (*)(const Problem&, const OperandPointers&, const std::string&);

std::int64_t PitchOf(const Problem& problem, int operand) {
  const char contiguous = problem.shape.layout[operand];
  if (operand == 0) return problem.shape[contiguous == 'n' ? "k" : "m"];
  return problem.shape[contiguous == 't' ? "k" : "n"];
}

LinesByDepth Lines(const Problem& problem, const OperandPointers& operands, int operand) {
  const auto* data = static_cast<const float*>(operands.inputs[operand]);
  const std::int64_t pitch = PitchOf(problem, operand);
  return {data, static_cast<int>(problem.shape[operand == 0 ? "m" : "n"]),
          static_cast<int>(problem.shape["k"]), static_cast<int>(pitch),
          reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && pitch % 4 == 0};
}

template <typename T, bool kGuarded>
auto KernelFor(const std::string& layout) {
  if (layout == "nn") return RegisterTiledKernel<T, false, false, kGuarded>;
  if (layout == "nt") return RegisterTiledKernel<T, false, true, kGuarded>;
  if (layout == "tn") return RegisterTiledKernel<T, true, false, kGuarded>;
  return RegisterTiledKernel<T, true, true, kGuarded>;
}

template <typename T, bool kGuarded>
CreateResult CreateWith(const Problem& problem, const OperandPointers& operands,
                        const std::string& candidate) {
  const LinesByDepth a = Lines(problem, operands, 0), b = Lines(problem, operands, 1);
  auto* c = static_cast<float*>(operands.output);
  const std::int64_t tiles =
      std::int64_t{(a.lines - 1) / T::kBlockM + 1} * ((b.lines - 1) / T::kBlockN + 1);
  const Geometry geometry{GridOf(tiles), dim3(T::kThreads), T::kSharedBytes};
  const auto kernel = KernelFor<T, kGuarded>(problem.shape.layout);
  ConfigurationMap configuration;
  if (auto error = LoadKernel(reinterpret_cast<const void*>(kernel), geometry, configuration)) {
    return *std::move(error);
  }
  configuration["candidate"] = candidate;
  DeviceBody body = [=](cudaStream_t stream) {
    return LaunchKernel(geometry, stream, kernel, a, b, c, 1.0f);
  };
  return std::unique_ptr<Instance>(
      std::make_unique<DeviceInstance>(std::move(body), std::move(configuration)));
}

struct Choice {
  const char* name;
  int rows, columns;  // A and B must have at least as many; 0: none
  CreateChosen create;
};
constexpr Choice kShallow = {"256x128x8,warp=64x64", 256, 128,
                             CreateWith<RegisterTile<256, 128, 8, 1>, false>};
constexpr Choice kDeep = {"256x128x16,warp=64x64", 256, 128,
                          CreateWith<RegisterTile<256, 128, 16, 1>, false>};
constexpr Choice kSmall = {"128x128x16,warp=64x64", 128, 128,
                           CreateWith<RegisterTile<128, 128, 16, 2>, false>};
constexpr Choice kGuarded = {"128x128x8,warp=64x64,guarded", 0, 0,
                             CreateWith<RegisterTile<128, 128, 8, 2>, true>};

// The best guess first, by measurements of 4096 on an H200; small tiles where large ones are fewer
// than the multiprocessors. What is guarded takes anything, for all that the others do not.
std::vector<Choice> Choices(const Problem& problem) {
  const std::int64_t m = problem.shape["m"], n = problem.shape["n"];
  std::vector<Choice> choices = {kShallow, kDeep, kSmall};
  if (problem.shape.layout[1] == 't') choices = {kDeep, kShallow, kSmall};
  const std::int64_t large_tiles = ((m + 255) / 256) * ((n + 127) / 128);
  if (large_tiles < CurrentDevice().multiprocessors) {
    std::rotate(choices.begin(), choices.end() - 1, choices.end());
  }
  const bool whole = PitchOf(problem, 0) % 4 == 0 && PitchOf(problem, 1) % 4 == 0;
  std::erase_if(choices, [&](const Choice& choice) {
    return !whole || m < choice.rows || n < choice.columns;
  });
  if (choices.empty()) choices.push_back(kGuarded);
  return choices;
}

std::vector<std::string> Candidates(const Problem& problem) {
  std::vector<std::string> names;
  for (const Choice& choice : Choices(problem)) names.emplace_back(choice.name);
  return names;
}

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& context) {
  const std::vector<Choice> choices = Choices(problem);
  for (const Choice& choice : choices) {
    if (!context.candidate.empty() && context.candidate != choice.name) continue;
    const bool whole =
        Lines(problem, operands, 0).whole_words && Lines(problem, operands, 1).whole_words;
    const Choice& fitting = whole ? choice : kGuarded;
    return fitting.create(problem, operands, fitting.name);
  }
  return ImplementationError{
      ImplementationError::Kind::kUnsupported,
      "no candidate " + context.candidate + "; the first is " + choices.front().name, 0};
}

std::optional<std::string> DTypeMissing(DType /*dtype*/) { return NeedsCapability(80); }

}  // namespace
}  // namespace cuda

Implementation CudaRegisterTiledMatmul() {
  return {.name = "cuda/register-tiled",
          .family = "cuda",
          .kernel = "matmul",
          .summary = "8x16 elements a thread in registers, cp.async; no tensor cores",
          .dtypes = {DType::kFp32},
          .dtype_missing = cuda::DTypeMissing,
          .default_choice = true,
          .rung = 2,
          .unsupported = cuda::TooLongFor32Bits,
          .candidates = cuda::Candidates,
          .create = cuda::Create};
}

}  // namespace kbench
