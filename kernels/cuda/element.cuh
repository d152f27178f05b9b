// How the CUDA kernels see one element of a dtype: how it lies in memory, what it computes in, and
// the conversions between. Device code.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "kernels/catalog/dtype.h"

namespace kbench::cuda {

// An fp32 value rounded to TF32, ties away from zero: tensor cores fed with plain bits would
// truncate.
__device__ inline float RoundToTf32(float x) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return __uint_as_float(bits);
}

// Load gives an operand of a product; Operand makes one of a computed value; Store rounds a result
// to how it lies in memory.
template <DType D>
struct Element;

template <>
struct Element<DType::kFp64> {
  using Storage = double;
  using Compute = double;
  __device__ static double Load(double x) { return x; }
  __device__ static double Operand(double x) { return x; }
  __device__ static double Store(double x) { return x; }
};

template <>
struct Element<DType::kFp32> {
  using Storage = float;
  using Compute = float;
  __device__ static float Load(float x) { return x; }
  __device__ static float Operand(float x) { return x; }
  __device__ static float Store(float x) { return x; }
};

template <>
struct Element<DType::kTf32> {
  using Storage = float;
  using Compute = float;
  __device__ static float Load(float x) { return RoundToTf32(x); }
  __device__ static float Operand(float x) { return RoundToTf32(x); }
  __device__ static float Store(float x) { return x; }
};

template <>
struct Element<DType::kFp16> {
  using Storage = __half;
  using Compute = float;
  __device__ static float Load(__half x) { return __half2float(x); }
  __device__ static float Operand(float x) { return x; }
  __device__ static __half Store(float x) { return __float2half_rn(x); }
};

template <>
struct Element<DType::kBf16> {
  using Storage = __nv_bfloat16;
  using Compute = float;
  __device__ static float Load(__nv_bfloat16 x) { return __bfloat162float(x); }
  __device__ static float Operand(float x) { return x; }
  __device__ static __nv_bfloat16 Store(float x) { return __float2bfloat16_rn(x); }
};

// These two are dtypes of products alone, whose result is stored wider.
template <>
struct Element<DType::kFp8E4M3> {
  using Storage = __nv_fp8_storage_t;
  using Compute = float;
  __device__ static float Load(__nv_fp8_storage_t x) {
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(x, __NV_E4M3)));
  }
  __device__ static __nv_bfloat16 Store(float x) { return __float2bfloat16_rn(x); }
};

template <>
struct Element<DType::kInt8> {
  using Storage = signed char;
  using Compute = int;
  __device__ static int Load(signed char x) { return x; }
  __device__ static int Store(int x) { return x; }
};

// How a result lies in memory.
template <typename E>
using ResultOf = decltype(E::Store(typename E::Compute{}));

}  // namespace kbench::cuda
