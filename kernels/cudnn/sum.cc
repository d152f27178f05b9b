// cudnn sum: cudnnReduceTensor over one long row; how the elements are laid out into rows makes no
// difference. It has no bf16 into fp32, and is slow in fp16; the graph interface has both, and is
// not used until it is known to be right (README.md).
#include <utility>

#include "kernels/cuda/device_instance.h"
#include "kernels/cudnn/common.h"
#include "kernels/cudnn/implementations.h"
#include "kernels/cudnn/library.h"

namespace kbench {
namespace cudnn {
namespace {

class SumInstance : public Instance {
 public:
  SumInstance(const Problem& problem, const OperandPointers& operands)
      : dtype_(problem.dtype), n_(static_cast<int>(problem.shape["n"])), operands_(operands) {}
  SumInstance(const SumInstance&) = delete;
  SumInstance& operator=(const SumInstance&) = delete;
  ~SumInstance() override {
    if (sum_ != nullptr) cudnnDestroyReduceTensorDescriptor(sum_);
  }

  // Nothing, or why there is no handle, descriptor or workspace.
  std::optional<ImplementationError> Prepare(void* stream);
  int Launch(void* stream) noexcept override;
  std::string ErrorText(int error) const override { return StatusText(error); }
  ConfigurationMap Configuration() const override;

 private:
  cudnnStatus_t Describe();

  const DType dtype_;
  const int n_;
  const OperandPointers operands_;
  Handle handle_;
  Tensor x_, y_;
  cudnnReduceTensorDescriptor_t sum_ = nullptr;
  std::size_t workspace_bytes_ = 0;
  cuda::DeviceBuffer workspace_;
};

cudnnStatus_t SumInstance::Describe() {
  cudnnStatus_t status = x_.Create(dtype_, {1, 1, 1, n_});
  const DType wide = dtype_ == DType::kFp64 ? DType::kFp64 : DType::kFp32;
  if (status == CUDNN_STATUS_SUCCESS) status = y_.Create(wide, {1, 1, 1, 1});
  if (status == CUDNN_STATUS_SUCCESS) status = cudnnCreateReduceTensorDescriptor(&sum_);
  if (status == CUDNN_STATUS_SUCCESS) {
    status = cudnnSetReduceTensorDescriptor(
        sum_, CUDNN_REDUCE_TENSOR_ADD, wide == DType::kFp64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT,
        CUDNN_PROPAGATE_NAN, CUDNN_REDUCE_TENSOR_NO_INDICES, CUDNN_32BIT_INDICES);
  }
  if (status == CUDNN_STATUS_SUCCESS) {
    status =
        cudnnGetReductionWorkspaceSize(handle_.get(), sum_, x_.get(), y_.get(), &workspace_bytes_);
  }
  return status;
}

std::optional<ImplementationError> SumInstance::Prepare(void* stream) {
  cudnnStatus_t status = handle_.Create(stream);
  if (status == CUDNN_STATUS_SUCCESS) status = Describe();
  if (status != CUDNN_STATUS_SUCCESS) return StatusError("preparing cudnnReduceTensor", status);
  if (workspace_bytes_ == 0) return std::nullopt;
  return workspace_.Allocate("the workspace of cuDNN's reduction",
                             static_cast<std::int64_t>(workspace_bytes_));
}

int SumInstance::Launch(void* stream) noexcept {
  const cudnnStatus_t status = handle_.UseStream(stream);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  return cudnnReduceTensor(handle_.get(), sum_, nullptr, 0, workspace_.as<void>(), workspace_bytes_,
                           One(dtype_), x_.get(), operands_.inputs[0], Zero(dtype_), y_.get(),
                           operands_.output);
}

ConfigurationMap SumInstance::Configuration() const {
  ConfigurationMap configuration = LibraryConfiguration();
  configuration["algorithm"] = "cudnnReduceTensor";
  configuration["workspace_bytes"] = std::to_string(workspace_bytes_);
  return configuration;
}

std::optional<std::string> Unsupported(const Problem& problem) {
  const std::int64_t n = problem.shape["n"];
  // Above, its kernel was seen to read outside of x: with 2^31 - 1 elements, not with 3 * 2^29.
  constexpr std::int64_t kMostHalves = std::int64_t{1} << 30;
  if (problem.dtype == DType::kFp16 && n > kMostHalves) {
    return "cuDNN sums at most 2^30 elements of fp16 safely, not n=" + std::to_string(n);
  }
  if (n < 2) return "cuDNN reduces 2 elements or more, not n=" + std::to_string(n);
  return TooManyElements(n);
}

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& context) {
  auto instance = std::make_unique<SumInstance>(problem, operands);
  if (auto error = instance->Prepare(context.stream)) return *std::move(error);
  return std::unique_ptr<Instance>(std::move(instance));
}

}  // namespace
}  // namespace cudnn

Implementation CudnnSum() {
  return {.name = "cudnn",
          .family = "cudnn",
          .kernel = "sum",
          .summary = "cudnnReduceTensor",
          .dtypes = {DType::kFp64, DType::kFp32, DType::kFp16},
          .dtype_missing = cudnn::LibraryMissing,
          .default_choice = true,
          .unsupported = cudnn::Unsupported,
          .create = cudnn::Create};
}

}  // namespace kbench
