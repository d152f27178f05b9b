#include "kernels/cublas/gemm.h"

#include <cuda_runtime_api.h>

#include <cstdlib>

#include "kernels/cuda/device_instance.h"

namespace kbench::cublas {

Arithmetic ArithmeticOf(DType dtype) {
  switch (dtype) {
    case DType::kFp64:
      return {CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, "CUBLAS_COMPUTE_64F"};
    case DType::kTf32:
      return {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32,
              "CUBLAS_COMPUTE_32F_FAST_TF32"};
    case DType::kFp16:
      return {CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, "CUBLAS_COMPUTE_32F"};
    case DType::kBf16:
      return {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, "CUBLAS_COMPUTE_32F"};
    case DType::kFp8E4M3:
      return {CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, "CUBLAS_COMPUTE_32F"};
    case DType::kInt8:
      return {CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I, "CUBLAS_COMPUTE_32I"};
    default:
      return {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, "CUBLAS_COMPUTE_32F"};
  }
}

const void* One(cudaDataType_t scale) {
  static const double wide = 1;
  static const float narrow = 1;
  static const std::int32_t whole = 1;
  if (scale == CUDA_R_32I) return &whole;
  return scale == CUDA_R_64F ? static_cast<const void*>(&wide) : &narrow;
}

const void* Zero() {
  static const std::int64_t zeros = 0;  // 0 in every type
  return &zeros;
}

GemmCall MakeCall(const Shape& shape, const OperandPointers& operands) {
  const std::int64_t m = shape["m"], n = shape["n"], k = shape["k"];
  const bool transposed_a = shape.layout[0] == 't';
  const bool transposed_b = shape.layout[1] == 't';
  return {.rows = n,
          .cols = m,
          .depth = k,
          .operation_first = transposed_b ? CUBLAS_OP_T : CUBLAS_OP_N,
          .operation_second = transposed_a ? CUBLAS_OP_T : CUBLAS_OP_N,
          .leading_first = transposed_b ? k : n,
          .leading_second = transposed_a ? m : k,
          .first = operands.inputs[1],
          .second = operands.inputs[0],
          .result = operands.output};
}

Workspace::~Workspace() {
  if (data_ != nullptr) cudaFree(data_);
}

std::optional<ImplementationError> Workspace::Allocate() {
  const cudaError_t error = cudaMalloc(&data_, kWorkspaceBytes);
  if (error == cudaSuccess) return std::nullopt;
  cudaGetLastError();  // so that no later launch reports it
  return ImplementationError{error == cudaErrorMemoryAllocation
                                 ? ImplementationError::Kind::kOutOfMemory
                                 : ImplementationError::Kind::kDeviceError,
                             "the workspace of " + std::to_string(kWorkspaceBytes) +
                                 " bytes: " + cudaGetErrorString(error),
                             static_cast<std::int64_t>(kWorkspaceBytes)};
}

std::string StatusText(int status) {
  const auto known = static_cast<cublasStatus_t>(status);
  return std::string(cublasGetStatusName(known)) + ": " + cublasGetStatusString(known);
}

ImplementationError StatusError(const std::string& what, cublasStatus_t status) {
  const bool memory = status == CUBLAS_STATUS_ALLOC_FAILED;
  return ImplementationError{
      memory ? ImplementationError::Kind::kOutOfMemory : ImplementationError::Kind::kDeviceError,
      what + ": " + StatusText(status), 0};
}

namespace {

std::optional<std::string> NotContiguousAlongK(const Shape& shape) {
  if (shape.layout == "nt") return std::nullopt;
  return "cuBLAS multiplies 8-bit types on tensor cores only where both operands are contiguous "
         "along k: layout=nt, not " +
         shape.layout;
}

std::optional<std::string> NotMultiple(const Shape& shape, const char* extent,
                                       std::int64_t divisor) {
  if (shape[extent] % divisor == 0) return std::nullopt;
  return std::string("cuBLAS needs ") + extent + " to be a multiple of " + std::to_string(divisor) +
         ", not " + std::to_string(shape[extent]);
}

}  // namespace

// Other layouts exist for some extents, without tensor cores and twelve times slower (an H200's
// 4096 with cuBLAS 13.1): nothing to compare with.
std::optional<std::string> UnalignedInt8(const Shape& shape) {
  if (auto why = NotContiguousAlongK(shape)) return why;
  return NotMultiple(shape, "k", 4);
}

// 16 bytes a row of the operands and of the bf16 result. Blackwell's data centre cards (10.x) take
// the other layouts too.
std::optional<std::string> UnalignedFp8(const Shape& shape) {
  const bool any_layout = cuda::CurrentDevice().compute_capability / 10 == 10;
  if (!any_layout) {
    if (auto why = NotContiguousAlongK(shape)) return why;
  } else if (shape.layout[0] == 't') {
    if (auto why = NotMultiple(shape, "m", 16)) return why;
  }
  if (auto why = NotMultiple(shape, "k", 16)) return why;
  return NotMultiple(shape, "n", shape.layout[1] == 't' ? 8 : 16);
}

std::optional<std::string> OverriddenMathMode(const Problem& problem) {
  const char* value = std::getenv("NVIDIA_TF32_OVERRIDE");
  if (value == nullptr || *value == '\0') return std::nullopt;
  const bool off = std::string(value) == "0";
  if (problem.dtype == DType::kTf32 && off) {
    return "NVIDIA_TF32_OVERRIDE=0 is set, so cuBLAS would compute in fp32: unset it";
  }
  if (problem.dtype == DType::kFp32 && !off) {
    return "NVIDIA_TF32_OVERRIDE=" + std::string(value) +
           " is set, so cuBLAS may compute in TF32: unset it";
  }
  return std::nullopt;
}

}  // namespace kbench::cublas
