// Softmax in one read and one write: the row waits in registers between the two. A team of threads
// holds a row: some lanes of a warp, a block, or a cluster of blocks whose multiprocessors exchange
// their parts through distributed shared memory. Device code; the host side is
// registers_softmax.cu.
//
// One exchange a row: a warp takes its own largest element for its exponentials, and pairs of
// largest and sum are what is exchanged; what the warps' choices differ by goes into the factor
// that divides by the sum.
#pragma once

#include "kernels/cuda/softmax_parts.cuh"
#include "kernels/cuda/words.cuh"

namespace kbench::cuda {

enum class Team { kLanes, kBlock, kCluster };

inline constexpr int kMostClusterBlocks = 8;  // more is not portable
inline constexpr int kLaneTeamThreads = 256;
inline constexpr int kMostTeamThreads = 1024;

// A row cut at 16-byte borders: whole words, and where rows do not begin at words, a few elements
// before and after them, one a thread. x and y lie alike between words.
template <typename E, bool kBeginsAtWord>
struct CutRow {
  static constexpr int kElements = kWordElements<E>;
  int head = 0, words = 0, edges = 0;  // elements, words, elements before and after the words

  __device__ CutRow(const typename E::Storage* row, int cols) {
    if constexpr (!kBeginsAtWord) {
      const auto beyond = static_cast<int>(reinterpret_cast<std::uintptr_t>(row) % 16 /
                                           sizeof(typename E::Storage));
      head = min((kElements - beyond) % kElements, cols);
    }
    words = (cols - head) / kElements;
    edges = cols - words * kElements;
  }
  // Where in the row the edge element of the thread at `place` is.
  __device__ int Edge(int place) const { return place < head ? place : place + words * kElements; }
};

// Writes this warp's part into the shared memory of every block of the cluster, where it has a slot
// of its own, and returns when all of them are there. Nobody reads another block's memory, so a
// block may end while others still run.
template <typename Compute>
__device__ void ExchangeParts(Part<Compute>* parts, const Part<Compute>& part, unsigned rank,
                              unsigned blocks) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  const unsigned slot = rank * (blockDim.x / 32) + threadIdx.x / 32;
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");  // all blocks have begun
  const unsigned peer = threadIdx.x % 32;
  if (peer < blocks) {
    const auto mine = static_cast<unsigned>(__cvta_generic_to_shared(parts + slot));
    asm volatile(
        "{\n\t.reg .b32 there;\n\t"
        "mapa.shared::cluster.u32 there, %0, %1;\n\t"
        "st.shared::cluster.v2.f32 [there], {%2, %3};\n\t}" ::"r"(mine),
        "r"(peer), "f"(part.largest), "f"(part.sum)
        : "memory");
  }
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

__device__ inline void ArriveAtCluster() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}

// The part that the whole team knows, from that of this warp (for lanes: of this thread).
template <Team kTeam, typename Compute>
__device__ Part<Compute> WholeRow(const Part<Compute>& warps, unsigned rank, unsigned blocks) {
  if constexpr (kTeam == Team::kLanes) {
    return warps;
  } else {
    constexpr int kBlocks = kTeam == Team::kCluster ? kMostClusterBlocks : 1;
    __shared__ __align__(16) Part<Compute> parts[kBlocks * kMostTeamThreads / 32];
    const unsigned warps_a_block = blockDim.x / 32;
    if constexpr (kTeam == Team::kCluster) {
      ExchangeParts(parts, warps, rank, blocks);
    } else {
      if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = warps;
      __syncthreads();
    }
    return CombineStored(parts, warps_a_block * blocks);
  }
}

// A word of minus infinities.
template <typename E>
__device__ uint4 NothingToAdd() {
  typename E::Compute numbers[kWordElements<E>];
#pragma unroll
  for (auto& number : numbers) number = -INFINITY;
  return Pack<E>(numbers);
}

// Each thread of a team holds kWords words of the row, at a stride of the team. `width` is the size
// of a team in lanes, or in blocks of a cluster.
template <typename E, int kWords, bool kBeginsAtWord, Team kTeam>
__global__ void __launch_bounds__(kTeam == Team::kLanes ? kLaneTeamThreads : kMostTeamThreads)
    RegistersKernel(const typename E::Storage* x, typename E::Storage* y, std::int64_t rows,
                    std::int64_t cols, unsigned width) {
  using Compute = typename E::Compute;
  constexpr int kElements = kWordElements<E>;
  if constexpr (kTeam == Team::kCluster) ArriveAtCluster();
  const unsigned blocks = kTeam == Team::kCluster ? width : 1;
  const unsigned rank = kTeam == Team::kCluster ? blockIdx.x % width : 0;
  const unsigned stride = kTeam == Team::kLanes ? width : blockDim.x * blocks;
  const unsigned place =
      kTeam == Team::kLanes ? threadIdx.x % width : rank * blockDim.x + threadIdx.x;
  std::int64_t row = blockIdx.x / blocks;
  if constexpr (kTeam == Team::kLanes) {
    row = row * (kLaneTeamThreads / width) + threadIdx.x / width;
  }
  const bool exists = kTeam != Team::kLanes || row < rows;
  if (!exists) row = 0;  // lanes stay for the shuffles of their neighbours
  const typename E::Storage* from = x + row * cols;
  const CutRow<E, kBeginsAtWord> cut(from, static_cast<int>(cols));

  uint4 loaded[kWords];
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    const int word = static_cast<int>(place + i * stride);
    loaded[i] = NothingToAdd<E>();
    if (word < cut.words) {
      loaded[i] = LoadWord(reinterpret_cast<const uint4*>(from + cut.head) + word);
    }
  }
  const bool has_edge = !kBeginsAtWord && static_cast<int>(place) < cut.edges;
  Compute edge = has_edge ? E::Load(from[cut.Edge(place)]) : -INFINITY;
  Compute numbers[kWords][kElements];
  Compute largest = edge;
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    Unpack<E>(loaded[i], numbers[i]);
#pragma unroll
    for (Compute number : numbers[i]) largest = Larger{}(largest, number);
  }
  const int lanes = kTeam == Team::kLanes ? static_cast<int>(width) : 32;
  for (int offset = lanes / 2; offset > 0; offset /= 2) {
    largest = Larger{}(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
  }
  largest *= kLog2E<Compute>;
  const Compute subtrahend = Subtrahend(largest);
  if constexpr (!kBeginsAtWord) edge = Exp2(fma(edge, kLog2E<Compute>, -subtrahend));
  Compute sum = kBeginsAtWord ? 0 : edge;
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    Compute of_word = 0;
#pragma unroll
    for (Compute& number : numbers[i]) {
      number = Exp2(fma(number, kLog2E<Compute>, -subtrahend));
      of_word += number;
    }
    sum += of_word;
  }
  for (int offset = lanes / 2; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  }
  const Part<Compute> whole = WholeRow<kTeam>(Part<Compute>{largest, sum}, rank, blocks);
  const Compute factor = Exp2(largest - whole.largest) / whole.sum;
  if (!exists) return;
  typename E::Storage* to = y + row * cols;
  if (has_edge) to[cut.Edge(place)] = E::Store(edge * factor);
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
#pragma unroll
    for (Compute& number : numbers[i]) number *= factor;
    const int word = static_cast<int>(place + i * stride);
    if (word < cut.words) reinterpret_cast<uint4*>(to + cut.head)[word] = Pack<E>(numbers[i]);
  }
}

}  // namespace kbench::cuda
