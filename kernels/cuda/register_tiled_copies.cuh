// How cuda/register-tiled brings an operand from global to shared memory, where it lies as
// [depth][line], one stage of T::kDepth depths after another. Three ways with one interface:
//   Begin(stage)            brings the first stage, all at once: what k is more than a multiple of
//   a
//                           stage, zeros behind it, so that all later stages are whole
//   Ask(part, stage, more)  starts part `part` of kParts of the next stage, if there are more
//   Put(part, stage)        writes what was asked for to its stage, if kHeld; then the part may be
//                           asked for again
// `stage` is a shared address. Device code.
#pragma once

#include <cstdint>

#include "kernels/cuda/async_copy.cuh"

namespace kbench::cuda {

// One operand: rows of A or columns of B ("lines") times k. `pitch` is that of the index that is
// not contiguous.
struct LinesByDepth {
  const float* data;
  int lines, depth, pitch;
  bool whole_words;  // 16 bytes at a time may be copied

  __device__ const float* At(int contiguous, int other) const {
    return data + contiguous + static_cast<std::int64_t>(other) * pitch;
  }
  __device__ int FirstDepths(int stage) const { return (depth - 1) % stage + 1; }
};

// 16 bytes, if `more`; otherwise `to` stays as it is.
__device__ inline void LoadIf(float4& to, const float* from, bool more) {
  asm volatile(
      "{\n.reg .pred p;\n"
      "setp.ne.b32 p, %5, 0;\n"
      "@p ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];\n}"
      : "+f"(to.x), "+f"(to.y), "+f"(to.z), "+f"(to.w)
      : "l"(from), "r"(static_cast<int>(more)));
}
__device__ inline void StoreShared(std::uint32_t to, float value) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(to), "f"(value) : "memory");
}

// Lines are contiguous: 16 bytes straight to where they belong.
template <int kLines, int kPitch, int kDepth, int kThreads>
class StraightCopies {
 public:
  static constexpr bool kHeld = false;
  static constexpr int kWords = kLines / 4;
  static constexpr int kDepthsAtOnce = kThreads / kWords;
  static constexpr int kParts = kDepth / kDepthsAtOnce;
  static_assert(kThreads % kWords == 0 && kDepth % kDepthsAtOnce == 0);

  __device__ StraightCopies(const LinesByDepth& x, int first_line)
      : pitch_(x.pitch), first_depths_(x.FirstDepths(kDepth)) {
    const int line = static_cast<int>(threadIdx.x) % kWords * 4;
    deep_ = static_cast<int>(threadIdx.x) / kWords;
    from_ = x.At(first_line + line, deep_);
    to_ = (deep_ * kPitch + line) * 4;
  }

  __device__ void Begin(std::uint32_t stage) {
    const float* first = from_ - static_cast<std::int64_t>(deep_) * pitch_;
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      const bool exists = deep_ + i * kDepthsAtOnce < first_depths_;
      CopyAsync<16>(To(stage, i), exists ? From(i) : first, exists ? 16 : 0);
    }
    from_ += static_cast<std::int64_t>(first_depths_) * pitch_;
  }
  __device__ void Ask(int part, std::uint32_t stage, bool more) {
    CopyAsyncIf(To(stage, part), From(part), more);
    if (part == kParts - 1) from_ += static_cast<std::int64_t>(kDepth) * pitch_;
  }
  __device__ void Put(int /*part*/, std::uint32_t /*stage*/) {}

 private:
  __device__ const float* From(int part) const {
    return from_ + static_cast<std::int64_t>(part * kDepthsAtOnce) * pitch_;
  }
  __device__ std::uint32_t To(std::uint32_t stage, int part) const {
    return stage + to_ + part * (kDepthsAtOnce * kPitch * 4);
  }

  const float* from_;
  std::uint32_t to_;
  int pitch_, first_depths_, deep_;
};

// The depth is contiguous: 16 bytes of it through registers, transposed on the way. Copies of 4
// bytes around the registers would each take a place in the queue that 16 bytes do. Two lanes share
// a line: the stores of a warp then are in 32 banks, the loads in whole sectors.
template <int kLines, int kPitch, int kDepth, int kThreads>
class TurnedCopies {
 public:
  static constexpr bool kHeld = true;
  static constexpr int kLinesAtOnce = kThreads / 2;
  static constexpr int kPasses = kLines / kLinesAtOnce;
  static constexpr int kParts = kPasses * (kDepth / 8);
  static_assert(kLines % kLinesAtOnce == 0 && kDepth % 8 == 0 && kPitch % 32 == 4);

  __device__ TurnedCopies(const LinesByDepth& x, int first_line)
      : pitch_(x.pitch), first_depths_(x.FirstDepths(kDepth)) {
    const int line = static_cast<int>(threadIdx.x) / 2;
    deep_ = static_cast<int>(threadIdx.x) % 2 * 4;
    from_ = x.At(deep_, first_line + line);
    to_ = (deep_ * kPitch + line) * 4;
  }

  __device__ void Begin(std::uint32_t stage) {
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      held_[i] = make_float4(0, 0, 0, 0);
      LoadIf(held_[i], From(i), deep_ + i / kPasses * 8 < first_depths_);
      Put(i, stage);
    }
    from_ += first_depths_;
  }
  __device__ void Ask(int part, std::uint32_t /*stage*/, bool more) {
    LoadIf(held_[part], From(part), more);
    if (part == kParts - 1) from_ += kDepth;
  }
  __device__ void Put(int part, std::uint32_t stage) {
    const std::uint32_t to =
        stage + to_ + (part / kPasses * 8 * kPitch + part % kPasses * kLinesAtOnce) * 4;
    StoreShared(to, held_[part].x);
    StoreShared(to + kPitch * 4, held_[part].y);
    StoreShared(to + kPitch * 8, held_[part].z);
    StoreShared(to + kPitch * 12, held_[part].w);
  }

 private:
  __device__ const float* From(int part) const {
    return from_ + static_cast<std::int64_t>(part % kPasses * kLinesAtOnce) * pitch_ +
           part / kPasses * 8;
  }

  const float* from_;
  std::uint32_t to_;
  int pitch_, first_depths_, deep_;
  float4 held_[kParts];
};

// Any matrix: 4 bytes at a time where words are not whole. Lines past the last are the last one's;
// what they give is not stored.
template <int kLines, int kPitch, int kDepth, int kThreads, bool kDepthContiguous>
class GuardedCopies {
 public:
  static constexpr bool kHeld = false;
  static constexpr int kParts = 1;

  __device__ GuardedCopies(const LinesByDepth& x, int first_line) : x_(x), first_(first_line) {}

  __device__ void Begin(std::uint32_t stage) { Copy(stage, x_.FirstDepths(kDepth)); }
  __device__ void Ask(int /*part*/, std::uint32_t stage, bool more) {
    if (more) Copy(stage, kDepth);
  }
  __device__ void Put(int /*part*/, std::uint32_t /*stage*/) {}

 private:
  // `depths` of them, zeros behind.
  __device__ void Copy(std::uint32_t stage, int depths) {
    constexpr int kAtOnce = kDepthContiguous ? 8 : kThreads / (kLines / 4);  // depths
    constexpr int kLinesAtOnce = kDepthContiguous ? kThreads / 8 : kLines;
    static_assert(kDepth % kAtOnce == 0 && kLines % kLinesAtOnce == 0);
    const int t = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int deeps = 0; deeps < kDepth; deeps += kAtOnce) {
      const int deep = deeps + (kDepthContiguous ? t % 8 : t / (kLines / 4));
      const bool exists = deep < depths;
      const int depth = depth_ + (exists ? deep : 0);
#pragma unroll
      for (int lines = 0; lines < kLines; lines += kLinesAtOnce) {
        const int line = lines + (kDepthContiguous ? t / 8 : t % (kLines / 4) * 4);
        const std::uint32_t to = stage + (deep * kPitch + line) * 4;
        if constexpr (kDepthContiguous) {
          CopyAsync<4>(to, x_.At(depth, Line(line)), exists ? 4 : 0);
        } else if (x_.whole_words) {
          CopyAsync<16>(to, x_.At(min(first_ + line, x_.lines - 4), depth), exists ? 16 : 0);
        } else {
#pragma unroll 1
          for (int i = 0; i < 4; ++i) {
            CopyAsync<4>(to + 4 * i, x_.At(Line(line + i), depth), exists ? 4 : 0);
          }
        }
      }
    }
    depth_ += depths;
  }
  __device__ int Line(int line) const { return min(first_ + line, x_.lines - 1); }

  LinesByDepth x_;
  int first_, depth_ = 0;
};

}  // namespace kbench::cuda
