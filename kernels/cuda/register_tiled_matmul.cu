// cuda/register-tiled matmul, fp32: how far the CUDA cores go without tensor cores.
#include "kernels/cuda/device_instance.h"
#include "kernels/cuda/implementations.h"
#include "kernels/cuda/matmul_extents.h"
#include "kernels/cuda/register_tiled_matmul.cuh"

namespace kbench {
namespace cuda {
namespace {

using CreateChosen = CreateResult (*)(const Problem&, const OperandPointers&, const std::string&);

bool WholeWords(const void* data, std::int64_t pitch) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && pitch % 4 == 0;
}

template <typename T>
auto KernelFor(const std::string& layout) {
  if (layout == "nn") return RegisterTiledKernel<T, false, false>;
  if (layout == "nt") return RegisterTiledKernel<T, false, true>;
  if (layout == "tn") return RegisterTiledKernel<T, true, false>;
  return RegisterTiledKernel<T, true, true>;
}

template <typename T>
CreateResult CreateWith(const Problem& problem, const OperandPointers& operands,
                        const std::string& candidate) {
  const std::int64_t m = problem.shape["m"], n = problem.shape["n"], k = problem.shape["k"];
  const auto operand = [&](int index, std::int64_t lines, bool depth_contiguous) {
    const auto* data = static_cast<const float*>(operands.inputs[index]);
    const std::int64_t pitch = depth_contiguous ? k : lines;
    return LinesByDepth{data, static_cast<int>(lines), static_cast<int>(k), static_cast<int>(pitch),
                        WholeWords(data, pitch)};
  };
  const LinesByDepth a = operand(0, m, problem.shape.layout[0] == 'n');
  const LinesByDepth b = operand(1, n, problem.shape.layout[1] == 't');
  auto* c = static_cast<float*>(operands.output);
  const std::int64_t tiles =
      ((m + T::kBlockM - 1) / T::kBlockM) * ((n + T::kBlockN - 1) / T::kBlockN);
  const Geometry geometry{GridOf(tiles), dim3(T::kThreads), T::kSharedBytes};
  const auto kernel = KernelFor<T>(problem.shape.layout);
  ConfigurationMap configuration;
  if (auto error = LoadKernel(reinterpret_cast<const void*>(kernel), geometry, configuration)) {
    return *std::move(error);
  }
  configuration["candidate"] = candidate;
  DeviceBody body = [=](cudaStream_t stream) {
    return LaunchKernel(geometry, stream, kernel, a, b, c);
  };
  return std::unique_ptr<Instance>(
      std::make_unique<DeviceInstance>(std::move(body), std::move(configuration)));
}

struct Choice {
  const char* name;
  CreateChosen create;
};
constexpr Choice kLarge = {"256x128x16,warp=64x64,stages=3,ahead",
                           CreateWith<RegisterTile<256, 128, 64, 64, 16, 3, 1, 2>>};
constexpr Choice kShallow = {"256x128x8,warp=64x64,stages=4",
                             CreateWith<RegisterTile<256, 128, 64, 64, 8, 4, 1, 1>>};
constexpr Choice kSmall = {"128x128x16,warp=64x64,stages=3,ahead",
                           CreateWith<RegisterTile<128, 128, 64, 64, 16, 3, 2, 2>>};

// The best guess first, by measurements of 4096 on an H200; small tiles where large ones are fewer
// than the multiprocessors.
std::vector<Choice> Choices(const Problem& problem) {
  const std::int64_t large_tiles =
      ((problem.shape["m"] + 255) / 256) * ((problem.shape["n"] + 127) / 128);
  const std::string& layout = problem.shape.layout;
  if (layout == "nt" || large_tiles < CurrentDevice().multiprocessors) {
    return {kSmall, kLarge, kShallow};
  }
  if (layout == "tn") return {kShallow, kLarge, kSmall};
  return {kLarge, kSmall, kShallow};
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
    if (context.candidate.empty() || context.candidate == choice.name) {
      return choice.create(problem, operands, choice.name);
    }
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
