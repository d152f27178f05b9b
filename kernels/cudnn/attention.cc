// cudnn attention: the forward pass of cuDNN's scaled dot-product attention through its graph
// interface, with the first plan of its heuristics, as a framework runs it.
#include <utility>

#include "kernels/cuda/device_instance.h"
#include "kernels/cudnn/common.h"
#include "kernels/cudnn/graph.h"
#include "kernels/cudnn/implementations.h"
#include "kernels/cudnn/library.h"

namespace kbench {
namespace cudnn {
namespace {

constexpr std::int64_t kMostHeadSize = 256;

class AttentionInstance : public Instance {
 public:
  explicit AttentionInstance(const OperandPointers& operands) {
    for (const void* input : operands.inputs) operands_.push_back(const_cast<void*>(input));
    operands_.push_back(operands.output);
  }

  // Nothing, or why there is no plan. Compiles it.
  std::optional<ImplementationError> Prepare(const Problem& problem, const DeviceContext& context);
  int Launch(void* stream) noexcept override;
  std::string ErrorText(int error) const override {
    return error == kNoStream ? "the cuDNN handle does not take the stream" : plan_->error_text();
  }
  ConfigurationMap Configuration() const override;

 private:
  static constexpr int kNoStream = -1;  // the plan's own errors are positive

  Handle handle_;
  std::unique_ptr<Plan> plan_;
  cuda::DeviceBuffer workspace_;
  std::vector<void*> operands_;
};

std::optional<ImplementationError> AttentionInstance::Prepare(const Problem& problem,
                                                              const DeviceContext& context) {
  const cudnnStatus_t status = handle_.Create(context.stream);
  if (status != CUDNN_STATUS_SUCCESS) return StatusError("the cuDNN handle", status);
  PlanResult plan = PlanAttention(handle_.get(), problem);
  if (!plan.ok()) return plan.error();
  plan_ = std::move(*plan);
  if (plan_->workspace_bytes() == 0) return std::nullopt;
  return workspace_.Allocate("the workspace of cuDNN's attention", plan_->workspace_bytes());
}

int AttentionInstance::Launch(void* stream) noexcept {
  if (handle_.UseStream(stream) != CUDNN_STATUS_SUCCESS) return kNoStream;
  return plan_->Execute(handle_.get(), operands_, workspace_.as<void>());
}

ConfigurationMap AttentionInstance::Configuration() const {
  ConfigurationMap configuration = LibraryConfiguration();
  configuration["engine"] = plan_->engine();
  configuration["workspace_bytes"] = std::to_string(plan_->workspace_bytes());
  return configuration;
}

std::optional<std::string> Unsupported(const Problem& problem) {
  const std::int64_t d = problem.shape["d"];
  if (d % 8 == 0 && d <= kMostHeadSize) return std::nullopt;
  return "cuDNN's attention takes head sizes that are multiples of 8, at most " +
         std::to_string(kMostHeadSize) + ", not d=" + std::to_string(d);
}

std::optional<std::string> DTypeMissing(DType dtype) {
  if (auto missing = LibraryMissing(dtype)) return missing;
  return cuda::NeedsCapability(80);
}

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& context) {
  auto instance = std::make_unique<AttentionInstance>(operands);
  if (auto error = instance->Prepare(problem, context)) return *std::move(error);
  return std::unique_ptr<Instance>(std::move(instance));
}

}  // namespace
}  // namespace cudnn

Implementation CudnnAttention() {
  return {.name = "cudnn",
          .family = "cudnn",
          .kernel = "attention",
          .summary = "cuDNN's scaled dot-product attention, the first plan of its heuristics",
          .dtypes = {DType::kFp16, DType::kBf16},
          .dtype_missing = cudnn::DTypeMissing,
          .default_choice = true,
          .unsupported = cudnn::Unsupported,
          .create = cudnn::Create};
}

}  // namespace kbench
