// cuda/mma matmul: chooses the tile and launches the kernel of mma_matmul.cuh. Takes any m, n, k
// and layout; where rows are not multiples of 16 bytes, a slower instance copies them in smaller
// pieces.
#include <algorithm>
#include <tuple>

#include "kernels/cuda/dtypes.h"
#include "kernels/cuda/implementations.h"
#include "kernels/cuda/mma_matmul.cuh"

namespace kbench {
namespace cuda {
namespace {

// Three stages of 48 KiB: two blocks fit the 100 KiB of compute capability 8.6, 8.9 and 12.0.
using MainTile = MmaTile<128, 128, 64, 3, 64, 64>;
using Tiles =
    std::tuple<MainTile, MmaTile<128, 128, 64, 4, 64, 64>, MmaTile<128, 128, 128, 3, 64, 64>,
               MmaTile<128, 256, 64, 3, 64, 64>, MmaTile<128, 256, 128, 3, 64, 64>,
               MmaTile<256, 128, 64, 4, 64, 64>, MmaTile<64, 64, 128, 3, 32, 32>>;
constexpr int kGroups[] = {8, 16, 4};

template <typename Tile>
std::string TileName(int bytes) {
  return std::to_string(Tile::kRows) + "x" + std::to_string(Tile::kColumns) + "x" +
         std::to_string(Tile::kDepthBytes / bytes) + ",stages=" + std::to_string(Tile::kStages);
}

int BytesOf(const Problem& problem) { return static_cast<int>(Info(problem.dtype).storage_bytes); }

std::string Name(const std::string& tile, int group) {
  return tile + ",rows=" + std::to_string(group);
}

std::vector<std::string> Candidates(const Problem& problem) {
  std::vector<std::string> names;
  const int most = CurrentDevice().shared_bytes_optin;
  for (const int group : kGroups) {
    const auto add = [&](auto tile) {
      using Tile = decltype(tile);
      if (most > 0 && Tile::kSharedBytes > most) return;
      names.push_back(Name(TileName<Tile>(BytesOf(problem)), group));
    };
    std::apply([&](auto... tiles) { (add(tiles), ...); }, Tiles());
  }
  return names;
}

template <DType D, typename Tile, bool kMnA, bool kMnB, bool kAligned>
CreateResult CreateTile(const Problem& problem, const OperandPointers& operands, int group) {
  using Storage = typename Element<D>::Storage;
  const auto pieces = [](std::int64_t extent, std::int64_t piece) {
    return static_cast<int>((extent + piece - 1) / piece);
  };
  MmaProblem x{problem.shape["m"], problem.shape["n"], problem.shape["k"], 0, 0, group};
  x.tile_rows = pieces(x.m, Tile::kRows);
  x.tile_columns = pieces(x.n, Tile::kColumns);
  x.group = std::min(group, x.tile_rows);
  const Geometry geometry{GridOf(std::int64_t{x.tile_rows} * x.tile_columns), dim3(Tile::kThreads),
                          Tile::kSharedBytes};
  const auto kernel = MmaMatmulKernel<D, Tile, kMnA, kMnB, kAligned>;
  ConfigurationMap configuration;
  if (auto refused = LoadKernel(reinterpret_cast<const void*>(kernel), geometry, configuration)) {
    return *std::move(refused);
  }
  configuration["tile"] = Name(TileName<Tile>(sizeof(Storage)), group);
  configuration["copies"] = kAligned ? "16 bytes" : "narrow";
  const auto* a = static_cast<const Storage*>(operands.inputs[0]);
  const auto* b = static_cast<const Storage*>(operands.inputs[1]);
  auto* c = static_cast<Storage*>(operands.output);
  return std::unique_ptr<Instance>(std::make_unique<DeviceInstance>(
      [=](cudaStream_t stream) { return LaunchKernel(geometry, stream, kernel, a, b, c, x); },
      std::move(configuration)));
}

bool Aligned(const Problem& problem) {
  const std::string& layout = problem.shape.layout;
  const std::int64_t row_a = problem.shape[layout[0] == 'n' ? "k" : "m"];
  const std::int64_t row_b = problem.shape[layout[1] == 'n' ? "n" : "k"];
  return row_a * BytesOf(problem) % 16 == 0 && row_b * BytesOf(problem) % 16 == 0;
}

template <DType D, bool kMnA, bool kMnB>
CreateResult CreateLayout(const Problem& problem, const OperandPointers& operands,
                          const std::string& candidate) {
  if (!Aligned(problem)) {
    return CreateTile<D, MainTile, kMnA, kMnB, false>(problem, operands, kGroups[0]);
  }
  std::optional<CreateResult> result;
  const auto try_tile = [&](auto tile) {
    using Tile = decltype(tile);
    for (const int group : kGroups) {
      if (!result && Name(TileName<Tile>(BytesOf(problem)), group) == candidate) {
        static_cast<void>(
            result.emplace(CreateTile<D, Tile, kMnA, kMnB, true>(problem, operands, group)));
      }
    }
  };
  std::apply([&](auto... tiles) { (try_tile(tiles), ...); }, Tiles());
  if (result) return *std::move(result);
  return ImplementationError{
      ImplementationError::Kind::kUnsupported,
      "no candidate " + candidate + "; the first is " + Candidates(problem).front(), 0};
}

using Compiled = DTypes<DType::kTf32, DType::kFp16, DType::kBf16>;

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& context) {
  const std::string candidate =
      context.candidate.empty() ? Candidates(problem).front() : context.candidate;
  const std::string& layout = problem.shape.layout;
  return Compiled::Create(problem.dtype, [&](auto dtype) {
    constexpr DType kD = decltype(dtype)::value;
    if (layout == "nn") return CreateLayout<kD, false, true>(problem, operands, candidate);
    if (layout == "nt") return CreateLayout<kD, false, false>(problem, operands, candidate);
    if (layout == "tn") return CreateLayout<kD, true, true>(problem, operands, candidate);
    return CreateLayout<kD, true, false>(problem, operands, candidate);
  });
}

}  // namespace
}  // namespace cuda

Implementation CudaMmaMatmul() {
  Implementation implementation;
  implementation.name = "cuda/mma";
  implementation.family = "cuda";
  implementation.kernel = "matmul";
  implementation.summary =
      "cp.async, swizzled shared memory, ldmatrix and mma.sync with fragments read ahead";
  implementation.dtypes = cuda::Compiled::List();
  implementation.dtype_missing = [](DType) { return cuda::NeedsCapability(80); };
  implementation.default_choice = true;
  implementation.rung = 4;
  implementation.candidates = cuda::Candidates;
  implementation.create = cuda::Create;
  return implementation;
}

}  // namespace kbench
