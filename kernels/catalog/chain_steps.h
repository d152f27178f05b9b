// The operations of the kernel `chain`: one list for the reference and for every implementation, on
// host and device. Pure functions.
//
// Step i of a chain applies operation i % 5. Each is one elementwise operation that a framework
// launches by itself (in torch: y * 1.25, y + 0.375, leaky_relu(y, 0.75), y * 0.875, 0.5 - y).
// Their constants are exact in bf16. A cycle scales an element by 1.09 or by 0.82 according to its
// sign at the leaky ReLU, so that over 64 steps no element grows, none is forgotten, and a rounding
// error is carried along nearly at its size; leaving out, repeating or exchanging steps shows.
#pragma once

#if defined(__CUDACC__)
#define KB_CHAIN_HD __host__ __device__
#else
#define KB_CHAIN_HD
#endif

namespace kbench {

inline constexpr int kChainCycle = 5;
inline constexpr int kMostChainDepth = 64;

// On a device one instruction rather than a comparison and a choice.
template <typename T>
KB_CHAIN_HD inline T ChainLarger(T a, T b) {
#if defined(__CUDA_ARCH__)
  return fmax(a, b);
#else
  return a > b ? a : b;
#endif
}

// One step, computed in T (float or double).
template <typename T>
KB_CHAIN_HD inline T ChainStep(int operation, T y) {
  switch (operation) {
    case 0:
      return y * T(1.25);
    case 1:
      return y + T(0.375);
    case 2:
      return ChainLarger(y, y * T(0.75));
    case 3:
      return y * T(0.875);
    default:
      return T(0.5) - y;
  }
}

// The first `depth` steps, rounded only as T is.
template <typename T>
KB_CHAIN_HD inline T Chain(int depth, T y) {
  int step = 0;
  for (; step + kChainCycle <= depth; step += kChainCycle) {
    y = ChainStep(4, ChainStep(3, ChainStep(2, ChainStep(1, ChainStep(0, y)))));
  }
  for (int operation = 0; step < depth; ++step, ++operation) y = ChainStep(operation, y);
  return y;
}

}  // namespace kbench
