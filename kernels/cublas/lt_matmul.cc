#include "kernels/cublas/lt_matmul.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <utility>

#include "kernels/cublas/gemm.h"

namespace kbench {
namespace cublas {
namespace {

using CreateResult = Expected<std::unique_ptr<Instance>, ImplementationError>;
using Kind = ImplementationError::Kind;

// Partial sums of a split product stay in the accumulator's type: nothing is silently less exact
// than the label says.
constexpr std::uint32_t kReductions =
    CUBLASLT_REDUCTION_SCHEME_INPLACE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;

class CublasLtInstance : public Instance {
 public:
  CublasLtInstance(DType dtype, GemmCall call) : arithmetic_(ArithmeticOf(dtype)), call_(call) {}
  CublasLtInstance(const CublasLtInstance&) = delete;
  CublasLtInstance& operator=(const CublasLtInstance&) = delete;
  ~CublasLtInstance() override;

  // Nothing, or why there is no plan.
  std::optional<ImplementationError> Prepare();
  int Launch(void* stream) noexcept override {
    return cublasLtMatmul(handle_, product_, One(arithmetic_.scale), call_.first, first_,
                          call_.second, second_, Zero(arithmetic_.scale), call_.result, result_,
                          call_.result, result_, &chosen_.algo, workspace_.data(), kWorkspaceBytes,
                          static_cast<cudaStream_t>(stream));
  }
  std::string ErrorText(int error) const override { return StatusText(error); }
  std::map<std::string, std::string> Configuration() const override;

 private:
  cublasStatus_t Describe();
  cublasStatus_t Choose(int* found);
  int Attribute(cublasLtMatmulAlgoConfigAttributes_t attribute) const;

  const Arithmetic arithmetic_;
  const GemmCall call_;
  Workspace workspace_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t first_ = nullptr, second_ = nullptr, result_ = nullptr;
  cublasLtMatmulHeuristicResult_t chosen_{};
};

CublasLtInstance::~CublasLtInstance() {
  for (cublasLtMatrixLayout_t layout : {first_, second_, result_}) {
    if (layout != nullptr) cublasLtMatrixLayoutDestroy(layout);
  }
  if (product_ != nullptr) cublasLtMatmulDescDestroy(product_);
  if (handle_ != nullptr) cublasLtDestroy(handle_);
}

// Extents of a matrix as it is stored, before its operation.
cublasStatus_t MakeLayout(cublasLtMatrixLayout_t* layout, cudaDataType_t type,
                          cublasOperation_t operation, std::int64_t rows, std::int64_t cols,
                          std::int64_t leading) {
  if (operation == CUBLAS_OP_T) std::swap(rows, cols);
  return cublasLtMatrixLayoutCreate(layout, type, static_cast<std::uint64_t>(rows),
                                    static_cast<std::uint64_t>(cols), leading);
}

cublasStatus_t CublasLtInstance::Describe() {
  const GemmCall& c = call_;
  cublasStatus_t status =
      cublasLtMatmulDescCreate(&product_, arithmetic_.compute, arithmetic_.scale);
  if (status == CUBLAS_STATUS_SUCCESS) {
    status = cublasLtMatmulDescSetAttribute(product_, CUBLASLT_MATMUL_DESC_TRANSA,
                                            &c.operation_first, sizeof(c.operation_first));
  }
  if (status == CUBLAS_STATUS_SUCCESS) {
    status = cublasLtMatmulDescSetAttribute(product_, CUBLASLT_MATMUL_DESC_TRANSB,
                                            &c.operation_second, sizeof(c.operation_second));
  }
  if (status == CUBLAS_STATUS_SUCCESS) {
    status = MakeLayout(&first_, arithmetic_.storage, c.operation_first, c.rows, c.depth,
                        c.leading_first);
  }
  if (status == CUBLAS_STATUS_SUCCESS) {
    status = MakeLayout(&second_, arithmetic_.storage, c.operation_second, c.depth, c.cols,
                        c.leading_second);
  }
  if (status == CUBLAS_STATUS_SUCCESS) {
    status = MakeLayout(&result_, arithmetic_.storage, CUBLAS_OP_N, c.rows, c.cols, c.rows);
  }
  return status;
}

cublasStatus_t CublasLtInstance::Choose(int* found) {
  cublasLtMatmulPreference_t preference = nullptr;
  cublasStatus_t status = cublasLtMatmulPreferenceCreate(&preference);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const std::uint64_t bytes = kWorkspaceBytes;
  status = cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof(bytes));
  if (status == CUBLAS_STATUS_SUCCESS) {
    status = cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &kReductions, sizeof(kReductions));
  }
  if (status == CUBLAS_STATUS_SUCCESS) {
    status = cublasLtMatmulAlgoGetHeuristic(handle_, product_, first_, second_, result_, result_,
                                            preference, 1, &chosen_, found);
  }
  cublasLtMatmulPreferenceDestroy(preference);
  return status;
}

std::optional<ImplementationError> CublasLtInstance::Prepare() {
  if (auto error = workspace_.Allocate()) return error;
  cublasStatus_t status = cublasLtCreate(&handle_);
  if (status == CUBLAS_STATUS_SUCCESS) status = Describe();
  if (status != CUBLAS_STATUS_SUCCESS) return StatusError("the cuBLASLt plan", status);
  int found = 0;
  status = Choose(&found);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && found == 0)) {
    return ImplementationError{Kind::kUnsupported,
                               "cuBLASLt's heuristic knows no algorithm for this product", 0};
  }
  if (status != CUBLAS_STATUS_SUCCESS) return StatusError("cuBLASLt's heuristic", status);
  return std::nullopt;
}

int CublasLtInstance::Attribute(cublasLtMatmulAlgoConfigAttributes_t attribute) const {
  std::int32_t value = -1;
  (void)cublasLtMatmulAlgoConfigGetAttribute(&chosen_.algo, attribute, &value, sizeof(value),
                                             nullptr);
  return value;
}

std::map<std::string, std::string> CublasLtInstance::Configuration() const {
  const std::size_t version = cublasLtGetVersion();
  return {
      {"library", "cuBLASLt " + std::to_string(version / 10000) + "." +
                      std::to_string(version / 100 % 100) + "." + std::to_string(version % 100)},
      {"compute_type", arithmetic_.compute_name},
      {"algorithm", std::to_string(Attribute(CUBLASLT_ALGO_CONFIG_ID))},
      {"tile", std::to_string(Attribute(CUBLASLT_ALGO_CONFIG_TILE_ID))},
      {"stages", std::to_string(Attribute(CUBLASLT_ALGO_CONFIG_STAGES_ID))},
      {"split_k", std::to_string(Attribute(CUBLASLT_ALGO_CONFIG_SPLITK_NUM))},
      {"workspace_bytes", std::to_string(chosen_.workspaceSize)}};
}

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& /*context*/) {
  auto instance =
      std::make_unique<CublasLtInstance>(problem.dtype, MakeCall(problem.shape, operands));
  if (auto error = instance->Prepare()) return *std::move(error);
  return std::unique_ptr<Instance>(std::move(instance));
}

}  // namespace
}  // namespace cublas

Implementation CublasLtMatmul() {
  return {.name = "cublaslt",
          .family = "cublaslt",
          .kernel = "matmul",
          .summary = "cublasLtMatmul, the first algorithm of its heuristic",
          .dtypes = {DType::kFp64, DType::kFp32, DType::kTf32, DType::kFp16, DType::kBf16},
          .default_choice = true,
          .unsupported = cublas::OverriddenMathMode,
          .create = cublas::Create};
}

}  // namespace kbench
