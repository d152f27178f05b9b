// cpu/onednn softmax in fp32 and in the half types this CPU has, and cpu/onednn-via-fp32 for the
// rest.
#include <memory>

#include "kernels/catalog/catalog.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/implementations.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/threads.h"

namespace kbench {
namespace {

OnednnSoftmaxPrimitive::primitive_desc Describe(const Problem& problem,
                                                dnnl::memory::data_type type) {
  return OnednnSoftmax(problem.shape["rows"], problem.shape["cols"], type);
}

std::optional<std::string> Unsupported(const Problem& problem) {
  return OnednnUnsupported(
      [&]() -> dnnl::primitive_desc_base { return Describe(problem, OnednnType(problem.dtype)); });
}

std::optional<std::string> DTypeMissing(DType dtype) {
  if (auto reason = NoNativeHalf(dtype)) return reason;
  auto reason = Unsupported(MakeProblem("softmax", Info(dtype).name, "64", "cold").value());
  if (reason) *reason += "; use cpu/onednn-via-fp32";
  return reason;
}

std::optional<std::string> UnsupportedInFp32(const Problem& problem) {
  return OnednnUnsupported([&]() -> dnnl::primitive_desc_base {
    return Describe(problem, dnnl::memory::data_type::f32);
  });
}

std::shared_ptr<OnednnCall> MakeCall(const OnednnSoftmaxPrimitive::primitive_desc& descriptor,
                                     const void* x, void* y) {
  return std::make_shared<OnednnCall>(
      OnednnSoftmaxPrimitive(descriptor), descriptor,
      std::unordered_map<int, const void*>{{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}});
}

CreateResult CreateNative(const Problem& problem, const OperandPointers& operands,
                          const DeviceContext& context) {
  const int threads = context.threads;
  return CreateGuarded(0, [&]() -> std::unique_ptr<Instance> {
    UseOpenMpThreads(threads);
    const auto descriptor = Describe(problem, OnednnType(problem.dtype));
    auto call = MakeCall(descriptor, operands.inputs[0], operands.output);
    return OnednnInstance(descriptor, std::move(call), threads);
  });
}

CreateResult CreateViaFp32(const Problem& problem, const OperandPointers& operands,
                           const DeviceContext& context) {
  const int threads = context.threads;
  const DType dtype = problem.dtype;
  const std::int64_t n = problem.shape["rows"] * problem.shape["cols"];
  const auto* from = static_cast<const std::uint16_t*>(operands.inputs[0]);
  auto* to = static_cast<std::uint16_t*>(operands.output);
  return CreateGuarded(4 * n, [&]() -> std::unique_ptr<Instance> {
    UseOpenMpThreads(threads);
    const auto descriptor = Describe(problem, dnnl::memory::data_type::f32);
    auto wide = std::make_shared<HostBuffer>(4 * n);
    auto call = MakeCall(descriptor, wide->as<float>(), wide->as<float>());  // in place
    ConfigurationMap configuration =
        OnednnConfiguration(descriptor, threads, 4 * n + call->scratch_bytes());
    configuration["conversion"] = ConversionPath();
    return std::make_unique<HostInstance>(
        [=] {
          UseOpenMpThreads(threads);
          ConvertToFp32(dtype, from, wide->as<float>(), n, threads);
          call->Run();
          ConvertFromFp32(dtype, wide->as<float>(), to, n, threads);
        },
        std::move(configuration));
  });
}

}  // namespace

Implementation CpuOnednnSoftmax() {
  return {.name = "cpu/onednn",
          .family = "cpu",
          .kernel = "softmax",
          .summary = "oneDNN softmax",
          .dtypes = {DType::kFp32, DType::kFp16, DType::kBf16},
          .dtype_missing = DTypeMissing,
          .default_choice = true,
          .unsupported = Unsupported,
          .create = CreateNative};
}

Implementation CpuOnednnSoftmaxViaFp32() {
  return {.name = "cpu/onednn-via-fp32",
          .family = "cpu",
          .kernel = "softmax",
          .summary = "input widened to fp32, oneDNN softmax, output rounded; all inside the window",
          .dtypes = {DType::kFp16, DType::kBf16},
          .default_choice = true,
          .unsupported = UnsupportedInFp32,
          .create = CreateViaFp32};
}

}  // namespace kbench
