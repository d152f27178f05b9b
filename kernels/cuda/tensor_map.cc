#include "kernels/cuda/tensor_map.h"

#include <cuda_runtime.h>

#include <string>

#include "kernels/cuda/device_instance.h"

namespace kbench::cuda {
namespace {

using Encode = decltype(&cuTensorMapEncodeTiled);

Encode FindEncode() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                             12000, cudaEnableDefault, &found);
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) {
    cudaGetLastError();
    return nullptr;
  }
  return reinterpret_cast<Encode>(function);
}

std::string Text(const TensorLayout& layout) {
  std::string text = "tensor map of";
  for (const std::uint64_t extent : layout.extents) text += " " + std::to_string(extent);
  text += ", strides";
  for (const std::uint64_t stride : layout.strides_bytes) text += " " + std::to_string(stride);
  text += ", box";
  for (const std::uint32_t extent : layout.box) text += " " + std::to_string(extent);
  return text;
}

}  // namespace

std::optional<ImplementationError> MakeTensorMap(const TensorLayout& layout, const void* base,
                                                 CUtensorMap* map) {
  using Kind = ImplementationError::Kind;
  static const Encode encode = FindEncode();
  if (encode == nullptr) {
    return ImplementationError{
        Kind::kUnsupported, "the driver has no cuTensorMapEncodeTiled; it needs CUDA 12.0 or newer",
        0};
  }
  const std::vector<std::uint32_t> every_element(layout.extents.size(), 1);
  const CUresult result =
      encode(map, layout.type, static_cast<std::uint32_t>(layout.extents.size()),
             const_cast<void*>(base), layout.extents.data(), layout.strides_bytes.data(),
             layout.box.data(), every_element.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, layout.swizzle,
             layout.promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result == CUDA_SUCCESS) return std::nullopt;
  return ImplementationError{
      Kind::kDeviceError,
      Text(layout) + ": the driver refuses it with error " + std::to_string(result), 0};
}

}  // namespace kbench::cuda
