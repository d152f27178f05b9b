// The tensor cores by warp group (wgmma, sm_90a only): 64 x kN products of tiles in shared memory,
// in the background. All 128 threads of a warp group call these together, in a kernel that other
// architectures compile to nothing. Device code.
//
// A warp group w holds of its 64 x kN accumulator, with g = lane / 4 and t = lane % 4 of warp i:
//   d[4 j + 0, 1] at (16 i + g, 8 j + 2 t) and the next column, d[4 j + 2, 3] eight rows below.
//
// The order of use: WgmmaFence, Wgmma ..., WgmmaCommit, WgmmaWait<n>; between the first and the
// wait nobody may touch the accumulators. An operand a in registers must stay untouched just as
// long.
#pragma once

#include <cstdint>

#include "kernels/catalog/dtype.h"

namespace kbench::cuda {

__device__ inline void WgmmaFence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void WgmmaCommit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// All but the newest kPending groups are done.
template <int kPending>
__device__ inline void WgmmaWait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Keeps the compiler from moving reads or writes of registers across; costs nothing.
template <int kCount>
__device__ inline void KeepInRegisters(float (&values)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(values[i])::"memory");
}

// How a tile lies in shared memory: rows of 128 bytes swizzled as TMA's SWIZZLE_128B does, the tile
// aligned to 1024 bytes. (Pieces of 16 bytes: piece p of row r lies at p ^ (r % 8).)
//
// K-major (the products' depth is contiguous): a row holds 128 bytes of depth; the next rows of the
// operand follow each other; the next 16 (fp16) or 8 (tf32) of depth are 32 bytes on.
__device__ inline std::uint64_t DescribeKMajor(std::uint32_t shared_address) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
  constexpr std::uint64_t kEightRows = std::uint64_t{1024 >> 4} << 32;
  return ((shared_address & 0x3ffff) >> 4) | std::uint64_t{1} << 16 | kEightRows | kSwizzle128;
}

// MN-major (fp16 and bf16 only): a row holds 64 elements along m or n, the rows follow each other
// in depth; the next 64 elements lie `panel_bytes` on; the next 16 of depth are 2048 bytes on.
__device__ inline std::uint64_t DescribeMnMajor(std::uint32_t shared_address,
                                                std::uint32_t panel_bytes) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
  constexpr std::uint64_t kEightRows = std::uint64_t{1024 >> 4} << 32;
  return ((shared_address & 0x3ffff) >> 4) | std::uint64_t{panel_bytes >> 4} << 16 | kEightRows |
         kSwizzle128;
}

// A descriptor of what lies `bytes` further on.
__device__ inline std::uint64_t Advance(std::uint64_t descriptor, std::uint32_t bytes) {
  return descriptor + (bytes >> 4);
}

// What PTX calls an instruction on these operands: the depth and types, and the flags that say
// which operand is MN-major (only fp16 and bf16 have them).
template <DType D, bool kMnMajorA, bool kMnMajorB>
struct WgmmaWords;
#define KBENCH_WGMMA_FLAGS(DTYPE, TYPES, A, B)              \
  template <>                                               \
  struct WgmmaWords<DTYPE, A, B> {                          \
    static constexpr const char kTypes[] = TYPES;           \
    static constexpr const char kFlags[] = ", " #A ", " #B; \
    static constexpr const char kFlagB[] = ", " #B;         \
  };
#define KBENCH_WGMMA_WORDS(DTYPE, TYPES) \
  KBENCH_WGMMA_FLAGS(DTYPE, TYPES, 0, 0) \
  KBENCH_WGMMA_FLAGS(DTYPE, TYPES, 0, 1) \
  KBENCH_WGMMA_FLAGS(DTYPE, TYPES, 1, 0) \
  KBENCH_WGMMA_FLAGS(DTYPE, TYPES, 1, 1)
KBENCH_WGMMA_WORDS(DType::kFp16, "k16.f32.f16.f16")
KBENCH_WGMMA_WORDS(DType::kBf16, "k16.f32.bf16.bf16")
#undef KBENCH_WGMMA_WORDS
#undef KBENCH_WGMMA_FLAGS
template <>
struct WgmmaWords<DType::kTf32, false, false> {
  static constexpr const char kTypes[] = "k8.f32.tf32.tf32";
  static constexpr const char kFlags[] = "";
  static constexpr const char kFlagB[] = "";
};

template <int kN>
struct WgmmaShape;

// PTX wants every register of the accumulator by number: tens of placeholders, tens of operands.
#define KBENCH_TEN(T)                                                                              \
  "%" #T "0, %" #T "1, %" #T "2, %" #T "3, %" #T "4, %" #T "5, %" #T "6, %" #T "7, %" #T "8, %" #T \
  "9"
#define KBENCH_D2(i) "+f"(d[i]), "+f"(d[i + 1])
#define KBENCH_D4(i) KBENCH_D2(i), KBENCH_D2(i + 2)
#define KBENCH_D6(i) KBENCH_D4(i), KBENCH_D2(i + 4)
#define KBENCH_D8(i) KBENCH_D4(i), KBENCH_D4(i + 4)
#define KBENCH_D10(i) KBENCH_D8(i), KBENCH_D2(i + 8)
#define KBENCH_P10 KBENCH_TEN()
#define KBENCH_R10 KBENCH_D10(0)
#define KBENCH_P20 KBENCH_P10 ", " KBENCH_TEN(1)
#define KBENCH_R20 KBENCH_R10, KBENCH_D10(10)
#define KBENCH_P30 KBENCH_P20 ", " KBENCH_TEN(2)
#define KBENCH_R30 KBENCH_R20, KBENCH_D10(20)
#define KBENCH_P40 KBENCH_P30 ", " KBENCH_TEN(3)
#define KBENCH_R40 KBENCH_R30, KBENCH_D10(30)
#define KBENCH_P50 KBENCH_P40 ", " KBENCH_TEN(4)
#define KBENCH_R50 KBENCH_R40, KBENCH_D10(40)
#define KBENCH_P60 KBENCH_P50 ", " KBENCH_TEN(5)
#define KBENCH_R60 KBENCH_R50, KBENCH_D10(50)
#define KBENCH_P70 KBENCH_P60 ", " KBENCH_TEN(6)
#define KBENCH_R70 KBENCH_R60, KBENCH_D10(60)
#define KBENCH_P80 KBENCH_P70 ", " KBENCH_TEN(7)
#define KBENCH_R80 KBENCH_R70, KBENCH_D10(70)
#define KBENCH_P90 KBENCH_P80 ", " KBENCH_TEN(8)
#define KBENCH_R90 KBENCH_R80, KBENCH_D10(80)
#define KBENCH_P100 KBENCH_P90 ", " KBENCH_TEN(9)
#define KBENCH_R100 KBENCH_R90, KBENCH_D10(90)
#define KBENCH_P110 KBENCH_P100 ", " KBENCH_TEN(10)
#define KBENCH_R110 KBENCH_R100, KBENCH_D10(100)
#define KBENCH_P120 KBENCH_P110 ", " KBENCH_TEN(11)
#define KBENCH_R120 KBENCH_R110, KBENCH_D10(110)
#define KBENCH_LIST(...) __VA_ARGS__
#define KBENCH_WGMMA_SHAPE(N, PLACES, REGISTERS, I0, I1, I2, I3, I4, I5, I6, I7)                 \
  template <>                                                                                    \
  struct WgmmaShape<N> {                                                                         \
    template <typename Words>                                                                    \
    __device__ static void Run(float (&d)[N / 2], std::uint64_t a, std::uint64_t b, int add) {   \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " I2                                        \
                   ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N I3 " {" PLACES "}, " I0 ", " I1  \
                   ", p, 1, 1" I4 ";\n}"                                                         \
                   : KBENCH_LIST REGISTERS                                                       \
                   : "l"(a), "l"(b), "r"(add), "C"(Words::kTypes), "C"(Words::kFlags)            \
                   : "memory");                                                                  \
    }                                                                                            \
    template <typename Words>                                                                    \
    __device__ static void Run(float (&d)[N / 2], const std::uint32_t (&a)[4], std::uint64_t b,  \
                               int add) {                                                        \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " I5                                        \
                   ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N I6 " {" PLACES "}, {" I0 ", " I1 \
                   ", " I2 ", " I3 "}, " I4 ", p, 1, 1" I7 ";\n}"                                \
                   : KBENCH_LIST REGISTERS                                                       \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add),               \
                     "C"(Words::kTypes), "C"(Words::kFlagB)                                      \
                   : "memory");                                                                  \
    }                                                                                            \
  };
KBENCH_WGMMA_SHAPE(8, "%0, %1, %2, %3", (KBENCH_D4(0)), "%4", "%5", "%6", "%7", "%8", "%9", "%10",
                   "%11")
KBENCH_WGMMA_SHAPE(16, "%0, %1, %2, %3, %4, %5, %6, %7", (KBENCH_D8(0)), "%8", "%9", "%10", "%11",
                   "%12", "%13", "%14", "%15")
KBENCH_WGMMA_SHAPE(32, KBENCH_P10 ", %10, %11, %12, %13, %14, %15", (KBENCH_R10, KBENCH_D6(10)),
                   "%16", "%17", "%18", "%19", "%20", "%21", "%22", "%23")
KBENCH_WGMMA_SHAPE(64, KBENCH_P30 ", %30, %31", (KBENCH_R30, KBENCH_D2(30)), "%32", "%33", "%34",
                   "%35", "%36", "%37", "%38", "%39")
KBENCH_WGMMA_SHAPE(96, KBENCH_P40 ", %40, %41, %42, %43, %44, %45, %46, %47",
                   (KBENCH_R40, KBENCH_D8(40)), "%48", "%49", "%50", "%51", "%52", "%53", "%54",
                   "%55")
KBENCH_WGMMA_SHAPE(128, KBENCH_P60 ", %60, %61, %62, %63", (KBENCH_R60, KBENCH_D4(60)), "%64",
                   "%65", "%66", "%67", "%68", "%69", "%70", "%71")
KBENCH_WGMMA_SHAPE(160, KBENCH_P80, (KBENCH_R80), "%80", "%81", "%82", "%83", "%84", "%85", "%86",
                   "%87")
KBENCH_WGMMA_SHAPE(176, KBENCH_P80 ", %80, %81, %82, %83, %84, %85, %86, %87",
                   (KBENCH_R80, KBENCH_D8(80)), "%88", "%89", "%90", "%91", "%92", "%93", "%94",
                   "%95")
KBENCH_WGMMA_SHAPE(192, KBENCH_P90 ", %90, %91, %92, %93, %94, %95", (KBENCH_R90, KBENCH_D6(90)),
                   "%96", "%97", "%98", "%99", "%100", "%101", "%102", "%103")
KBENCH_WGMMA_SHAPE(256, KBENCH_P120 ", %120, %121, %122, %123, %124, %125, %126, %127",
                   (KBENCH_R120, KBENCH_D8(120)), "%128", "%129", "%130", "%131", "%132", "%133",
                   "%134", "%135")
#undef KBENCH_WGMMA_SHAPE
#undef KBENCH_LIST
#undef KBENCH_D2
#undef KBENCH_D4
#undef KBENCH_D6
#undef KBENCH_D8
#undef KBENCH_D10
#undef KBENCH_P10
#undef KBENCH_R10
#undef KBENCH_TEN
#undef KBENCH_P20
#undef KBENCH_R20
#undef KBENCH_P30
#undef KBENCH_R30
#undef KBENCH_P40
#undef KBENCH_R40
#undef KBENCH_P50
#undef KBENCH_R50
#undef KBENCH_P60
#undef KBENCH_R60
#undef KBENCH_P70
#undef KBENCH_R70
#undef KBENCH_P80
#undef KBENCH_R80
#undef KBENCH_P90
#undef KBENCH_R90
#undef KBENCH_P100
#undef KBENCH_R100
#undef KBENCH_P110
#undef KBENCH_R110
#undef KBENCH_P120
#undef KBENCH_R120

// d = a b, or d += a b where `add`: a is 64 x k and b is k x kN, k of 32 bytes.
template <DType D, int kN, bool kMnMajorA = false, bool kMnMajorB = false>
__device__ inline void Wgmma(float (&d)[kN / 2], std::uint64_t a, std::uint64_t b, bool add) {
  WgmmaShape<kN>::template Run<WgmmaWords<D, kMnMajorA, kMnMajorB>>(d, a, b, add ? 1 : 0);
}

// The same with a in registers, as mma.cuh's fragments: warp i of the group holds rows 16 i to
// 16 i + 15.
template <DType D, int kN, bool kMnMajorB = false>
__device__ inline void Wgmma(float (&d)[kN / 2], const std::uint32_t (&a)[4], std::uint64_t b,
                             bool add) {
  WgmmaShape<kN>::template Run<WgmmaWords<D, false, kMnMajorB>>(d, a, b, add ? 1 : 0);
}

}  // namespace kbench::cuda
