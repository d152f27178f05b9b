#include "kernels/cublas/matmul.h"

#include <utility>

#include "kernels/cublas/gemm.h"
#include "kernels/cuda/device_instance.h"

namespace kbench {
namespace cublas {
namespace {

using CreateResult = Expected<std::unique_ptr<Instance>, ImplementationError>;

class CublasInstance : public Instance {
 public:
  CublasInstance(DType dtype, GemmCall call) : arithmetic_(ArithmeticOf(dtype)), call_(call) {}
  CublasInstance(const CublasInstance&) = delete;
  CublasInstance& operator=(const CublasInstance&) = delete;
  ~CublasInstance() override {
    if (handle_ != nullptr) cublasDestroy(handle_);
  }

  // Nothing, or why the handle or its workspace cannot be had.
  std::optional<ImplementationError> Prepare(void* stream);
  int Launch(void* stream) noexcept override;
  std::string ErrorText(int error) const override { return StatusText(error); }
  std::map<std::string, std::string> Configuration() const override;

 private:
  // The workspace belongs to the stream it was set for.
  cublasStatus_t UseStream(void* stream);

  const Arithmetic arithmetic_;
  const GemmCall call_;
  Workspace workspace_;
  cublasHandle_t handle_ = nullptr;
  void* stream_ = nullptr;
};

std::optional<ImplementationError> CublasInstance::Prepare(void* stream) {
  if (auto error = workspace_.Allocate()) return error;
  cublasStatus_t status = cublasCreate(&handle_);
  // Partial sums of half types stay in fp32: nothing is silently less exact than the label says.
  const auto mode = static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH |
                                              CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
  if (status == CUBLAS_STATUS_SUCCESS) status = cublasSetMathMode(handle_, mode);
  if (status == CUBLAS_STATUS_SUCCESS) status = UseStream(stream);
  if (status == CUBLAS_STATUS_SUCCESS) return std::nullopt;
  return StatusError("the cuBLAS handle", status);
}

cublasStatus_t CublasInstance::UseStream(void* stream) {
  cublasStatus_t status = cublasSetStream(handle_, static_cast<cudaStream_t>(stream));
  if (status == CUBLAS_STATUS_SUCCESS) {
    status = cublasSetWorkspace(handle_, workspace_.data(), kWorkspaceBytes);
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
  return cublasGemmEx_64(handle_, call_.operation_first, call_.operation_second, call_.rows,
                         call_.cols, call_.depth, One(arithmetic_.scale), call_.first,
                         arithmetic_.storage, call_.leading_first, call_.second,
                         arithmetic_.storage, call_.leading_second, Zero(), call_.result,
                         arithmetic_.result, call_.rows, arithmetic_.compute, CUBLAS_GEMM_DEFAULT);
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

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& context) {
  auto instance =
      std::make_unique<CublasInstance>(problem.dtype, MakeCall(problem.shape, operands));
  if (auto error = instance->Prepare(context.stream)) return *std::move(error);
  return std::unique_ptr<Instance>(std::move(instance));
}

std::optional<std::string> Unsupported(const Problem& problem) {
  return problem.dtype == DType::kInt8 ? UnalignedInt8(problem.shape) : OverriddenMathMode(problem);
}

}  // namespace
}  // namespace cublas

Implementation CublasMatmul() {
  return {.name = "cublas",
          .family = "cublas",
          .kernel = "matmul",
          .summary = "cublasGemmEx, the algorithm its own heuristic takes",
          .dtypes = {DType::kFp64, DType::kFp32, DType::kTf32, DType::kFp16, DType::kBf16,
                     DType::kInt8},
          .dtype_missing = cuda::MissingForProducts,
          .default_choice = true,
          .unsupported = cublas::Unsupported,
          .create = cublas::Create};
}

}  // namespace kbench
