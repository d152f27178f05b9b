// cpu/onednn matmul in fp32 and in the half types this CPU has, and cpu/onednn-via-fp32 for the
// rest.
#include <memory>

#include "kernels/catalog/catalog.h"
#include "kernels/cpu/half_scratch.h"
#include "kernels/cpu/implementations.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/threads.h"

namespace kbench {
namespace {

std::optional<std::string> Unsupported(const Problem& problem) {
  return OnednnUnsupported([&]() -> dnnl::primitive_desc_base {
    return OnednnMatmul(MatmulOperands(problem.shape), OnednnType(problem.dtype));
  });
}

std::optional<std::string> DTypeMissing(DType dtype) {
  if (auto reason = NoNativeHalf(dtype)) return reason;
  auto reason = Unsupported(MakeProblem("matmul", Info(dtype).name, "64", "cold").value());
  if (reason) *reason += "; use cpu/onednn-via-fp32";
  return reason;
}

std::optional<std::string> UnsupportedInFp32(const Problem& problem) {
  return OnednnUnsupported([&]() -> dnnl::primitive_desc_base {
    return OnednnMatmul(MatmulOperands(problem.shape), dnnl::memory::data_type::f32);
  });
}

std::shared_ptr<OnednnCall> MakeCall(const dnnl::matmul::primitive_desc& descriptor, const void* a,
                                     const void* b, void* c) {
  return std::make_shared<OnednnCall>(
      dnnl::matmul(descriptor), descriptor,
      std::unordered_map<int, const void*>{
          {DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}});
}

CreateResult CreateNative(const Problem& problem, const OperandPointers& operands,
                          const DeviceContext& context) {
  const int threads = context.threads;
  return CreateGuarded(0, [&]() -> std::unique_ptr<Instance> {
    UseOpenMpThreads(threads);  // the descriptor is made for a number of threads
    const auto descriptor = OnednnMatmul(MatmulOperands(problem.shape), OnednnType(problem.dtype));
    auto call = MakeCall(descriptor, operands.inputs[0], operands.inputs[1], operands.output);
    return OnednnInstance(descriptor, std::move(call), threads);
  });
}

CreateResult CreateViaFp32(const Problem& problem, const OperandPointers& operands,
                           const DeviceContext& context) {
  const int threads = context.threads;
  const MatmulOperands shape(problem.shape);
  const std::int64_t needed = HalfMatmulScratch::NeededBytes(shape);
  return CreateGuarded(needed, [&]() -> std::unique_ptr<Instance> {
    UseOpenMpThreads(threads);
    const auto descriptor = OnednnMatmul(shape, dnnl::memory::data_type::f32);
    auto scratch = std::make_shared<HalfMatmulScratch>(problem.dtype, shape, operands, threads);
    auto call = MakeCall(descriptor, scratch->a(), scratch->b(), scratch->c());
    ConfigurationMap configuration =
        OnednnConfiguration(descriptor, threads, needed + call->scratch_bytes());
    configuration["conversion"] = ConversionPath();
    return std::make_unique<HostInstance>(
        [=] {
          UseOpenMpThreads(threads);
          scratch->WidenInputs();
          call->Run();
          scratch->NarrowOutput();
        },
        std::move(configuration));
  });
}

}  // namespace

Implementation CpuOnednnMatmul() {
  return {.name = "cpu/onednn",
          .family = "cpu",
          .kernel = "matmul",
          .summary = "oneDNN matmul",
          .dtypes = {DType::kFp32, DType::kFp16, DType::kBf16},
          .dtype_missing = DTypeMissing,
          .default_choice = true,
          .unsupported = Unsupported,
          .create = CreateNative};
}

Implementation CpuOnednnMatmulViaFp32() {
  return {.name = "cpu/onednn-via-fp32",
          .family = "cpu",
          .kernel = "matmul",
          .summary = "inputs widened to fp32, oneDNN matmul, output rounded; all inside the window",
          .dtypes = {DType::kFp16, DType::kBf16},
          .default_choice = true,
          .unsupported = UnsupportedInFp32,
          .create = CreateViaFp32};
}

}  // namespace kbench
