// cudnn sum: cudnnReduceTensor.
#include <utility>

#include "kernels/cuda/device_instance.h"
#include "kernels/cudnn/common.h"
#include "kernels/cudnn/graph.h"
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
  std::optional<ImplementationError> Prepare(void* stream, const std::string& candidate);
  int Launch(void* stream) noexcept override;
  std::string ErrorText(int error) const override {
    return plan_ ? plan_->error_text() : StatusText(error);
  }
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
  std::unique_ptr<Plan> plan_;
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

std::optional<ImplementationError> SumInstance::Prepare(void* stream,
                                                        const std::string& candidate) {
  cudnnStatus_t status = handle_.Create(stream);
  if (candidate.rfind("graph:", 0) == 0) {
    const std::int64_t inner = std::stoll(candidate.substr(7)), n = n_;
    std::vector<std::int64_t> extents;
    switch (candidate[6]) {
      case 'a':
        extents = {1, n / inner, inner};
        break;
      case 'b':
        extents = {n / inner, inner, 1, 1};
        break;
      case 'c':
        extents = {1, 1, n / inner, inner};
        break;
      case 'd':
        extents = {1, n / inner / 512, inner, 512};
        break;
    }
    PlanResult plan = PlanSum(handle_.get(), dtype_, extents);
    if (!plan.ok()) return plan.error();
    plan_ = std::move(*plan);
    workspace_bytes_ = plan_->workspace_bytes();
  } else {
    if (status == CUDNN_STATUS_SUCCESS) status = Describe();
    if (status != CUDNN_STATUS_SUCCESS) return StatusError("preparing cudnnReduceTensor", status);
  }
  if (workspace_bytes_ == 0) return std::nullopt;
  return workspace_.Allocate("the workspace of cuDNN's reduction",
                             static_cast<std::int64_t>(workspace_bytes_));
}

int SumInstance::Launch(void* stream) noexcept {
  const cudnnStatus_t status = handle_.UseStream(stream);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (plan_)
    return plan_->Execute(handle_.get(), {const_cast<void*>(operands_.inputs[0]), operands_.output},
                          workspace_.as<void>());
  return cudnnReduceTensor(handle_.get(), sum_, nullptr, 0, workspace_.as<void>(), workspace_bytes_,
                           One(dtype_), x_.get(), operands_.inputs[0], Zero(dtype_), y_.get(),
                           operands_.output);
}

ConfigurationMap SumInstance::Configuration() const {
  ConfigurationMap configuration = LibraryConfiguration();
  configuration["algorithm"] = plan_ ? plan_->engine() : "cudnnReduceTensor";
  configuration["workspace_bytes"] = std::to_string(workspace_bytes_);
  return configuration;
}

std::optional<std::string> Unsupported(const Problem& problem) {
  const std::int64_t n = problem.shape["n"];
  if (n < 2) return "cuDNN reduces 2 elements or more, not n=" + std::to_string(n);
  return TooManyElements(n);
}

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& context) {
  auto instance = std::make_unique<SumInstance>(problem, operands);
  if (auto error = instance->Prepare(context.stream, context.candidate)) return *std::move(error);
  return std::unique_ptr<Instance>(std::move(instance));
}

}  // namespace
}  // namespace cudnn

Implementation CudnnSum() {
  return {.name = "cudnn",
          .family = "cudnn",
          .kernel = "sum",
          .summary = "cudnnReduceTensor",
          .dtypes = {DType::kFp64, DType::kFp32, DType::kFp16, DType::kBf16},
          .dtype_missing = cudnn::LibraryMissing,
          .default_choice = true,
          .unsupported = cudnn::Unsupported,
          .candidates =
              [](const Problem&) {
                return std::vector<std::string>{"",
                                                "graph:a1024",
                                                "graph:a4096",
                                                "graph:b1024",
                                                "graph:b8192",
                                                "graph:c4096",
                                                "graph:c1024",
                                                "graph:d512",
                                                "graph:a65536"};
              },
          .create = cudnn::Create};
}

}  // namespace kbench
