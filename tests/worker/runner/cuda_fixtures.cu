#include <cuda_runtime.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "tests/worker/runner/cuda_fixtures.h"

namespace kbench {
namespace {

// Prepare, verification and warming of a case have passed by then.
constexpr int kLateLaunch = 25;
constexpr int kThreads = 1024;

__global__ void WriteNowhere(float* output) {
  output[std::int64_t{1} << 40] = 1;  // far outside of any allocation
}

__global__ void SpinForever(volatile float* output) {
  while (output[0] != 12345.0f) {
  }
}

__global__ void WriteValue(float* output, std::int64_t index, float value) {
  output[index] = value;
}

__global__ void AddOne(float* values) { values[0] += 1; }

// The right answer, in double, by one block.
__global__ void SumAll(const float* input, std::int64_t n, float* output) {
  __shared__ double sums[kThreads];
  double own = 0;
  for (std::int64_t i = threadIdx.x; i < n; i += kThreads) own += input[i];
  sums[threadIdx.x] = own;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) output[0] = static_cast<float>(sums[0]);
}

struct State {
  const float* input = nullptr;
  std::int64_t n = 0;
  float* output = nullptr;
  int launches = 0;  // this one included
  cudaStream_t side = nullptr;
  cudaEvent_t fork = nullptr;
  float* cache = nullptr;  // one that computes once keeps its result here

  bool late() const { return launches >= kLateLaunch; }
};

void Sum(const State& state, cudaStream_t stream) {
  SumAll<<<1, kThreads, 0, stream>>>(state.input, state.n, state.output);
}

int Status() { return static_cast<int>(cudaGetLastError()); }

int Fault(State& state, cudaStream_t stream) {
  WriteNowhere<<<1, 1, 0, stream>>>(state.output);
  return Status();
}
int Spin(State& state, cudaStream_t stream) {
  SpinForever<<<1, 1, 0, stream>>>(state.output);
  return Status();
}
// In the midst of a burst, behind the blocker.
int FaultLate(State& state, cudaStream_t stream) {
  if (state.late()) return Fault(state, stream);
  Sum(state, stream);
  return Status();
}
int Write(State& state, cudaStream_t stream, float value) {
  WriteValue<<<1, 1, 0, stream>>>(state.output, 0, value);
  return Status();
}
int Wrong(State& state, cudaStream_t stream) { return Write(state, stream, 1); }
int Zeros(State& state, cudaStream_t stream) { return Write(state, stream, 0); }
int NotANumber(State& state, cudaStream_t stream) {
  return Write(state, stream, std::numeric_limits<float>::quiet_NaN());
}
// Waits for the device, which the blocker holds.
int Synchronizes(State& state, cudaStream_t stream) {
  Sum(state, stream);
  return static_cast<int>(cudaStreamSynchronize(stream));
}
// Works on a stream that waits for nothing: it has done so before the queue is released.
int SideStream(State& state, cudaStream_t) {
  Sum(state, state.side);
  return Status();
}
// The side stream waits for the timed one, which does not wait for it.
int ForkedStream(State& state, cudaStream_t stream) {
  (void)cudaEventRecord(state.fork, stream);
  (void)cudaStreamWaitEvent(state.side, state.fork, 0);
  Sum(state, state.side);
  return Status();
}
// Leaves what the last launch left.
int Stale(State& state, cudaStream_t stream) {
  if (!state.late()) Sum(state, stream);
  return Status();
}
// Computes once and hands out its own copy from then on.
int Caches(State& state, cudaStream_t stream) {
  if (state.launches == 1) {
    Sum(state, stream);
    (void)cudaMemcpyAsync(state.cache, state.output, sizeof(float), cudaMemcpyDeviceToDevice,
                          stream);
  } else {
    (void)cudaMemcpyAsync(state.output, state.cache, sizeof(float), cudaMemcpyDeviceToDevice,
                          stream);
  }
  return Status();
}
// Keeps its input in the L2 across the flush: asks for as much as the device sets aside.
int Persists(State& state, cudaStream_t stream) {
  int window = 0, set_aside = 0;
  (void)cudaDeviceGetAttribute(&window, cudaDevAttrMaxAccessPolicyWindowSize, 0);
  (void)cudaDeviceGetAttribute(&set_aside, cudaDevAttrMaxPersistingL2CacheSize, 0);
  cudaStreamAttrValue value{};
  value.accessPolicyWindow.base_ptr = const_cast<float*>(state.input);
  value.accessPolicyWindow.num_bytes =
      std::min(static_cast<std::size_t>(state.n) * sizeof(float), static_cast<std::size_t>(window));
  value.accessPolicyWindow.hitRatio = 1;
  value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  value.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  if (state.launches == 1) {  // while nothing is held
    (void)cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, static_cast<std::size_t>(set_aside));
  }
  (void)cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value);
  Sum(state, stream);
  return Status();
}
// Out of a launch that may not throw: the process ends while the device is held.
int Throws(State& state, cudaStream_t stream) {
  if (state.late()) throw std::runtime_error("thrown by the fixture's launch on purpose");
  Sum(state, stream);
  return Status();
}
int Overrun(State& state, cudaStream_t stream) {
  Sum(state, stream);
  WriteValue<<<1, 1, 0, stream>>>(state.output, 1, 0);  // the output is one element
  return Status();
}
int Mutates(State& state, cudaStream_t stream) {
  Sum(state, stream);
  AddOne<<<1, 1, 0, stream>>>(const_cast<float*>(state.input));
  return Status();
}
// The work is done and right; the status alone tells that something went wrong.
int FailsLate(State& state, cudaStream_t stream) {
  Sum(state, stream);
  (void)Status();
  return state.late() ? static_cast<int>(cudaErrorInvalidValue) : 0;
}

using LaunchFunction = int (*)(State&, cudaStream_t);

class CudaFixture final : public Instance {
 public:
  CudaFixture(const Problem& problem, const OperandPointers& operands, LaunchFunction launch)
      : launch_(launch) {
    state_.input = static_cast<const float*>(operands.inputs[0]);
    state_.n = problem.shape["n"];
    state_.output = static_cast<float*>(operands.output);
    (void)cudaStreamCreateWithFlags(&state_.side, cudaStreamNonBlocking);
    (void)cudaEventCreateWithFlags(&state_.fork, cudaEventDisableTiming);
    (void)cudaMalloc(reinterpret_cast<void**>(&state_.cache), sizeof(float));
    cudaFuncAttributes attributes{};  // loads the kernel, which may wait for the device
    (void)cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(SumAll));
    (void)cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(WriteNowhere));
  }
  ~CudaFixture() override {
    (void)cudaStreamDestroy(state_.side);
    (void)cudaEventDestroy(state_.fork);
    (void)cudaFree(state_.cache);
  }
  int Launch(void* stream) noexcept override {
    ++state_.launches;
    return launch_(state_, static_cast<cudaStream_t>(stream));
  }
  std::string ErrorText(int error) const override {
    return cudaGetErrorString(static_cast<cudaError_t>(error));
  }

 private:
  State state_;
  const LaunchFunction launch_;
};

using Created = Expected<std::unique_ptr<Instance>, ImplementationError>;

template <LaunchFunction launch>
Created Create(const Problem& problem, const OperandPointers& operands, const DeviceContext&) {
  return std::unique_ptr<Instance>(new CudaFixture(problem, operands, launch));
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
      {"cuda-fault", Create<Fault>},
      {"cuda-fault-late", Create<FaultLate>},
      {"cuda-hang", Create<Spin>},
      {"cuda-oom", CreateOutOfMemory},
      {"cuda-wrong", Create<Wrong>},
      {"cuda-zeros", Create<Zeros>},
      {"cuda-nan", Create<NotANumber>},
      {"cuda-synchronizes", Create<Synchronizes>},
      {"cuda-side-stream", Create<SideStream>},
      {"cuda-forked-stream", Create<ForkedStream>},
      {"cuda-stale", Create<Stale>},
      {"cuda-caches", Create<Caches>},
      {"cuda-persists", Create<Persists>},
      {"cuda-throws", Create<Throws>},
      {"cuda-overrun", Create<Overrun>},
      {"cuda-mutates", Create<Mutates>},
      {"cuda-fails-late", Create<FailsLate>},
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
