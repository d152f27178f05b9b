#include <cuda_runtime.h>

#include <string>

#include "tests/worker/runner/cuda_fixtures.h"

namespace kbench {
namespace {

__global__ void WriteNowhere(float* output) {
  output[std::int64_t{1} << 40] = 1;  // far outside of any allocation
}

__global__ void SpinForever(volatile float* output) {
  while (output[0] != 12345.0f) {
  }
}

__global__ void WriteOne(float* output) { output[0] = 1; }

void SpinKernel(float* output, cudaStream_t stream) { SpinForever<<<1, 1, 0, stream>>>(output); }
void FaultKernel(float* output, cudaStream_t stream) { WriteNowhere<<<1, 1, 0, stream>>>(output); }
void WrongKernel(float* output, cudaStream_t stream) { WriteOne<<<1, 1, 0, stream>>>(output); }

using Enqueue = void (*)(float*, cudaStream_t);

class CudaFixture final : public Instance {
 public:
  CudaFixture(float* output, Enqueue enqueue) : output_(output), enqueue_(enqueue) {}
  int Launch(void* stream) noexcept override {
    enqueue_(output_, static_cast<cudaStream_t>(stream));
    return static_cast<int>(cudaGetLastError());
  }
  std::string ErrorText(int error) const override {
    return cudaGetErrorString(static_cast<cudaError_t>(error));
  }

 private:
  float* const output_;
  const Enqueue enqueue_;
};

using Created = Expected<std::unique_ptr<Instance>, ImplementationError>;

template <Enqueue enqueue>
Created Create(const Problem&, const OperandPointers& operands, const DeviceContext&) {
  return std::unique_ptr<Instance>(new CudaFixture(static_cast<float*>(operands.output), enqueue));
}

Created CreateOutOfMemory(const Problem&, const OperandPointers&, const DeviceContext&) {
  void* workspace = nullptr;
  const std::size_t bytes = std::size_t{1} << 45;
  const cudaError_t error = cudaMalloc(&workspace, bytes);
  (void)cudaGetLastError();
  return ImplementationError{ImplementationError::Kind::kOutOfMemory,
                             std::string("the workspace: ") + cudaGetErrorString(error),
                             static_cast<std::int64_t>(bytes)};
}

std::vector<Implementation> MakeTable() {
  const std::vector<std::pair<std::string, decltype(Implementation::create)>> fixtures = {
      {"cuda-fault", Create<FaultKernel>},
      {"cuda-hang", Create<SpinKernel>},
      {"cuda-oom", CreateOutOfMemory},
      {"cuda-wrong", Create<WrongKernel>},
  };
  std::vector<Implementation> table;
  for (const auto& [name, create] : fixtures) {
    Implementation implementation;
    implementation.name = "fixture/" + name;
    implementation.family = "fixture";
    implementation.kernel = "sum";
    implementation.summary = "misbehaves on purpose: " + name;
    implementation.dtypes = {DType::kFp32};
    implementation.create = create;
    table.push_back(implementation);
  }
  return table;
}

}  // namespace

const std::vector<Implementation>& CudaFixtureTable() {
  static const std::vector<Implementation> table = MakeTable();
  return table;
}

}  // namespace kbench
