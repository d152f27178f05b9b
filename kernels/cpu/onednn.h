// What the oneDNN implementations share: one spelling for the library's versions 2 and 3, and a
// prepared primitive with its arguments. Everything here may throw dnnl::error. One thread at a
// time.
#pragma once

#include <dnnl.hpp>
#include <optional>
#include <string>
#include <unordered_map>

#include "kernels/cpu/host_instance.h"
#include "kernels/cpu/matmul_operands.h"

namespace kbench {

const dnnl::engine& OnednnEngine();
dnnl::memory::data_type OnednnType(DType dtype);

// Descriptors in IEEE arithmetic (never a silent bf16), with the scratchpad in our own memory.
dnnl::matmul::primitive_desc OnednnMatmul(const MatmulOperands& shape,
                                          dnnl::memory::data_type type);
dnnl::reorder::primitive_desc OnednnCopy(std::int64_t n);
dnnl::reduction::primitive_desc OnednnRowSums(std::int64_t rows, std::int64_t cols);
#if DNNL_VERSION_MAJOR >= 3
using OnednnSoftmaxPrimitive = dnnl::softmax_forward;
#else
using OnednnSoftmaxPrimitive = dnnl::softmax_v2_forward;
#endif
OnednnSoftmaxPrimitive::primitive_desc OnednnSoftmax(std::int64_t rows, std::int64_t cols,
                                                     dnnl::memory::data_type type);

// Why this CPU has no instructions for products of this half type, or nothing. That oneDNN knows
// them too is another question.
std::optional<std::string> NoNativeHalf(DType dtype);
// Calls `describe`, which makes a descriptor: why oneDNN cannot run it well, or nothing.
std::optional<std::string> OnednnUnsupported(
    const std::function<dnnl::primitive_desc_base()>& describe);

// A primitive bound to its memory. `arguments` maps DNNL_ARG_SRC and so on to plain pointers.
class OnednnCall {
 public:
  OnednnCall(const dnnl::primitive& primitive, const dnnl::primitive_desc_base& descriptor,
             const std::unordered_map<int, const void*>& arguments);

  // Runs to the end on the threads that UseOpenMpThreads set.
  void Run();
  std::int64_t scratch_bytes() const { return scratch_.bytes(); }

 private:
  dnnl::primitive primitive_;
  dnnl::stream stream_;
  HostBuffer scratch_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

// An instance that is this one call.
std::unique_ptr<Instance> OnednnInstance(const dnnl::primitive_desc_base& descriptor,
                                         std::shared_ptr<OnednnCall> call, int threads);

ConfigurationMap OnednnConfiguration(const dnnl::primitive_desc_base& descriptor, int threads,
                                     std::int64_t scratch_bytes);

}  // namespace kbench
