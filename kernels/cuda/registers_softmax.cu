// cuda/registers softmax: one read and one write of every element. Some lanes of a warp hold a
// short row, a block a middle one, a cluster of blocks one of up to 262,144 columns; cards without
// clusters, and longer rows still, take two reads.
#include <algorithm>
#include <array>

#include "kernels/cuda/compiled_for.h"
#include "kernels/cuda/implementations.h"
#include "kernels/cuda/softmax_registers.cuh"
#include "kernels/cuda/softmax_two_reads.cuh"

namespace kbench {
namespace cuda {
namespace {

// How a row is held: `words` of 16 bytes a thread, by a team of `threads`, in `blocks` of a
// cluster.
struct Holding {
  Team team = Team::kBlock;
  int words = 0;
  int threads = 0;  // of a team in one block
  int blocks = 1;
};

std::string Text(const Holding& holding) {
  std::string text =
      "words=" + std::to_string(holding.words) + ",threads=" + std::to_string(holding.threads);
  return holding.blocks > 1 ? text + ",blocks=" + std::to_string(holding.blocks) : text;
}

// What is compiled, most words first. 16-bit types spread a word over twice the registers.
template <typename E>
constexpr std::array<int, 2> TeamWords() {
  return sizeof(typename E::Storage) == 4 ? std::array<int, 2>{8, 4} : std::array<int, 2>{4, 2};
}

// The edges of a row that does not begin at words are held one a thread.
template <typename E>
int FewestLanes(std::int64_t cols) {
  if (cols % kWordElements<E> == 0) return 1;
  return 2 * kWordElements<E>;
}

void AddLanes(std::int64_t words, int each, int lanes, std::vector<Holding>& all) {
  while (lanes * each < words) lanes *= 2;
  if (lanes <= 32) all.push_back({Team::kLanes, each, lanes, 1});
}

void AddBlocks(std::int64_t words, int each, int blocks, std::vector<Holding>& all) {
  const std::int64_t share = std::max<std::int64_t>((words + blocks - 1) / blocks, 1);
  const std::int64_t threads = ((share + each - 1) / each + 31) / 32 * 32;
  // Fewer are a matter for lanes, and a cluster of small blocks exchanges more than it computes.
  if (threads > kMostTeamThreads || threads < (blocks > 1 ? 128 : 64)) return;
  all.push_back(
      {blocks > 1 ? Team::kCluster : Team::kBlock, each, static_cast<int>(threads), blocks});
}

bool HasClusters() { return CodeForThisDevice() >= 90; }

// Whether the first of two ways is the better guess: rows too few to fill the card are spread over
// more of it, and two blocks of a cluster should share a multiprocessor.
struct BetterGuess {
  std::int64_t rows;
  int multiprocessors, most_blocks;

  int Drawbacks(const Holding& holding) const {
    const bool leaves_idle =
        rows * holding.blocks < multiprocessors && holding.blocks < most_blocks;
    const bool fills_alone = holding.blocks > 1 && holding.threads > kMostTeamThreads / 2;
    return 2 * leaves_idle + fills_alone;
  }
  bool operator()(const Holding& a, const Holding& b) const { return Drawbacks(a) < Drawbacks(b); }
};

// The kernel does not stride: rows that a grid has no blocks for would stay unwritten.
constexpr std::int64_t kMostGridBlocks = 0x7fffffff;

int RowsABlock(const Holding& holding) {
  return holding.team == Team::kLanes ? kLaneTeamThreads / holding.threads : 1;
}

std::int64_t GridBlocks(const Holding& holding, std::int64_t rows) {
  const std::int64_t rows_a_block = RowsABlock(holding);
  return (rows + rows_a_block - 1) / rows_a_block * holding.blocks;
}

// All ways to hold a row, the best guess first.
template <typename E>
std::vector<Holding> Holdings(std::int64_t rows, std::int64_t cols) {
  const std::int64_t words = cols / kWordElements<E>;
  auto [first, second] = TeamWords<E>();
  const int most = first;
  std::vector<Holding> all;
  if (words <= 32 * most) {
    for (const int each : {2, 4, 1, 8}) {
      if (each <= most) AddLanes(words, each, FewestLanes<E>(cols), all);
    }
  }
  // Where all rows take a few turns only, more threads a row.
  constexpr std::int64_t kFewBytes = std::int64_t{128} << 20;
  const auto bytes = static_cast<std::int64_t>(sizeof(typename E::Storage)) * rows * cols;
  if (bytes < kFewBytes) std::swap(first, second);
  for (int blocks = 1; blocks <= kMostClusterBlocks; blocks *= 2) {
    if (blocks > 1 && !HasClusters()) break;
    AddBlocks(words, first, blocks, all);
    AddBlocks(words, second, blocks, all);
  }
  const auto too_many = [rows](const Holding& one) {
    return GridBlocks(one, rows) > kMostGridBlocks;
  };
  all.erase(std::remove_if(all.begin(), all.end(), too_many), all.end());
  const int most_blocks = all.empty() ? 1 : all.back().blocks;
  std::stable_sort(all.begin(), all.end(),
                   BetterGuess{rows, CurrentDevice().multiprocessors, most_blocks});
  return all;
}

template <typename E, int kWords, Team kTeam>
auto KernelFor(bool begins_at_word) {
  return begins_at_word ? RegistersKernel<E, kWords, true, kTeam>
                        : RegistersKernel<E, kWords, false, kTeam>;
}

template <typename E>
auto KernelFor(const Holding& holding, bool begins_at_word) {
  constexpr int kMost = TeamWords<E>()[0], kFewer = TeamWords<E>()[1];
  if (holding.team == Team::kBlock) {
    return holding.words == kMost ? KernelFor<E, kMost, Team::kBlock>(begins_at_word)
                                  : KernelFor<E, kFewer, Team::kBlock>(begins_at_word);
  }
  if (holding.team == Team::kCluster) {
    return holding.words == kMost ? KernelFor<E, kMost, Team::kCluster>(begins_at_word)
                                  : KernelFor<E, kFewer, Team::kCluster>(begins_at_word);
  }
  if (holding.words == 1) return KernelFor<E, 1, Team::kLanes>(begins_at_word);
  if (holding.words == 2) return KernelFor<E, 2, Team::kLanes>(begins_at_word);
  if (holding.words == 4) return KernelFor<E, 4, Team::kLanes>(begins_at_word);
  return KernelFor<E, kMost, Team::kLanes>(begins_at_word);
}

template <typename E>
CreateResult CreateWith(const Problem& problem, const OperandPointers& operands,
                        const Holding& holding) {
  const std::int64_t rows = problem.shape["rows"], cols = problem.shape["cols"];
  const auto* x = static_cast<const typename E::Storage*>(operands.inputs[0]);
  auto* y = static_cast<typename E::Storage*>(operands.output);
  const bool begins_at_word = cols % kWordElements<E> == 0;  // each row
  const bool lanes = holding.team == Team::kLanes;
  Geometry geometry;
  geometry.grid = GridOf(GridBlocks(holding, rows));
  geometry.block = dim3(lanes ? kLaneTeamThreads : holding.threads);
  geometry.cluster = holding.blocks;
  const unsigned width = lanes ? holding.threads : holding.blocks;
  const auto kernel = KernelFor<E>(holding, begins_at_word);
  ConfigurationMap configuration;
  if (auto error = LoadKernel(reinterpret_cast<const void*>(kernel), geometry, configuration)) {
    return *std::move(error);
  }
  configuration["candidate"] = Text(holding);
  configuration["scheme"] = lanes                 ? "lanes of a warp hold a row"
                            : holding.blocks == 1 ? "a block holds a row"
                                                  : "a cluster of blocks holds a row";
  DeviceBody body = [=](cudaStream_t stream) {
    return LaunchKernel(geometry, stream, kernel, x, y, rows, cols, width);
  };
  return std::unique_ptr<Instance>(
      std::make_unique<DeviceInstance>(std::move(body), std::move(configuration)));
}

template <DType D>
CreateResult CreateAs(const Problem& problem, const OperandPointers& operands,
                      const DeviceContext& context) {
  using E = Element<D>;
  const std::vector<Holding> holdings = Holdings<E>(problem.shape["rows"], problem.shape["cols"]);
  const bool begin_at_words = BeginsAtWord(operands.inputs[0]) && BeginsAtWord(operands.output);
  for (const Holding& holding : holdings) {
    if (begin_at_words && (context.candidate.empty() || context.candidate == Text(holding))) {
      return CreateWith<E>(problem, operands, holding);
    }
  }
  if (!context.candidate.empty()) {
    return ImplementationError{ImplementationError::Kind::kUnsupported,
                               "this problem has no candidate " + context.candidate, 0};
  }
  return CreateTwoReads<E>(
      problem, operands,
      {{"scheme", !begin_at_words ? "two reads: input or output does not begin at 16 bytes"
                  : problem.shape["rows"] > kMostGridBlocks
                      ? "two reads: a grid has no blocks for so many rows"
                  : HasClusters() ? "two reads: a cluster cannot hold the row"
                                  : "two reads: a block cannot hold the row, and clusters need "
                                    "compute capability 9.0"}});
}

using Compiled = DTypes<DType::kFp32, DType::kFp16, DType::kBf16>;

std::vector<std::string> Candidates(const Problem& problem) {
  const std::int64_t rows = problem.shape["rows"], cols = problem.shape["cols"];
  std::vector<std::string> texts;
  for (const Holding& holding : problem.dtype == DType::kFp32
                                    ? Holdings<Element<DType::kFp32>>(rows, cols)
                                    : Holdings<Element<DType::kFp16>>(rows, cols)) {
    texts.push_back(Text(holding));
  }
  return texts;
}

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& context) {
  return Compiled::Create(problem.dtype, [&](auto dtype) {
    return CreateAs<decltype(dtype)::value>(problem, operands, context);
  });
}

}  // namespace
}  // namespace cuda

Implementation CudaRegistersSoftmax() {
  return {.name = "cuda/registers",
          .family = "cuda",
          .kernel = "softmax",
          .summary = "one read, one write: warps, blocks or clusters hold the row in registers",
          .dtypes = cuda::Compiled::List(),
          .default_choice = true,
          .rung = 2,
          .candidates = cuda::Candidates,
          .create = cuda::Create};
}

}  // namespace kbench
