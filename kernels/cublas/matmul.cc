#include "kernels/cublas/matmul.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <limits>
#include <utility>

namespace kbench {
namespace {

using Kind = ImplementationError::Kind;
using CreateResult = Expected<std::unique_ptr<Instance>, ImplementationError>;

// What cuBLAS wants on Hopper and newer, and what PyTorch gives it there. Given explicitly, so that
// cuBLAS allocates nothing of its own and the same launch may be captured into a graph.
constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

// What a dtype means to cuBLAS. fp32 stays IEEE: CUBLAS_COMPUTE_32F uses TF32 only where the
// handle's math mode allows it, and ours does not.
struct Arithmetic {
  cudaDataType_t storage;
  cublasComputeType_t compute;
  const char* compute_name;
};

Arithmetic ArithmeticOf(DType dtype) {
  switch (dtype) {
    case DType::kFp64:
      return {CUDA_R_64F, CUBLAS_COMPUTE_64F, "CUBLAS_COMPUTE_64F"};
    case DType::kTf32:
      return {CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, "CUBLAS_COMPUTE_32F_FAST_TF32"};
    case DType::kFp16:
      return {CUDA_R_16F, CUBLAS_COMPUTE_32F, "CUBLAS_COMPUTE_32F"};
    case DType::kBf16:
      return {CUDA_R_16BF, CUBLAS_COMPUTE_32F, "CUBLAS_COMPUTE_32F"};
    default:
      return {CUDA_R_32F, CUBLAS_COMPUTE_32F, "CUBLAS_COMPUTE_32F"};
  }
}

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

class CublasInstance : public Instance {
 public:
  CublasInstance(DType dtype, GemmCall call)
      : dtype_(dtype), arithmetic_(ArithmeticOf(dtype)), call_(call) {}
  CublasInstance(const CublasInstance&) = delete;
  CublasInstance& operator=(const CublasInstance&) = delete;
  ~CublasInstance() override {
    if (handle_ != nullptr) cublasDestroy(handle_);
    if (workspace_ != nullptr) cudaFree(workspace_);
  }

  // Nothing, or why the handle or its workspace cannot be had.
  std::optional<ImplementationError> Prepare(void* stream);
  int Launch(void* stream) noexcept override;
  std::string ErrorText(int error) const override {
    const auto status = static_cast<cublasStatus_t>(error);
    return std::string(cublasGetStatusName(status)) + ": " + cublasGetStatusString(status);
  }
  std::map<std::string, std::string> Configuration() const override;

 private:
  // The workspace belongs to the stream it was set for.
  cublasStatus_t UseStream(void* stream);

  DType dtype_;
  Arithmetic arithmetic_;
  GemmCall call_;
  cublasHandle_t handle_ = nullptr;
  void* workspace_ = nullptr;
  void* stream_ = nullptr;
};

std::optional<ImplementationError> CublasInstance::Prepare(void* stream) {
  if (const cudaError_t error = cudaMalloc(&workspace_, kWorkspaceBytes); error != cudaSuccess) {
    cudaGetLastError();  // so that no later launch reports it
    return ImplementationError{
        error == cudaErrorMemoryAllocation ? Kind::kOutOfMemory : Kind::kDeviceError,
        "cuBLAS's workspace of " + std::to_string(kWorkspaceBytes) +
            " bytes: " + cudaGetErrorString(error),
        static_cast<std::int64_t>(kWorkspaceBytes)};
  }
  cublasStatus_t status = cublasCreate(&handle_);
  // Partial sums of half types stay in fp32: nothing is silently less exact than the label says.
  const auto mode = static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH |
                                              CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
  if (status == CUBLAS_STATUS_SUCCESS) status = cublasSetMathMode(handle_, mode);
  if (status == CUBLAS_STATUS_SUCCESS) status = UseStream(stream);
  if (status == CUBLAS_STATUS_SUCCESS) return std::nullopt;
  const bool memory = status == CUBLAS_STATUS_ALLOC_FAILED;
  return ImplementationError{memory ? Kind::kOutOfMemory : Kind::kDeviceError,
                             "the cuBLAS handle: " + ErrorText(status),
                             memory ? static_cast<std::int64_t>(kWorkspaceBytes) : 0};
}

cublasStatus_t CublasInstance::UseStream(void* stream) {
  cublasStatus_t status = cublasSetStream(handle_, static_cast<cudaStream_t>(stream));
  if (status == CUBLAS_STATUS_SUCCESS) {
    status = cublasSetWorkspace(handle_, workspace_, kWorkspaceBytes);
  }
  if (status == CUBLAS_STATUS_SUCCESS) stream_ = stream;
  return status;
}

int CublasInstance::Launch(void* stream) noexcept {
  if (stream != stream_) {
    if (const cublasStatus_t status = UseStream(stream); status != CUBLAS_STATUS_SUCCESS) {
      return status;
    }
  }
  const bool is_double = dtype_ == DType::kFp64;
  const double double_one = 1, double_zero = 0;
  const float one = 1, zero = 0;
  const void* alpha = is_double ? static_cast<const void*>(&double_one) : &one;
  const void* beta = is_double ? static_cast<const void*>(&double_zero) : &zero;
  return cublasGemmEx_64(handle_, call_.operation_first, call_.operation_second, call_.rows,
                         call_.cols, call_.depth, alpha, call_.first, arithmetic_.storage,
                         call_.leading_first, call_.second, arithmetic_.storage,
                         call_.leading_second, beta, call_.result, arithmetic_.storage, call_.rows,
                         arithmetic_.compute, CUBLAS_GEMM_DEFAULT);
}

std::map<std::string, std::string> CublasInstance::Configuration() const {
  int version = 0;
  cublasGetVersion(handle_, &version);
  return {
      {"library", "cuBLAS " + std::to_string(version / 10000) + "." +
                      std::to_string(version / 100 % 100) + "." + std::to_string(version % 100)},
      {"compute_type", arithmetic_.compute_name},
      {"algorithm", "CUBLAS_GEMM_DEFAULT"},
      {"math_mode", "default, reduced-precision reduction disallowed"},
      {"workspace_bytes", std::to_string(kWorkspaceBytes)}};
}

// NVIDIA_TF32_OVERRIDE changes what fp32 and tf32 mean behind our back.
std::optional<std::string> OverriddenMathMode(DType dtype) {
  const char* value = std::getenv("NVIDIA_TF32_OVERRIDE");
  if (value == nullptr || *value == '\0') return std::nullopt;
  const bool off = std::string(value) == "0";
  if (dtype == DType::kTf32 && off) {
    return "NVIDIA_TF32_OVERRIDE=0 is set, so cuBLAS would compute in fp32: unset it";
  }
  if (dtype == DType::kFp32 && !off) {
    return "NVIDIA_TF32_OVERRIDE=" + std::string(value) +
           " is set, so cuBLAS may compute in TF32: unset it";
  }
  return std::nullopt;
}

std::optional<std::string> Unsupported(const Problem& problem) {
  return OverriddenMathMode(problem.dtype);
}

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& context) {
  auto instance =
      std::make_unique<CublasInstance>(problem.dtype, MakeCall(problem.shape, operands));
  if (std::optional<ImplementationError> error = instance->Prepare(context.stream)) {
    return *std::move(error);
  }
  return std::unique_ptr<Instance>(std::move(instance));
}

}  // namespace

Implementation CublasMatmul() {
  return {.name = "cublas",
          .family = "cublas",
          .kernel = "matmul",
          .summary = "cublasGemmEx, the algorithm its own heuristic takes",
          .dtypes = {DType::kFp64, DType::kFp32, DType::kTf32, DType::kFp16, DType::kBf16},
          .default_choice = true,
          .unsupported = Unsupported,
          .create = Create};
}

}  // namespace kbench
