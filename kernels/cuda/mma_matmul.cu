// cuda/mma matmul: chooses the tile and launches the kernel of mma_matmul.cuh. Takes any m, n, k
// and layout; where the matrices are smaller than a tile, or their rows not multiples of 16 bytes,
// a slower instance looks at each piece, or copies smaller ones.
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
  static constexpr double kSlowness = 1.14;
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
using NarrowTile =
    std::conditional_t<D == DType::kTf32, NarrowWordsTile, MmaTile<128, 128, 64, 3, 64, 64>>;

using WholeTiles = std::tuple<WideTile, MainTile, SmallTile>;
constexpr int kGroup = 8;  // rows of tiles that are walked together; 4 and 16 make no difference

int BytesOf(const Problem& problem) { return static_cast<int>(Info(problem.dtype).storage_bytes); }

// Whether rows of A and B are multiples of 16 bytes.
bool Aligned(const Problem& problem) {
  const std::string& layout = problem.shape.layout;
  const std::int64_t row_a = problem.shape[layout[0] == 'n' ? "k" : "m"];
  const std::int64_t row_b = problem.shape[layout[1] == 'n' ? "n" : "k"];
  return row_a * BytesOf(problem) % 16 == 0 && row_b * BytesOf(problem) % 16 == 0;
}

template <typename Tile>
std::string Name(int bytes) {
  return std::to_string(Tile::kRows) + "x" + std::to_string(Tile::kColumns) + "x" +
         std::to_string(Tile::kDepthBytes / bytes) + ",stages=" + std::to_string(Tile::kStages);
}
const char kGuarded[] = "guarded", kNarrow[] = "narrow";

// Tiles where A and B are at least as large as one; else the one kernel that takes what there is.
std::vector<std::string> Candidates(const Problem& problem) {
  if (!Aligned(problem)) return {kNarrow};
  const std::int64_t m = problem.shape["m"], n = problem.shape["n"];
  PricedCandidates priced;
  const int most = CurrentDevice().shared_bytes_optin;
  const auto add = [&](auto tile) {
    using Tile = decltype(tile);
    if (m < Tile::kRows || n < Tile::kColumns || (most > 0 && Tile::kSharedBytes > most)) return;
    priced.emplace_back(TileCost(m, n, Tile::kRows, Tile::kColumns, Tile::kSlowness),
                        Name<Tile>(BytesOf(problem)));
  };
  std::apply([&](auto... tiles) { (add(tiles), ...); }, WholeTiles());
  if (priced.empty()) return {kGuarded};
  return CheapestFirst(std::move(priced));
}

template <DType D, typename Tile, bool kMnA, bool kMnB, MmaCopies kCopies>
CreateResult CreateTile(const Problem& problem, const OperandPointers& operands) {
  using Storage = typename Element<D>::Storage;
  MmaProblem x{problem.shape["m"], problem.shape["n"], problem.shape["k"], 0, 0, 0};
  x.tile_rows = static_cast<int>(Pieces(x.m, Tile::kRows));
  x.tile_columns = static_cast<int>(Pieces(x.n, Tile::kColumns));
  x.group = std::min(kGroup, x.tile_rows);
  const auto kernel = MmaMatmulKernel<D, typename Tile::Shape, kMnA, kMnB, kCopies>;
  const Geometry geometry{GridOf(std::int64_t{x.tile_rows} * x.tile_columns), dim3(Tile::kThreads),
                          Tile::kSharedBytes};
  ConfigurationMap configuration;
  if (auto refused = LoadKernel(reinterpret_cast<const void*>(kernel), geometry, configuration)) {
    return *std::move(refused);
  }
  configuration["tile"] = Name<Tile>(sizeof(Storage));
  configuration["copies"] = kCopies == MmaCopies::kWhole    ? "16 bytes"
                            : kCopies == MmaCopies::kNarrow ? kNarrow
                                                            : kGuarded;
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

template <DType D, bool kMnA, bool kMnB>
CreateResult CreateLayout(const Problem& problem, const OperandPointers& operands,
                          const std::string& candidate) {
  const std::vector<std::string> candidates = Candidates(problem);
  const std::string& name = candidate.empty() ? candidates.front() : candidate;
  if (std::find(candidates.begin(), candidates.end(), name) == candidates.end()) {
    return ImplementationError{ImplementationError::Kind::kUnsupported,
                               "no candidate " + name + "; the first is " + candidates.front(), 0};
  }
  if (name == kNarrow) {
    return CreateTile<D, NarrowTile<D>, kMnA, kMnB, MmaCopies::kNarrow>(problem, operands);
  }
  std::optional<CreateResult> result;
  const auto try_tile = [&](auto tile) {
    using Tile = decltype(tile);
    if (Name<Tile>(BytesOf(problem)) != name) return;
    static_cast<void>(
        result.emplace(CreateTile<D, Tile, kMnA, kMnB, MmaCopies::kWhole>(problem, operands)));
  };
  std::apply([&](auto... tiles) { (try_tile(tiles), ...); }, WholeTiles());
  if (result) return *std::move(result);
  return CreateTile<D, SmallTile, kMnA, kMnB, MmaCopies::kGuarded>(problem, operands);
}

using Compiled = DTypes<DType::kTf32, DType::kFp16, DType::kBf16>;

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& context) {
  const std::string& candidate = context.candidate;
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
