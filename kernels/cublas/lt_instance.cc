#include "kernels/cublas/lt_instance.h"

#include <utility>
#include <vector>

#include "kernels/cuda/device_instance.h"

namespace kbench::cublas {
namespace {

using Kind = ImplementationError::Kind;

// Partial sums of a split product stay in the accumulator's type: nothing is silently less exact
// than the label says.
constexpr std::uint32_t kReductions =
    CUBLASLT_REDUCTION_SCHEME_INPLACE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;

// Extents of a matrix as it is stored, before its operation.
cublasStatus_t MakeLayout(cublasLtMatrixLayout_t* layout, cudaDataType_t type,
                          cublasOperation_t operation, std::int64_t rows, std::int64_t cols,
                          std::int64_t leading) {
  if (operation == CUBLAS_OP_T) std::swap(rows, cols);
  return cublasLtMatrixLayoutCreate(layout, type, static_cast<std::uint64_t>(rows),
                                    static_cast<std::uint64_t>(cols), leading);
}

}  // namespace

CublasLtInstance::~CublasLtInstance() {
  for (cublasLtMatrixLayout_t layout : {first_, second_, result_}) {
    if (layout != nullptr) cublasLtMatrixLayoutDestroy(layout);
  }
  if (product_ != nullptr) cublasLtMatmulDescDestroy(product_);
  if (handle_ != nullptr) cublasLtDestroy(handle_);
}

int CublasLtInstance::Launch(void* stream) noexcept {
  return cublasLtMatmul(handle_, product_, One(arithmetic_.scale), call_.first, first_,
                        call_.second, second_, Zero(), call_.result, result_, call_.result, result_,
                        &chosen_.algo, workspace_.data(), kWorkspaceBytes,
                        static_cast<cudaStream_t>(stream));
}

// fp8e4m3: without scale pointers the scales are 1, and without CUBLASLT_MATMUL_DESC_FAST_ACCUM
// partial sums are moved to fp32 registers.
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
    status = MakeLayout(&result_, arithmetic_.result, CUBLAS_OP_N, c.rows, c.cols, c.rows);
  }
  return status;
}

cublasStatus_t CublasLtInstance::Choose(int place, int* found) {
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
    std::vector<cublasLtMatmulHeuristicResult_t> proposals(static_cast<std::size_t>(place) + 1);
    status = cublasLtMatmulAlgoGetHeuristic(handle_, product_, first_, second_, result_, result_,
                                            preference, place + 1, proposals.data(), found);
    chosen_ = proposals.back();
  }
  cublasLtMatmulPreferenceDestroy(preference);
  return status;
}

std::optional<ImplementationError> CublasLtInstance::Prepare(int place) {
  cublasStatus_t status = cublasLtCreate(&handle_);
  if (status == CUBLAS_STATUS_SUCCESS) status = Describe();
  if (status != CUBLAS_STATUS_SUCCESS) return StatusError("the cuBLASLt plan", status);
  int found = 0;
  status = Choose(place, &found);
  const bool none =
      status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && found == 0);
  if (none) {
    return ImplementationError{Kind::kUnsupported,
                               "cuBLASLt's heuristic knows no algorithm for this product", 0};
  }
  if (status == CUBLAS_STATUS_SUCCESS && (found <= place || chosen_.state != status)) {
    return ImplementationError{Kind::kUnsupported,
                               "cuBLASLt's heuristic knows " + std::to_string(found) +
                                   " algorithms for this product: there is no " +
                                   std::to_string(place),
                               0};
  }
  if (status != CUBLAS_STATUS_SUCCESS) return StatusError("cuBLASLt's heuristic", status);
  return workspace_.Allocate();
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

Expected<std::unique_ptr<Instance>, ImplementationError> CreateLt(const Problem& problem,
                                                                  const OperandPointers& operands,
                                                                  int place) {
  auto instance =
      std::make_unique<CublasLtInstance>(problem.dtype, MakeCall(problem.shape, operands));
  if (auto error = instance->Prepare(place)) return *std::move(error);
  return std::unique_ptr<Instance>(std::move(instance));
}

std::optional<std::string> UnsupportedByLt(const Problem& problem) {
  if (problem.dtype == DType::kInt8) return UnalignedInt8(problem.shape);
  if (problem.dtype == DType::kFp8E4M3) return UnalignedFp8(problem.shape);
  return OverriddenMathMode(problem);
}

Implementation LtLine() {
  Implementation line;
  line.kernel = "matmul";
  line.dtypes = {DType::kFp64, DType::kFp32,    DType::kTf32, DType::kFp16,
                 DType::kBf16, DType::kFp8E4M3, DType::kInt8};
  line.dtype_missing = cuda::MissingForProducts;
  line.default_choice = true;
  line.unsupported = UnsupportedByLt;
  return line;
}

}  // namespace kbench::cublas
