#include "kernels/cpu/onednn.h"

#include <utility>

#include "kernels/cpu/threads.h"
#include "kernels/cpu_features.h"

namespace kbench {
namespace {

using dnnl::memory;

// Ours to allocate and count, and no math mode below what the dtype says, whatever the environment.
dnnl::primitive_attr Attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
  return attributes;
}

memory::desc RowMajor(std::int64_t rows, std::int64_t cols, memory::data_type type) {
  return memory::desc({rows, cols}, type, memory::dims{cols, 1});
}

}  // namespace

const dnnl::engine& OnednnEngine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

memory::data_type OnednnType(DType dtype) {
  switch (dtype) {
    case DType::kFp16:
      return memory::data_type::f16;
    case DType::kBf16:
      return memory::data_type::bf16;
    default:
      return memory::data_type::f32;
  }
}

dnnl::matmul::primitive_desc OnednnMatmul(const MatmulOperands& s, memory::data_type type) {
  const memory::desc a({s.m, s.k}, type,
                       s.transposed_a ? memory::dims{1, s.m} : memory::dims{s.k, 1});
  const memory::desc b({s.k, s.n}, type,
                       s.transposed_b ? memory::dims{1, s.k} : memory::dims{s.n, 1});
  const memory::desc c = RowMajor(s.m, s.n, type);
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::matmul::primitive_desc(OnednnEngine(), a, b, c, Attributes());
#else
  return dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), Attributes(), OnednnEngine());
#endif
}

dnnl::reorder::primitive_desc OnednnCopy(std::int64_t n) {
  const memory::desc x({n}, memory::data_type::f32, memory::dims{1});
  return dnnl::reorder::primitive_desc(OnednnEngine(), x, OnednnEngine(), x, Attributes());
}

dnnl::reduction::primitive_desc OnednnRowSums(std::int64_t rows, std::int64_t cols) {
  constexpr auto kSum = dnnl::algorithm::reduction_sum;
  const memory::desc x = RowMajor(rows, cols, memory::data_type::f32);
  const memory::desc y = RowMajor(rows, 1, memory::data_type::f32);
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::reduction::primitive_desc(OnednnEngine(), kSum, x, y, 0.0f, 0.0f, Attributes());
#else
  return dnnl::reduction::primitive_desc(dnnl::reduction::desc(kSum, x, y, 0.0f, 0.0f),
                                         Attributes(), OnednnEngine());
#endif
}

OnednnSoftmaxPrimitive::primitive_desc OnednnSoftmax(std::int64_t rows, std::int64_t cols,
                                                     memory::data_type type) {
  constexpr auto kForward = dnnl::prop_kind::forward_inference;
  constexpr auto kAccurate = dnnl::algorithm::softmax_accurate;
  const memory::desc x = RowMajor(rows, cols, type);
#if DNNL_VERSION_MAJOR >= 3
  return OnednnSoftmaxPrimitive::primitive_desc(OnednnEngine(), kForward, kAccurate, x, x, 1,
                                                Attributes());
#else
  return OnednnSoftmaxPrimitive::primitive_desc(
      OnednnSoftmaxPrimitive::desc(kForward, kAccurate, x, x, 1), Attributes(), OnednnEngine());
#endif
}

std::optional<std::string> NoNativeHalf(DType dtype) {
#if defined(__x86_64__)  // elsewhere only oneDNN knows
  if (dtype == DType::kFp16 && !CpuHasFp16()) {
    return "this CPU has no fp16 arithmetic (AVX512-FP16): use cpu/onednn-via-fp32";
  }
  if (dtype == DType::kBf16 && !CpuHasBf16()) {
    return "this CPU has no bf16 arithmetic (AVX512-BF16): use cpu/onednn-via-fp32";
  }
#else
  (void)dtype;
#endif
  return std::nullopt;
}

std::optional<std::string> OnednnUnsupported(
    const std::function<dnnl::primitive_desc_base()>& describe) {
  try {
    const std::string how = describe().impl_info_str();
    if (how.rfind("ref", 0) == 0) {
      return "oneDNN has only its reference code for this problem on this CPU (" + how + ")";
    }
    return std::nullopt;
  } catch (const std::exception& error) {
    return std::string("oneDNN has no code for this problem on this CPU: ") + error.what();
  }
}

OnednnCall::OnednnCall(const dnnl::primitive& primitive,
                       const dnnl::primitive_desc_base& descriptor,
                       const std::unordered_map<int, const void*>& arguments)
    : primitive_(primitive),
      stream_(OnednnEngine()),
      scratch_(
          static_cast<std::int64_t>(descriptor.query_md(dnnl::query::scratchpad_md).get_size())) {
  const std::unordered_map<int, memory::desc> layouts = {
      {DNNL_ARG_SRC, descriptor.query_md(dnnl::query::src_md)},
      {DNNL_ARG_WEIGHTS, descriptor.query_md(dnnl::query::weights_md)},
      {DNNL_ARG_DST, descriptor.query_md(dnnl::query::dst_md)}};
  for (const auto& [argument, pointer] : arguments) {
    // oneDNN takes inputs as plain void* and does not write them.
    arguments_.emplace(argument,
                       memory(layouts.at(argument), OnednnEngine(), const_cast<void*>(pointer)));
  }
  arguments_.emplace(DNNL_ARG_SCRATCHPAD, memory(descriptor.query_md(dnnl::query::scratchpad_md),
                                                 OnednnEngine(), scratch_.as<void>()));
}

void OnednnCall::Run() {
  primitive_.execute(stream_, arguments_);
  stream_.wait();
}

std::unique_ptr<Instance> OnednnInstance(const dnnl::primitive_desc_base& descriptor,
                                         std::shared_ptr<OnednnCall> call, int threads) {
  ConfigurationMap configuration = OnednnConfiguration(descriptor, threads, call->scratch_bytes());
  return std::make_unique<HostInstance>(
      [call = std::move(call), threads] {
        UseOpenMpThreads(threads);
        call->Run();
      },
      std::move(configuration));
}

ConfigurationMap OnednnConfiguration(const dnnl::primitive_desc_base& descriptor, int threads,
                                     std::int64_t scratch_bytes) {
  const dnnl_version_t* version = dnnl_version();
  return {{"library", "oneDNN " + std::to_string(version->major) + "." +
                          std::to_string(version->minor) + "." + std::to_string(version->patch)},
          {"algorithm", descriptor.impl_info_str()},
          {"threads", std::to_string(threads)},
          {"scratch_bytes", std::to_string(scratch_bytes)}};
}

}  // namespace kbench
