// cuda/naive null: an empty kernel of one thread. What a launch alone costs.
#include "kernels/cuda/implementations.h"
#include "kernels/cuda/naive.h"

namespace kbench {
namespace cuda {
namespace {

__global__ void NullKernel() {}

CreateResult Create(const Problem& /*problem*/, const OperandPointers& /*operands*/,
                    const DeviceContext& /*context*/) {
  const Geometry geometry{dim3(1), dim3(1)};
  return CreateSingleKernel(NullKernel, geometry, [=](cudaStream_t stream) {
    return LaunchKernel(geometry, stream, NullKernel);
  });
}

}  // namespace
}  // namespace cuda

Implementation CudaNaiveNull() {
  return cuda::NaiveImplementation("null", "an empty kernel of one thread: the cost of a launch",
                                   {DType::kFp32}, cuda::Create);
}

}  // namespace kbench
