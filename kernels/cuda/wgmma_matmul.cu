// cuda/wgmma matmul: chooses the tile and the order of tiles, makes the tensor maps, launches the
// kernel of wgmma_matmul.cuh. TMA takes any m, n and k, and fills with zeros what lies outside, but
// the rows of every matrix must be multiples of 16 bytes.
#include <algorithm>
#include <tuple>

#include "kernels/cuda/compiled_for.h"
#include "kernels/cuda/dtypes.h"
#include "kernels/cuda/implementations.h"
#include "kernels/cuda/matmul_tiles.h"
#include "kernels/cuda/tensor_map.h"
#include "kernels/cuda/wgmma_matmul.cuh"

namespace kbench {
namespace cuda {
namespace {

// Two blocks that share B; a block of its own, where the rows of tiles are odd; two blocks a
// multiprocessor; more and smaller tiles for small problems.
struct PairTile : WgmmaTile<128, 256, 4, 2, 2> {
  static constexpr double kSlowness = 1;
};
struct SingleTile : WgmmaTile<128, 256, 4, 2, 1> {
  static constexpr double kSlowness = 1.001;
};
struct SquareTile : WgmmaTile<128, 128, 3, 1, 1> {
  static constexpr double kSlowness = 1.09;
};
struct SmallTile : WgmmaTile<128, 64, 4, 1, 1> {
  static constexpr double kSlowness = 1.3;
};
using Tiles = std::tuple<PairTile, SingleTile, SquareTile, SmallTile>;

struct Extents {
  std::int64_t m, n, k;
};

Extents ExtentsOf(const Problem& problem) {
  return {problem.shape["m"], problem.shape["n"], problem.shape["k"]};
}

// Groups of rows (of clusters) or of columns that are walked together.
struct Raster {
  int group;
  bool turned;
};
constexpr Raster kRasters[] = {{8, false}, {4, false}, {8, true}};

template <typename Tile>
std::string Name(const Raster& raster) {
  std::string name = std::to_string(Tile::kRows) + "x" + std::to_string(Tile::kColumns) +
                     ",stages=" + std::to_string(Tile::kStages);
  if (Tile::kClusterBlocks > 1) name += ",cluster=" + std::to_string(Tile::kClusterBlocks);
  return name + (raster.turned ? ",columns=" : ",rows=") + std::to_string(raster.group);
}

std::vector<std::string> Candidates(const Problem& problem) {
  PricedCandidates priced;
  const Extents x = ExtentsOf(problem);
  const auto add = [&](auto tile) {
    using Tile = decltype(tile);
    const std::int64_t rows = Tile::kRows * Tile::kClusterBlocks;
    double cost =
        TileCost(Pieces(x.m, rows) * rows, x.n, Tile::kRows, Tile::kColumns, Tile::kSlowness);
    for (const Raster& raster : kRasters) {
      priced.emplace_back(cost, Name<Tile>(raster));
      cost *= 1.05;  // after the next tile: the order of tiles matters less
    }
  };
  std::apply([&](auto... tiles) { (add(tiles), ...); }, Tiles());
  return CheapestFirst(std::move(priced));
}

std::optional<std::string> Unsupported(const Problem& problem) {
  const Extents x = ExtentsOf(problem);
  const std::string& layout = problem.shape.layout;
  if (problem.dtype == DType::kTf32 && layout != "nt") {
    return "layout=" + layout +
           ": tf32 needs both operands contiguous along k, that is layout=nt; cuda/mma takes any";
  }
  const std::int64_t bytes = static_cast<std::int64_t>(Info(problem.dtype).storage_bytes);
  const auto check = [&](const char* name, std::int64_t extent) -> std::optional<std::string> {
    if (extent * bytes % 16 == 0) return std::nullopt;
    return std::string(name) + "=" + std::to_string(extent) + ": TMA needs rows of a multiple of " +
           "16 bytes, that is " + name + " a multiple of " + std::to_string(16 / bytes) +
           "; cuda/mma takes any";
  };
  if (const auto why = check("n", x.n)) return why;
  if (layout != "tn") {
    if (const auto why = check("k", x.k)) return why;
  }
  if (layout[0] == 't') {
    if (const auto why = check("m", x.m)) return why;
  }
  constexpr std::int64_t kMost = 0x7fff0000;
  if (std::max({x.m, x.n, x.k}) > kMost) {
    return "TMA counts elements in 32 bits: m, n and k must be at most " + std::to_string(kMost);
  }
  return std::nullopt;
}

template <DType D>
constexpr CUtensorMapDataType kMapType = D == DType::kFp16   ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                         : D == DType::kBf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                                             : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;

// A matrix of rows x columns, copied in boxes 128 bytes wide.
template <DType D>
std::optional<ImplementationError> MapMatrix(const void* base, std::int64_t rows,
                                             std::int64_t columns, int box_rows, CUtensorMap* map) {
  constexpr int kBytes = sizeof(typename Element<D>::Storage);
  TensorLayout layout;
  layout.type = kMapType<D>;
  layout.extents = {static_cast<std::uint64_t>(columns), static_cast<std::uint64_t>(rows)};
  layout.strides_bytes = {static_cast<std::uint64_t>(columns) * kBytes};
  layout.box = {128 / kBytes, static_cast<std::uint32_t>(box_rows)};
  return MakeTensorMap(layout, base, map);
}

template <DType D, typename Tile, bool kMnA, bool kMnB>
CreateResult CreateTile(const Problem& problem, const OperandPointers& operands,
                        const Raster& raster) {
  constexpr int kDepth = 128 / static_cast<int>(sizeof(typename Element<D>::Storage));
  constexpr int kPart = Tile::kColumns / Tile::kClusterBlocks;
  const Extents x = ExtentsOf(problem);
  CUtensorMap a, b, c;
  auto error = kMnA ? MapMatrix<D>(operands.inputs[0], x.k, x.m, 64, &a)
                    : MapMatrix<D>(operands.inputs[0], x.m, x.k, Tile::kRows, &a);
  if (!error) {
    error = kMnB ? MapMatrix<D>(operands.inputs[1], x.k, x.n, 64, &b)
                 : MapMatrix<D>(operands.inputs[1], x.n, x.k, kPart, &b);
  }
  if (!error) error = MapMatrix<D>(operands.output, x.m, x.n, 64, &c);
  if (error) return *std::move(error);

  TileOrder order{static_cast<int>(Pieces(x.m, Tile::kRows * Tile::kClusterBlocks)),
                  static_cast<int>(Pieces(x.n, Tile::kColumns)), raster.group, raster.turned};
  order.group = std::min(order.group, std::max(order.rows, order.columns));
  const int steps = static_cast<int>(Pieces(x.k, kDepth));
  const std::int64_t clusters = std::min<std::int64_t>(
      std::int64_t{order.rows} * order.columns,
      CurrentDevice().multiprocessors * Tile::kBlocks / Tile::kClusterBlocks);
  const Geometry geometry{GridOf(clusters * Tile::kClusterBlocks), dim3(Tile::kThreads),
                          Tile::kSharedBytes, Tile::kClusterBlocks};
  const auto kernel = WgmmaMatmulKernel<D, typename Tile::Shape, kMnA, kMnB>;
  ConfigurationMap configuration;
  if (auto refused = LoadKernel(reinterpret_cast<const void*>(kernel), geometry, configuration)) {
    return *std::move(refused);
  }
  configuration["tile"] = Name<Tile>(raster);
  return std::unique_ptr<Instance>(std::make_unique<DeviceInstance>(
      [=](cudaStream_t stream) {
        return LaunchKernel(geometry, stream, kernel, a, b, c, order, steps);
      },
      std::move(configuration)));
}

template <DType D, bool kMnA, bool kMnB>
CreateResult CreateLayout(const Problem& problem, const OperandPointers& operands,
                          const std::string& candidate) {
  std::optional<CreateResult> result;
  const auto try_tile = [&](auto tile) {
    using Tile = decltype(tile);
    for (const Raster& raster : kRasters) {
      if (!result && Name<Tile>(raster) == candidate) {
        static_cast<void>(
            result.emplace(CreateTile<D, Tile, kMnA, kMnB>(problem, operands, raster)));
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
    if constexpr (kD != DType::kTf32) {
      if (layout == "nn") return CreateLayout<kD, false, true>(problem, operands, candidate);
      if (layout == "tn") return CreateLayout<kD, true, true>(problem, operands, candidate);
      if (layout == "tt") return CreateLayout<kD, true, false>(problem, operands, candidate);
    }
    return CreateLayout<kD, false, false>(problem, operands, candidate);
  });
}

}  // namespace
}  // namespace cuda

Implementation CudaWgmmaMatmul() {
  Implementation implementation;
  implementation.name = "cuda/wgmma";
  implementation.family = "cuda";
  implementation.kernel = "matmul";
  implementation.summary =
      "TMA and asynchronous tensor cores: one warp group loads, two multiply, persistent blocks";
  implementation.dtypes = cuda::Compiled::List();
  implementation.dtype_missing = [](DType) { return cuda::NeedsHopper(); };
  implementation.default_choice = true;
  implementation.rung = 5;
  implementation.unsupported = cuda::Unsupported;
  implementation.candidates = cuda::Candidates;
  implementation.create = cuda::Create;
  return implementation;
}

}  // namespace kbench
