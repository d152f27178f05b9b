// What cuBLAS and cuBLASLt share: how a row-major product is said to a column-major library, what a
// dtype means to it, and a workspace. Used from one thread, with the device of the context current.
#pragma once

#include <cublas_v2.h>

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/implementation.h"

namespace kbench::cublas {

// What cuBLAS wants on Hopper and newer, and what PyTorch gives it there. Given explicitly, so that
// the library allocates nothing of its own and the same launch may be captured into a graph.
inline constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

// What a dtype means to cuBLAS. fp32 stays IEEE: CUBLAS_COMPUTE_32F uses TF32 only where the
// handle's math mode allows it, and ours does not.
struct Arithmetic {
  cudaDataType_t storage;  // of the operands
  cudaDataType_t result;
  cudaDataType_t scale;  // of alpha and beta
  cublasComputeType_t compute;
  const char* compute_name;
};
Arithmetic ArithmeticOf(DType dtype);

// 1 and 0 in the scale's type, for alpha and beta.
const void* One(cudaDataType_t scale);
const void* Zero();

// Row-major c = op(a) op(b) is column-major c^T = op(b)^T op(a)^T: the operands change places and
// what is transposed stays so.
struct GemmCall {
  std::int64_t rows, cols, depth;  // of c^T, as cuBLAS counts
  cublasOperation_t operation_first, operation_second;
  std::int64_t leading_first, leading_second;
  const void* first;
  const void* second;
  void* result;
};
GemmCall MakeCall(const Shape& shape, const OperandPointers& operands);

// kWorkspaceBytes of device memory; empty until Allocate().
class Workspace {
 public:
  Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace();
  std::optional<ImplementationError> Allocate();
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

// A status as an error; ALLOC_FAILED is an OUT_OF_MEMORY; the library does not say of how
// much.
ImplementationError StatusError(const std::string& what, cublasStatus_t status);
std::string StatusText(int status);

// What the libraries ask of operands of 8 bits: why a shape is refused, or nothing.
std::optional<std::string> UnalignedInt8(const Shape& shape);
std::optional<std::string> UnalignedFp8(const Shape& shape);

// NVIDIA_TF32_OVERRIDE changes what fp32 and tf32 mean behind our back: why the problem is refused
// then, or nothing.
std::optional<std::string> OverriddenMathMode(const Problem& problem);

}  // namespace kbench::cublas
