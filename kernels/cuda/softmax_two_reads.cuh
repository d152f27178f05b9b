// Softmax of rows of any length in two reads and one write: the largest element and the sum are
// found together, "online" (Milakov and Gimelshein 2018), by rescaling the sum when a larger
// element comes. cuda/online is this; cuda/registers falls back to it for rows it cannot keep.
// Device code.
#pragma once

#include <algorithm>

#include "kernels/cuda/device_instance.h"
#include "kernels/cuda/dtypes.h"
#include "kernels/cuda/softmax_parts.cuh"
#include "kernels/cuda/words.cuh"

namespace kbench::cuda {

// One access of a thread: a word of 16 bytes, or one element where rows do not begin at words.
template <typename E, bool kInWords>
struct Access {
  using Unit = uint4;
  static constexpr int kElements = kWordElements<E>;
  __device__ static void Load(const uint4* from, typename E::Compute (&numbers)[kElements]) {
    Unpack<E>(LoadWord(from), numbers);
  }
  __device__ static void Store(uint4* to, const typename E::Compute (&numbers)[kElements]) {
    *to = Pack<E>(numbers);
  }
};

template <typename E>
struct Access<E, false> {
  using Unit = typename E::Storage;
  static constexpr int kElements = 1;
  __device__ static void Load(const Unit* from, typename E::Compute (&numbers)[1]) {
    numbers[0] = E::Load(*from);
  }
  __device__ static void Store(Unit* to, const typename E::Compute (&numbers)[1]) {
    *to = E::Store(numbers[0]);
  }
};

template <typename Compute, int kCount>
__device__ void Extend(Part<Compute>& part, const Compute (&numbers)[kCount]) {
  Compute largest = numbers[0];
#pragma unroll
  for (int i = 1; i < kCount; ++i) largest = Larger{}(largest, numbers[i]);
  largest = Larger{}(part.largest, largest * kLog2E<Compute>);
  const Compute subtrahend = Subtrahend(largest);
  part.sum *= Exp2(part.largest - subtrahend);
  part.largest = largest;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    part.sum += Exp2(fma(numbers[i], kLog2E<Compute>, -subtrahend));
  }
}

inline constexpr int kMostTwoReadsThreads = 512;

// How many blocks should share a multiprocessor: as many as leave the registers. The exponential of
// fp64 takes more of them, and so does the code for compute capability 12.0.
template <typename Compute>
constexpr int TwoReadsBlocks() {
  if (sizeof(Compute) == 8) return 1;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
  return 2;
#else
  return 3;
#endif
}

// A row a block of threads along x, or a row a warp where the block has rows along y.
template <typename E, bool kInWords>
__global__ void __launch_bounds__(kMostTwoReadsThreads, TwoReadsBlocks<typename E::Compute>())
    TwoReadsKernel(const typename E::Storage* x, typename E::Storage* y, std::int64_t rows,
                   std::int64_t cols) {
  using A = Access<E, kInWords>;
  using Compute = typename E::Compute;
  __shared__ Part<Compute> of_warp[kMostTwoReadsThreads / 32];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.y;
  const std::int64_t units = cols / A::kElements;
  Compute numbers[A::kElements];
  for (std::int64_t row = first; row < rows; row += step) {
    const auto* from = reinterpret_cast<const typename A::Unit*>(x + row * cols);
    auto* to = reinterpret_cast<typename A::Unit*>(y + row * cols);
    Part<Compute> part;
#pragma unroll 4
    for (std::int64_t i = threadIdx.x; i < units; i += blockDim.x) {
      A::Load(from + i, numbers);
      Extend(part, numbers);
    }
    part = CombineLanes(part);
    if (blockDim.x > 32) {
      __syncthreads();  // the parts of the row before may still be read
      if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = part;
      __syncthreads();
      part = CombineStored(of_warp, blockDim.x / 32);
    }
    const Compute scale = 1 / part.sum;
#pragma unroll 4
    for (std::int64_t i = threadIdx.x; i < units; i += blockDim.x) {
      A::Load(from + i, numbers);
#pragma unroll
      for (Compute& number : numbers) {
        number = Exp2(fma(number, kLog2E<Compute>, -part.largest)) * scale;
      }
      A::Store(to + i, numbers);
    }
  }
}

inline bool BeginsAtWord(const void* operand) {
  return reinterpret_cast<std::uintptr_t>(operand) % 16 == 0;
}

template <typename E>
CreateResult CreateTwoReads(const Problem& problem, const OperandPointers& operands,
                            const ConfigurationMap& more = {}) {
  const std::int64_t rows = problem.shape["rows"], cols = problem.shape["cols"];
  const auto* x = static_cast<const typename E::Storage*>(operands.inputs[0]);
  auto* y = static_cast<typename E::Storage*>(operands.output);
  const bool in_words = cols % kWordElements<E> == 0 && BeginsAtWord(x) && BeginsAtWord(y);
  const std::int64_t units = in_words ? cols / kWordElements<E> : cols;
  constexpr std::int64_t kUnitsAThread = 4;
  Geometry geometry;
  if (units <= 32 * kUnitsAThread) {
    geometry.block = dim3(32, 8);
  } else {
    const std::int64_t warps = (units + 32 * kUnitsAThread - 1) / (32 * kUnitsAThread);
    geometry.block =
        dim3(static_cast<unsigned>(std::min<std::int64_t>(32 * warps, kMostTwoReadsThreads)));
  }
  geometry.grid = GridOf((rows + geometry.block.y - 1) / geometry.block.y);
  const auto kernel = in_words ? TwoReadsKernel<E, true> : TwoReadsKernel<E, false>;
  ConfigurationMap configuration = more;
  if (auto error = LoadKernel(reinterpret_cast<const void*>(kernel), geometry, configuration)) {
    return *std::move(error);
  }
  configuration["bytes_a_load"] = std::to_string(in_words ? 16 : sizeof(typename E::Storage));
  DeviceBody body = [=](cudaStream_t stream) {
    return LaunchKernel(geometry, stream, kernel, x, y, rows, cols);
  };
  return std::unique_ptr<Instance>(
      std::make_unique<DeviceInstance>(std::move(body), std::move(configuration)));
}

}  // namespace kbench::cuda
