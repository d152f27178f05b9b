// cuda/vectorized sum: 16-byte loads with several in flight, blocks enough to fill the card, and
// the end in the same launch. The order is fixed by n, the card and the candidate: results repeat
// bit for bit.
//
// The end: each block publishes its sum in a slot of its own, and the block of the highest number
// waits until no slot is empty. That is one trip through memory, where a counter takes three (the
// sum out, the counter there and back, the sums in); it matters where a sum takes microseconds. The
// waiting block keeps no other from running, because none of them waits for anything.
#include <algorithm>
#include <memory>

#include "kernels/cuda/block_reduce.cuh"
#include "kernels/cuda/dtypes.h"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/implementations.h"
#include "kernels/cuda/words.cuh"

namespace kbench {
namespace cuda {
namespace {

// A vector cut at 16-byte borders: elements before the first, whole words, elements after the last.
template <typename Storage>
struct CutVector {
  const Storage* head;
  const Storage* tail;
  const uint4* words;
  std::int64_t word_count;
  int head_count, tail_count;
};

// Which tiles a block sums: `tiles_each` neighbours, or, at 0, every one at a stride of the grid.
struct Share {
  std::int64_t tiles;
  std::int64_t tiles_each;
};

// A slot holds a sum or is empty. Empty is a NaN that no addition makes.
template <typename Compute>
struct Slot;

template <>
struct Slot<float> {
  using Bits = unsigned;
  __device__ static Bits Of(float x) { return __float_as_uint(x); }
  __device__ static float Value(Bits bits) { return __uint_as_float(bits); }
};

template <>
struct Slot<double> {
  using Bits = unsigned long long;
  __device__ static Bits Of(double x) { return static_cast<Bits>(__double_as_longlong(x)); }
  __device__ static double Value(Bits bits) {
    return __longlong_as_double(static_cast<long long>(bits));
  }
};

template <typename Compute>
using SlotBits = typename Slot<Compute>::Bits;

template <typename Compute>
__device__ void Publish(SlotBits<Compute>* slot, Compute sum) {
  SlotBits<Compute> bits = Slot<Compute>::Of(sum);
  if (bits == ~SlotBits<Compute>{0}) bits >>= 1;  // another NaN
  *const_cast<volatile SlotBits<Compute>*>(slot) = bits;
}

// The sum of all slots, in the order of the threads. Leaves the slots empty for the next launch.
template <typename Compute, int kThreads>
__device__ Compute Collect(SlotBits<Compute>* slots, unsigned count) {
  constexpr int kInFlight = 4;
  constexpr SlotBits<Compute> kEmpty = ~SlotBits<Compute>{0};
  auto* waiting = const_cast<volatile SlotBits<Compute>*>(slots);
  Compute total = 0;
  for (unsigned first = threadIdx.x; first < count; first += kThreads * kInFlight) {
    SlotBits<Compute> bits[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const unsigned at = first + i * kThreads;
      bits[i] = at < count ? waiting[at] : 0;
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const unsigned at = first + i * kThreads;
      while (bits[i] == kEmpty) bits[i] = waiting[at];
      total += Slot<Compute>::Value(bits[i]);
      if (at < count) waiting[at] = kEmpty;
    }
  }
  return BlockReduce(total, Add{});
}

template <typename E, int kThreads, int kInFlight>
__device__ typename E::Compute SumOfTile(const uint4* words, std::int64_t left) {
  typename E::Compute sum = 0;
  if (left >= kThreads * kInFlight) {
    uint4 loaded[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i)
      loaded[i] = LoadWordOnce(words + threadIdx.x + i * kThreads);
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) sum += SumOfWord<E>(loaded[i]);
  } else {
    for (std::int64_t i = threadIdx.x; i < left; i += kThreads) {
      sum += SumOfWord<E>(LoadWordOnce(words + i));
    }
  }
  return sum;
}

template <typename E, int kThreads, int kInFlight>
__global__ void __launch_bounds__(kThreads, 1024 / kThreads)  // registers for all the loads
    SumKernel(CutVector<typename E::Storage> x, Share share, SlotBits<typename E::Compute>* slots,
              typename E::Compute* y) {
  using Compute = typename E::Compute;
  constexpr std::int64_t kTile = kThreads * kInFlight;
  const bool neighbours = share.tiles_each > 0;
  const std::int64_t first = neighbours ? blockIdx.x * share.tiles_each : blockIdx.x;
  const std::int64_t step = neighbours ? 1 : gridDim.x;
  const std::int64_t end = neighbours ? min(first + share.tiles_each, share.tiles) : share.tiles;
  Compute sum = 0;
  for (std::int64_t tile = first; tile < end; tile += step) {
    sum += SumOfTile<E, kThreads, kInFlight>(x.words + tile * kTile, x.word_count - tile * kTile);
  }
  if (blockIdx.x == 0) {
    if (threadIdx.x < x.head_count) sum += E::Load(x.head[threadIdx.x]);
    if (threadIdx.x < x.tail_count) sum += E::Load(x.tail[threadIdx.x]);
  }
  sum = BlockReduce(sum, Add{});
  if (gridDim.x == 1) {
    if (threadIdx.x == 0) *y = sum;
    return;
  }
  if (threadIdx.x == 0) Publish(slots + blockIdx.x, sum);
  if (blockIdx.x != gridDim.x - 1) return;
  const Compute total = Collect<Compute, kThreads>(slots, gridDim.x);
  if (threadIdx.x == 0) *y = total;
}

template <typename E>
CutVector<typename E::Storage> Cut(const typename E::Storage* x, std::int64_t n) {
  constexpr std::int64_t kElements = kWordElements<E>;
  const auto beyond = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(x) % 16);
  const std::int64_t to_border =
      beyond == 0 ? 0 : (16 - beyond) / static_cast<std::int64_t>(sizeof(*x));
  const std::int64_t head = std::min(to_border, n);
  const std::int64_t words = (n - head) / kElements;
  const std::int64_t done = head + words * kElements;
  return {x,
          x + done,
          reinterpret_cast<const uint4*>(x + head),
          words,
          static_cast<int>(head),
          static_cast<int>(n - done)};
}

// What may be chosen.
struct Choice {
  int threads, in_flight;
  int tiles_each;   // 0: the grid strides over the tiles
  int blocks_each;  // of a multiprocessor, where the grid strides
};

std::string Text(const Choice& choice) {
  std::string text = "threads=" + std::to_string(choice.threads) +
                     ",in_flight=" + std::to_string(choice.in_flight);
  return text + (choice.tiles_each > 0
                     ? ",tiles_a_block=" + std::to_string(choice.tiles_each)
                     : ",blocks_a_multiprocessor=" + std::to_string(choice.blocks_each));
}

// The best guess first. Short vectors: few blocks, all of them at once. Long ones: many blocks, so
// that a multiprocessor that gets less of the memory does less.
std::vector<Choice> Choices(const Problem& problem) {
  const Choice few{256, 8, 0, 4}, fill{512, 8, 0, 2}, many{512, 8, 4, 0};
  const Choice others[] = {{512, 4, 8, 0}, {256, 8, 8, 0}, {256, 8, 2, 0}};
  const std::int64_t bytes =
      problem.shape["n"] * static_cast<std::int64_t>(Info(problem.dtype).storage_bytes);
  std::vector<Choice> all;
  if (bytes <= std::int64_t{8} << 20) {
    all = {few, fill, many};
  } else if (bytes <= std::int64_t{512} << 20) {
    all = {fill, few, many};
  } else {
    all = {many, fill, few};
  }
  all.insert(all.end(), std::begin(others), std::end(others));
  return all;
}

std::vector<std::string> Candidates(const Problem& problem) {
  std::vector<std::string> texts;
  for (const Choice& choice : Choices(problem)) texts.push_back(Text(choice));
  return texts;
}

template <typename E, int kThreads, int kInFlight>
CreateResult CreateWith(const Problem& problem, const OperandPointers& operands,
                        const Choice& choice) {
  using Compute = typename E::Compute;
  const auto cut =
      Cut<E>(static_cast<const typename E::Storage*>(operands.inputs[0]), problem.shape["n"]);
  auto* y = static_cast<Compute*>(operands.output);
  constexpr std::int64_t kTile = kThreads * kInFlight;
  const Share share{std::max<std::int64_t>((cut.word_count + kTile - 1) / kTile, 1),
                    choice.tiles_each};
  const std::int64_t fill =
      static_cast<std::int64_t>(std::max(CurrentDevice().multiprocessors, 1)) * choice.blocks_each;
  const std::int64_t blocks = choice.tiles_each > 0
                                  ? (share.tiles + share.tiles_each - 1) / share.tiles_each
                                  : std::min(share.tiles, fill);
  auto slots = std::make_shared<DeviceBuffer>();
  const std::int64_t bytes = blocks * static_cast<std::int64_t>(sizeof(Compute));
  if (auto failed = slots->Allocate("the blocks' sums", bytes)) return *std::move(failed);
  cudaError_t error = cudaMemset(slots->as<void>(), 0xff, bytes);
  // The stream of the launches need not wait for the default one.
  if (error == cudaSuccess) error = cudaStreamSynchronize(nullptr);
  if (error != cudaSuccess) return DeviceError("emptying the slots of the blocks' sums", error);
  const Geometry geometry{GridOf(blocks), dim3(kThreads)};
  const auto kernel = SumKernel<E, kThreads, kInFlight>;
  ConfigurationMap configuration;
  if (auto failed = LoadKernel(reinterpret_cast<const void*>(kernel), geometry, configuration)) {
    return *std::move(failed);
  }
  configuration["candidate"] = Text(choice);
  configuration["workspace_bytes"] = std::to_string(bytes);
  DeviceBody body = [=](cudaStream_t stream) {
    return LaunchKernel(geometry, stream, kernel, cut, share, slots->as<SlotBits<Compute>>(), y);
  };
  return std::unique_ptr<Instance>(
      std::make_unique<DeviceInstance>(std::move(body), std::move(configuration)));
}

template <DType D>
CreateResult CreateAs(const Problem& problem, const OperandPointers& operands,
                      const Choice& choice) {
  using E = Element<D>;
  if (choice.threads == 256) return CreateWith<E, 256, 8>(problem, operands, choice);
  if (choice.in_flight == 4) return CreateWith<E, 512, 4>(problem, operands, choice);
  return CreateWith<E, 512, 8>(problem, operands, choice);
}

using Compiled = DTypes<DType::kFp64, DType::kFp32, DType::kFp16, DType::kBf16>;

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& context) {
  const std::vector<Choice> choices = Choices(problem);
  for (const Choice& choice : choices) {
    if (!context.candidate.empty() && context.candidate != Text(choice)) continue;
    return Compiled::Create(problem.dtype, [&](auto dtype) {
      return CreateAs<decltype(dtype)::value>(problem, operands, choice);
    });
  }
  return ImplementationError{
      ImplementationError::Kind::kUnsupported,
      "no candidate " + context.candidate + "; the first is " + Text(choices.front()), 0};
}

}  // namespace
}  // namespace cuda

Implementation CudaVectorizedSum() {
  return {.name = "cuda/vectorized",
          .family = "cuda",
          .kernel = "sum",
          .summary = "16-byte loads with several in flight, the end in the same launch",
          .dtypes = cuda::Compiled::List(),
          .default_choice = true,
          .rung = 2,
          .candidates = cuda::Candidates,
          .create = cuda::Create};
}

}  // namespace kbench
