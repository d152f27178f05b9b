// Tensor maps: how TMA (tma.cuh) is told of a tensor in global memory. Host code; thread-safe. The
// driver's function is looked up at run time, because the programs do not link the driver.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/implementation.h"

namespace kbench::cuda {

// Dimensions count from the innermost, whose elements are neighbours in memory.
struct TensorLayout {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  std::vector<std::uint64_t> extents;        // elements
  std::vector<std::uint64_t> strides_bytes;  // of all dimensions but the innermost; of 16 bytes
  std::vector<std::uint32_t> box;            // elements; at most 256 each
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B;  // the box is then 128 bytes wide
  CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
};

// Fills `map` for the tensor at `base` (aligned to 16 bytes), or says why it cannot be.
std::optional<ImplementationError> MakeTensorMap(const TensorLayout& layout, const void* base,
                                                 CUtensorMap* map);

}  // namespace kbench::cuda
