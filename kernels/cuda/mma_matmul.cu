// cuda/mma matmul: chooses the tile and launches the kernel of mma_matmul.cuh. Takes any m, n, k
// and layout; where rows are not multiples of 16 bytes, a slower instance copies them in smaller
// pieces.
#include <algorithm>
#include <tuple>
#include <type_traits>

#include "kernels/cuda/dtypes.h"
#include "kernels/cuda/implementations.h"
#include "kernels/cuda/matmul_tiles.h"
#include "kernels/cuda/mma_matmul.cuh"

namespace kbench {
namespace cuda {
namespace {

// Three stages in 48 KiB: two blocks fit the 100 KiB of compute capability 8.6, 8.9 and 12.0.
struct MainTile : MmaTile<128, 128, 64, 3, 64, 64> {
  static constexpr double kSlowness = 1.07;
};
// The fewest bytes through shared memory for a product, for 8.0 and 9.0, which have room for it.
struct WideTile : MmaTile<128, 256, 128, 3, 64, 64> {
  static constexpr double kSlowness = 1;
};
struct SmallTile : MmaTile<64, 64, 128, 3, 32, 32> {
  static constexpr double kSlowness = 1.5;
};
// Rows that are not multiples of 16 bytes: single words of tf32 need registers for their addresses.
struct NarrowWordsTile : MmaTile<128, 128, 64, 3, 64, 32> {};
template <DType D>
using NarrowTile = std::conditional_t<D == DType::kTf32, NarrowWordsTile, MainTile>;

// What is compiled for a layout. Where A lies along m, the wide tile's addresses do not fit the
// registers of every architecture.
template <bool kMnA>
using Tiles = std::conditional_t<kMnA, std::tuple<MainTile, SmallTile>,
                                 std::tuple<MainTile, WideTile, SmallTile>>;
constexpr int kGroups[] = {8, 16};  // rows of tiles that are walked together

int BytesOf(const Problem& problem) { return static_cast<int>(Info(problem.dtype).storage_bytes); }

template <typename Tile>
std::string Name(int bytes, int group) {
  return std::to_string(Tile::kRows) + "x" + std::to_string(Tile::kColumns) + "x" +
         std::to_string(Tile::kDepthBytes / bytes) + ",stages=" + std::to_string(Tile::kStages) +
         ",rows=" + std::to_string(group);
}

std::vector<std::string> Candidates(const Problem& problem) {
  PricedCandidates priced;
  const int most = CurrentDevice().shared_bytes_optin;
  const auto add = [&](auto tile) {
    using Tile = decltype(tile);
    if (most > 0 && Tile::kSharedBytes > most) return;
    const double cost = TileCost(problem.shape["m"], problem.shape["n"], Tile::kRows,
                                 Tile::kColumns, Tile::kSlowness);
    for (const int group : kGroups) {
      priced.emplace_back(cost + group * 1e-6, Name<Tile>(BytesOf(problem), group));
    }
  };
  if (problem.shape.layout[0] == 't') {
    std::apply([&](auto... tiles) { (add(tiles), ...); }, Tiles<true>());
  } else {
    std::apply([&](auto... tiles) { (add(tiles), ...); }, Tiles<false>());
  }
  return CheapestFirst(std::move(priced));
}

// How many blocks of a kernel run at once.
int BlocksAtOnce(const void* kernel, int threads, int shared_bytes) {
  int resident = 0;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads,
                                                static_cast<std::size_t>(shared_bytes));
  cudaGetLastError();  // LoadKernel meets it again, and reports it
  return std::max(1, resident) * std::max(1, CurrentDevice().multiprocessors);
}

template <DType D, typename Tile, bool kMnA, bool kMnB, bool kAligned>
CreateResult CreateTile(const Problem& problem, const OperandPointers& operands, int group) {
  using Storage = typename Element<D>::Storage;
  MmaProblem x{problem.shape["m"], problem.shape["n"], problem.shape["k"], 0, 0, group};
  x.tile_rows = static_cast<int>(Pieces(x.m, Tile::kRows));
  x.tile_columns = static_cast<int>(Pieces(x.n, Tile::kColumns));
  x.group = std::min(group, x.tile_rows);
  const auto kernel = MmaMatmulKernel<D, typename Tile::Shape, kMnA, kMnB, kAligned>;
  const auto* function = reinterpret_cast<const void*>(kernel);
  std::int64_t blocks = std::int64_t{x.tile_rows} * x.tile_columns;
  if (kMmaManyTiles<D>) {
    blocks =
        std::min<std::int64_t>(blocks, BlocksAtOnce(function, Tile::kThreads, Tile::kSharedBytes));
  }
  const Geometry geometry{GridOf(blocks), dim3(Tile::kThreads), Tile::kSharedBytes};
  ConfigurationMap configuration;
  if (auto refused = LoadKernel(function, geometry, configuration)) return *std::move(refused);
  configuration["tile"] = Name<Tile>(sizeof(Storage), group);
  configuration["copies"] = kAligned ? "16 bytes" : "narrow";
  const auto* a = static_cast<const Storage*>(operands.inputs[0]);
  const auto* b = static_cast<const Storage*>(operands.inputs[1]);
  auto* c = static_cast<Storage*>(operands.output);
  return std::unique_ptr<Instance>(std::make_unique<DeviceInstance>(
      [=](cudaStream_t stream) { return LaunchKernel(geometry, stream, kernel, a, b, c, x); },
      std::move(configuration)));
}

// A thread counts what is left of a matrix in 32 bits.
std::optional<std::string> Unsupported(const Problem& problem) {
  constexpr std::int64_t kMost = 1 << 30;
  for (const char* extent : {"m", "n", "k"}) {
    if (problem.shape[extent] > kMost) {
      return std::string(extent) + "=" + std::to_string(problem.shape[extent]) +
             ": cuda/mma takes at most " + std::to_string(kMost);
    }
  }
  return std::nullopt;
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
    return CreateTile<D, NarrowTile<D>, kMnA, kMnB, false>(problem, operands, kGroups[0]);
  }
  std::optional<CreateResult> result;
  const auto try_tile = [&](auto tile) {
    using Tile = decltype(tile);
    for (const int group : kGroups) {
      if (result || Name<Tile>(BytesOf(problem), group) != candidate) continue;
      static_cast<void>(
          result.emplace(CreateTile<D, Tile, kMnA, kMnB, true>(problem, operands, group)));
    }
  };
  std::apply([&](auto... tiles) { (try_tile(tiles), ...); }, Tiles<kMnA>());
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
  implementation.unsupported = cuda::Unsupported;
  implementation.candidates = cuda::Candidates;
  implementation.create = cuda::Create;
  return implementation;
}

}  // namespace kbench
