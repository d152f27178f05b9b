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

// What is known of a tile before anything is measured (on an H200): how much slower it makes an
// element of C than the best one, and how much depth its end costs, that is, what the products of
// the next tile do not cover.
//
// Two blocks that share B; a block of its own, where the rows of tiles are odd; tiles made in turn,
// whose ends cost nothing; two blocks a multiprocessor; more and smaller tiles for small problems.
struct PairTile : CooperativeTile<128, 256, 4, 2, 2> {
  static constexpr double kSlowness = 1;
  static constexpr int kEndDepth = 45;
};
struct SingleTile : CooperativeTile<128, 256, 4, 2, 1> {
  static constexpr double kSlowness = 1.02;
  static constexpr int kEndDepth = 45;
};
struct Pingpong192 : PingpongTile<192, 5, 1, 2> {
  static constexpr double kSlowness = 1.01;
  static constexpr int kEndDepth = 0;
};
struct Pingpong160 : PingpongTile<160, 5, 2, 2> {
  static constexpr double kSlowness = 1.04;
  static constexpr int kEndDepth = 0;
};
struct Pingpong128 : PingpongTile<128, 6, 1, 2> {
  static constexpr double kSlowness = 1.06;
  static constexpr int kEndDepth = 0;
};
struct SquareTile : CooperativeTile<128, 128, 3, 1, 1> {
  static constexpr double kSlowness = 1.09;
  static constexpr int kEndDepth = 0;
};
struct SmallTile : CooperativeTile<128, 64, 4, 1, 1> {
  static constexpr double kSlowness = 1.3;
  static constexpr int kEndDepth = 0;
};
using Tiles =
    std::tuple<PairTile, SingleTile, Pingpong192, Pingpong160, Pingpong128, SquareTile, SmallTile>;

struct Extents {
  std::int64_t m, n, k;
};

Extents ExtentsOf(const Problem& problem) {
  return {problem.shape["m"], problem.shape["n"], problem.shape["k"]};
}

// How the tiles are dealt out: groups of rows (of clusters) or of columns that are walked together,
// and whether clusters may share the last ones.
struct Plan {
  int group;
  bool turned;
  bool split;
};
constexpr Plan kPlans[] = {
    {8, false, true}, {8, false, false}, {8, true, false}, {16, false, false}};

template <typename Tile>
std::string Name(const Plan& plan) {
  std::string name = std::to_string(Tile::kRows) + "x" + std::to_string(Tile::kColumns) +
                     ",stages=" + std::to_string(Tile::kStages);
  if (Tile::kPingpong) name += ",pingpong";
  if (Tile::kClusterBlocks > 1) name += ",cluster=" + std::to_string(Tile::kClusterBlocks);
  name += (plan.turned ? ",columns=" : ",rows=") + std::to_string(plan.group);
  return name + (plan.split ? ",split" : "");
}

// Whether the steps of all clusters can be counted in 32 bits where the last tiles are split.
bool CanSplit(const Problem& problem, std::int64_t clusters) {
  constexpr std::int64_t kMost = 0x7fffffff;
  return problem.shape["k"] / 32 < kMost / (2 * clusters * clusters);
}

// How often a tile fits a problem, counted in clusters, and how many clusters run at once.
template <typename Tile>
struct Counts {
  std::int64_t rows, columns, tiles, clusters;

  explicit Counts(const Extents& x)
      : rows(Pieces(x.m, Tile::kRows * Tile::kClusterRows)),
        columns(Pieces(x.n, Tile::kColumns * Tile::kClusterColumns)),
        tiles(rows * columns),
        clusters(std::min(tiles, Tile::kBlocks * Slots())) {}

  // Clusters that have multiprocessors of their own.
  static std::int64_t Slots() {
    constexpr int kUnknown = 132;  // an H200's, where there is no device
    const int have = CurrentDevice().multiprocessors;
    return (have > 0 ? have : kUnknown) / Tile::kClusterBlocks;
  }

  // Whether some clusters would make a tile more than others.
  bool uneven() const { return tiles % clusters != 0; }
};

// What a problem is expected to cost, in no unit.
template <typename Tile>
double Cost(const Problem& problem, const Counts<Tile>& counts, bool split) {
  // Sums handed over through memory, and operands that are not read in step any more.
  constexpr double kSplitDepth = 1000;
  const auto k = static_cast<double>(problem.shape["k"]);
  // fp32 results are not stored under the next tile's products.
  const bool covered = problem.dtype != DType::kTf32;
  const double a_tile = k + Tile::kEndDepth * (covered ? 1 : 6);
  const double most = split ? static_cast<double>(counts.tiles) / counts.clusters
                            : static_cast<double>(Pieces(counts.tiles, counts.Slots()));
  const double depth = most * a_tile + (split ? kSplitDepth : 0);
  // Half of the warp groups have nothing to do.
  const double alone = Tile::kPingpong && counts.tiles <= counts.clusters ? 1.2 : 1;
  return depth * Tile::kRows * Tile::kColumns * Tile::kSlowness * alone;
}

// Whether clusters may share a problem's last tiles, and gain by it.
template <typename Tile>
bool Splits(const Problem& problem, const Counts<Tile>& counts) {
  return Tile::kSplits && counts.uneven() && CanSplit(problem, counts.clusters) &&
         Cost<Tile>(problem, counts, true) < Cost<Tile>(problem, counts, false);
}

// Whether a tile is worth a try. What could only win by chance is not: a short window does not meet
// the power limit, and more traffic from L2 costs clock there.
template <typename Tile>
bool Offered(const Problem& problem) {
  const Extents x = ExtentsOf(problem);
  if (Tile::kPingpong) {
    if (Tile::kRows % 64 != 0 && problem.shape.layout[0] == 't') return false;  // no whole panels
    const Counts<PairTile> pairs(x);
    return Cost<Tile>(problem, Counts<Tile>(x), false) <
           Cost<PairTile>(problem, pairs, Splits(problem, pairs));
  }
  const bool alone = Tile::kBlocks == 1 && Tile::kClusterBlocks == 1;
  return !alone || Pieces(x.m, Tile::kRows) % 2 == 1;
}

template <typename Tile>
bool Offered(const Problem& problem, const Plan& plan) {
  if (plan.split) return Splits(problem, Counts<Tile>(ExtentsOf(problem)));
  if (Tile::kPingpong) return plan.group == 16;
  return plan.group == 8 && (!plan.turned || Tile::kClusterBlocks > 1);
}

std::vector<std::string> Candidates(const Problem& problem) {
  PricedCandidates priced;
  const auto add = [&](auto tile) {
    using Tile = decltype(tile);
    if (!Offered<Tile>(problem)) return;
    double order = 1;  // matters less than the tile
    for (const Plan& plan : kPlans) {
      if (!Offered<Tile>(problem, plan)) continue;
      const Counts<Tile> counts(ExtentsOf(problem));
      priced.emplace_back(order * Cost<Tile>(problem, counts, plan.split), Name<Tile>(plan));
      order *= 1.001;
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

// Memory for the sums of tiles that two clusters share, and its flags.
template <typename Tile>
std::optional<ImplementationError> ReserveParts(std::int64_t clusters, DeviceBuffer& memory,
                                                TileWork& work) {
  const std::int64_t slots = clusters * Tile::kClusterBlocks * Tile::kConsumers;
  const std::int64_t slot_bytes = Tile::kRows * Tile::kColumns / Tile::kConsumers * 4;
  const std::int64_t flag_bytes = slots * static_cast<std::int64_t>(sizeof(unsigned));
  if (auto failed = memory.Allocate("the sums of split tiles", slots * slot_bytes + flag_bytes)) {
    return failed;
  }
  work.parts = memory.as<float4>();
  work.given = reinterpret_cast<unsigned*>(memory.as<char>() + slots * slot_bytes);
  cudaError_t error = cudaMemset(work.given, 0, flag_bytes);
  // The stream of the launches need not wait for the default one.
  if (error == cudaSuccess) error = cudaStreamSynchronize(nullptr);
  if (error != cudaSuccess) return DeviceError("clearing the flags of split tiles", error);
  return std::nullopt;
}

template <DType D, typename Tile, bool kMnA, bool kMnB>
CreateResult CreateTile(const Problem& problem, const OperandPointers& operands, const Plan& plan) {
  constexpr int kDepth = 128 / static_cast<int>(sizeof(typename Element<D>::Storage));
  const Extents x = ExtentsOf(problem);
  CUtensorMap a, b, c;
  auto error =
      kMnA ? MapMatrix<D>(operands.inputs[0], x.k, x.m, 64, &a)
           : MapMatrix<D>(operands.inputs[0], x.m, x.k, Tile::kRows / Tile::kClusterColumns, &a);
  if (!error) {
    error =
        kMnB ? MapMatrix<D>(operands.inputs[1], x.k, x.n, 64, &b)
             : MapMatrix<D>(operands.inputs[1], x.n, x.k, Tile::kColumns / Tile::kClusterRows, &b);
  }
  if (!error) {
    error = MapMatrix<D>(operands.output, x.m, x.n, wgmma_matmul::SlabRows<D, Tile>(), &c);
  }
  if (error) return *std::move(error);

  const Counts<Tile> counts(x);
  const auto rows = static_cast<int>(counts.rows), columns = static_cast<int>(counts.columns);
  const TileOrder order{rows, columns, std::min(plan.group, plan.turned ? columns : rows),
                        plan.turned};
  TileWork work{order, static_cast<int>(Pieces(x.k, kDepth)), rows * columns, nullptr, nullptr};
  std::shared_ptr<DeviceBuffer> parts;
  if (plan.split) {
    work.whole -= static_cast<int>(counts.clusters + counts.tiles % counts.clusters);
    parts = std::make_shared<DeviceBuffer>();
    if (auto failed = ReserveParts<Tile>(counts.clusters, *parts, work)) return *std::move(failed);
  }
  const Geometry geometry{GridOf(counts.clusters * Tile::kClusterBlocks), dim3(Tile::kThreads),
                          Tile::kSharedBytes, Tile::kClusterBlocks};
  const auto kernel = WgmmaMatmulKernel<D, typename Tile::Shape, kMnA, kMnB>;
  ConfigurationMap configuration;
  if (auto refused = LoadKernel(reinterpret_cast<const void*>(kernel), geometry, configuration)) {
    return *std::move(refused);
  }
  configuration["tile"] = Name<Tile>(plan);
  return std::unique_ptr<Instance>(std::make_unique<DeviceInstance>(
      [=, parts = std::move(parts)](cudaStream_t stream) {
        return LaunchKernel(geometry, stream, kernel, a, b, c, work);
      },
      std::move(configuration)));
}

template <DType D, bool kMnA, bool kMnB>
CreateResult CreateLayout(const Problem& problem, const OperandPointers& operands,
                          const std::string& candidate) {
  std::optional<CreateResult> result;
  const auto try_tile = [&](auto tile) {
    using Tile = decltype(tile);
    if constexpr (!kMnA || Tile::kRows % 64 == 0) {
      for (const Plan& plan : kPlans) {
        if (result || Name<Tile>(plan) != candidate) continue;
        if (!Offered<Tile>(problem) || !Offered<Tile>(problem, plan)) continue;
        static_cast<void>(result.emplace(CreateTile<D, Tile, kMnA, kMnB>(problem, operands, plan)));
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
