// How cuda/mma matmul brings its operands from global to shared memory: where they lie there, and
// two ways to copy them. Compute capability 8.0 and up. Device code.
#pragma once

#include <type_traits>

#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/element.cuh"

namespace kbench::cuda {

enum class MmaCopies {
  kWhole,    // 16 bytes, no guards: A and B have at least a tile's rows and columns
  kGuarded,  // 16 bytes, each looked at
  kNarrow,   // rows are not multiples of 16 bytes
};

namespace mma_matmul {

// How one operand's part of a stage lies in shared memory. K-major: a line is the depth of one row
// (or column) of C. MN-major: a line is kOuter rows (or columns) of C at one depth.
template <DType D, bool kMnMajor_, int kOuter, int kDepthBytes>
struct Operand {
  using Storage = typename Element<D>::Storage;
  static constexpr bool kMnMajor = kMnMajor_;
  static constexpr int kBytes = sizeof(Storage);
  static constexpr int kDepth = kDepthBytes / kBytes;
  static constexpr int kLines = kMnMajor ? kDepth : kOuter;
  static constexpr int kPieces = (kMnMajor ? kOuter * kBytes : kDepthBytes) / 16;  // of a line
  static constexpr int kLineBytes = kPieces * 16;
  static constexpr int kPeriod = kMnMajor && kBytes == 4 ? 4 : 8;  // lines

  // Where piece `piece` of line `line` lies: repeats itself every kPeriod lines. What ldmatrix
  // reads together (eight lines; of MN-major tf32 four lines of eight words) is in different banks.
  __device__ static std::uint32_t Offset(int line, int piece) {
    int swizzled = piece;
    if constexpr (kMnMajor && kBytes == 4) {
      swizzled ^= (line & 3) << 1;
    } else if constexpr (kPieces == 4) {
      swizzled ^= (line >> 1) & 3;
    } else {
      swizzled ^= line & 7;
    }
    return static_cast<std::uint32_t>(line * kLineBytes + swizzled * 16);
  }
};

// Copies one operand, stage after stage, where nothing but the end of k needs a look. The first
// stage is what k is more than a multiple of a stage, zeros behind it; all later ones are whole.
template <typename Op, int kThreads>
class WholeCopies {
 public:
  using Storage = typename Op::Storage;
  static constexpr int kLinesAtOnce = kThreads / Op::kPieces;
  static constexpr int kCount = Op::kLines / kLinesAtOnce;  // copies of a stage
  static_assert(kThreads % Op::kPieces == 0 && Op::kLines % kLinesAtOnce == 0);
  static_assert(kLinesAtOnce % Op::kPeriod == 0);

  __device__ WholeCopies(const Storage* matrix, std::int64_t outer, std::int64_t depth,
                         std::int64_t outer0)
      : width_(Op::kMnMajor ? outer : depth),
        first_depths_(static_cast<int>((depth - 1) % Op::kDepth) + 1) {
    const int piece = static_cast<int>(threadIdx.x) % Op::kPieces;
    const int line = static_cast<int>(threadIdx.x) / Op::kPieces;
    const int right = piece * (16 / Op::kBytes);
    from_ = matrix + (Op::kMnMajor ? line * width_ + outer0 : (outer0 + line) * width_) + right;
    to_ = Op::Offset(line, piece);
    deep_ = Op::kMnMajor ? line : right;
  }

  __device__ void Begin(std::uint32_t stage) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int deep = deep_ + (Op::kMnMajor ? i * kLinesAtOnce : 0);
      CopyAsync<16>(To(stage, i), From(i), deep < first_depths_ ? 16 : 0);
    }
    from_ += Op::kMnMajor ? first_depths_ * width_ : first_depths_;
  }
  // Copy `i` of kCount, if there is such a stage.
  __device__ void Copy(std::uint32_t stage, int i, bool exists) const {
    CopyAsyncIf(To(stage, i), From(i), exists);
  }
  __device__ void NextStage() { from_ += Op::kMnMajor ? Op::kDepth * width_ : Op::kDepth; }

 private:
  __device__ const Storage* From(int i) const { return from_ + i * (kLinesAtOnce * width_); }
  __device__ std::uint32_t To(std::uint32_t stage, int i) const {
    return stage + to_ + i * kLinesAtOnce * Op::kLineBytes;
  }

  std::int64_t width_;
  const Storage* from_;
  std::uint32_t to_;
  int first_depths_, deep_;
};

// Copies 16 bytes of which only the first `present` elements exist, where rows are not aligned.
template <typename Storage>
__device__ inline void CopyNarrow(std::uint32_t to, const Storage* from, int present, bool pairs) {
  constexpr int kBytes = sizeof(Storage);
  if (kBytes == 4 || pairs) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int bytes = min(max(present * kBytes - 4 * i, 0), 4);
      CopyAsync<4>(to + 4 * i, from + (bytes > 0 ? 4 / kBytes * i : 0), bytes);
    }
    return;
  }
  if constexpr (kBytes == 2) {
    const auto* bits = reinterpret_cast<const unsigned short*>(from);
    std::uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t low = 2 * i < present ? bits[2 * i] : 0;
      const std::uint32_t high = 2 * i + 1 < present ? bits[2 * i + 1] : 0;
      words[i] = low | high << 16;
    }
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(words[0]), "r"(words[1]),
                 "r"(words[2]), "r"(words[3])
                 : "memory");
  }
}

// Copies one operand, stage after stage; zeros where the matrix ends. `outer` and `depth` are its
// extents.
template <typename Op, int kThreads, bool kNarrow>
class GuardedCopies {
 public:
  using Storage = typename Op::Storage;
  static constexpr int kLinesAtOnce = kThreads / Op::kPieces;
  static constexpr int kCount = Op::kLines / kLinesAtOnce;  // copies of a stage
  static_assert(kThreads % Op::kPieces == 0 && Op::kLines % kLinesAtOnce == 0);
  static_assert(kLinesAtOnce % Op::kPeriod == 0);

  __device__ GuardedCopies(const Storage* matrix, std::int64_t outer, std::int64_t depth,
                           std::int64_t outer0)
      : width_(Op::kMnMajor ? outer : depth) {
    const int piece = static_cast<int>(threadIdx.x) % Op::kPieces;
    const int line = static_cast<int>(threadIdx.x) / Op::kPieces;
    const int right = piece * (16 / Op::kBytes);
    constexpr std::int64_t kMany = 1 << 30;
    const std::int64_t outer_left = outer - outer0;
    lines_left_ = static_cast<int>(min(Op::kMnMajor ? depth : outer_left, kMany)) - line;
    across_left_ = static_cast<int>(min(Op::kMnMajor ? outer_left : depth, kMany)) - right;
    from_ = matrix + (Op::kMnMajor ? line * width_ + outer0 : (outer0 + line) * width_) + right;
    to_ = Op::Offset(line, piece);
  }

  __device__ void Begin(std::uint32_t stage) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) Copy(stage, i, true);
    NextStage();
  }
  // Behind the last stage there is nothing but zeros.
  __device__ void Copy(std::uint32_t stage, int i, bool /*exists*/) const {
    const int present = min(max(across_left_, 0), 16 / Op::kBytes);
    const int there = i * kLinesAtOnce < lines_left_ ? present : 0;
    const Storage* from = from_ + i * (kLinesAtOnce * width_);
    const std::uint32_t place = stage + to_ + i * kLinesAtOnce * Op::kLineBytes;
    if constexpr (kNarrow) {
      CopyNarrow(place, from, there, width_ % 2 == 0);
    } else {
      CopyAsync<16>(place, from, there * Op::kBytes);
    }
  }
  __device__ void NextStage() {
    if constexpr (Op::kMnMajor) {
      from_ += Op::kDepth * width_;
      lines_left_ -= Op::kDepth;
    } else {
      from_ += Op::kDepth;
      across_left_ -= Op::kDepth;
    }
  }

 private:
  std::int64_t width_;
  const Storage* from_;
  int lines_left_, across_left_;
  std::uint32_t to_;
};

template <typename Op, int kThreads, MmaCopies kCopies>
using Copies = std::conditional_t<kCopies == MmaCopies::kWhole, WholeCopies<Op, kThreads>,
                                  GuardedCopies<Op, kThreads, kCopies == MmaCopies::kNarrow>>;

}  // namespace mma_matmul
}  // namespace kbench::cuda
