// Every CUDA implementation in every dtype on small and odd problems, on a real GPU, against the
// reference checker: plainly and captured into a graph, which fails where a launch synchronises or
// allocates. Skips itself where there is no GPU.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>

#include "kernels/cublas/table.h"
#include "kernels/cuda/table.h"
#include "kernels/cudnn/table.h"
#include "kernels/triton_aot/table.h"
#include "tests/kernels/cuda/device_operands.h"

namespace kbench {
namespace {

using testing::Cell;
using testing::DeviceOperands;
using testing::HostOperands;

#define ASSERT_CUDA(call)                                       \
  do {                                                          \
    const cudaError_t error = (call);                           \
    ASSERT_EQ(error, cudaSuccess) << cudaGetErrorString(error); \
  } while (false)

bool HaveGpu() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HaveGpu()) {
      std::cout << "SKIPPED: no GPU\n";
      GTEST_SKIP();
    }
    ASSERT_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  void TearDown() override {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  // Adds to checked_ where the implementation ran.
  void CheckProblem(const Implementation& implementation, const Problem& problem);
  void CheckCaptured(Instance& instance, HostOperands& operands, DeviceOperands& device);

  cudaStream_t stream_ = nullptr;
  int checked_ = 0;
};

class CudaImplementation : public GpuTest, public ::testing::WithParamInterface<Cell> {};

void GpuTest::CheckProblem(const Implementation& implementation, const Problem& problem) {
  if (implementation.unsupported != nullptr) {
    if (const auto reason = implementation.unsupported(problem)) {
      EXPECT_GT(reason->size(), 20u) << "a reason says something: " << *reason;
      return;
    }
  }
  HostOperands operands(problem);
  DeviceOperands device(operands);
  auto instance = implementation.create(problem, device.pointers(), {1, stream_});
  if (!instance.ok() && implementation.family == "cudnn") {
    // Only the library knows.
    ASSERT_EQ(instance.error().kind, ImplementationError::Kind::kUnsupported)
        << instance.error().message;
    std::cout << problem.shape.Canonical() << ": " << instance.error().message << "\n";
    return;
  }
  ASSERT_TRUE(instance.ok()) << instance.error().message;
  const int error = (*instance)->Launch(stream_);
  ASSERT_EQ(error, 0) << (*instance)->ErrorText(error);
  ASSERT_CUDA(cudaStreamSynchronize(stream_));
  device.Download();
  EXPECT_EQ(operands.Complaint(), "");
  ++checked_;
  const auto configuration = (*instance)->Configuration();
  EXPECT_FALSE(configuration.empty());
  if (implementation.family == "cuda") {
    EXPECT_EQ(configuration.count(kDeviceFunctionsKey), 1u) << "the names its code is found by";
  }
  CheckCaptured(**instance, operands, device);
}

void GpuTest::CheckCaptured(Instance& instance, HostOperands& operands, DeviceOperands& device) {
  const std::vector<unsigned char> first = operands.Output();
  operands.PoisonOutput();
  device.Upload();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ASSERT_CUDA(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
  const int error = instance.Launch(stream_);
  ASSERT_CUDA(cudaStreamEndCapture(stream_, &graph));
  ASSERT_EQ(error, 0) << instance.ErrorText(error);
  ASSERT_CUDA(cudaGraphInstantiate(&executable, graph, 0));
  ASSERT_CUDA(cudaGraphLaunch(executable, stream_));
  ASSERT_CUDA(cudaStreamSynchronize(stream_));
  device.Download();
  EXPECT_EQ(operands.Output(), first) << "two launches differ";
  ASSERT_CUDA(cudaGraphExecDestroy(executable));
  ASSERT_CUDA(cudaGraphDestroy(graph));
}

TEST_P(CudaImplementation, IsRightOnSmallAndOddProblems) {
  const auto& [implementation, dtype] = GetParam();
  if (implementation->dtype_missing != nullptr) {
    if (const auto missing = implementation->dtype_missing(dtype)) GTEST_SKIP() << *missing;
  }
  for (const Problem& problem : testing::SmallProblems(implementation->kernel, dtype)) {
    SCOPED_TRACE(problem.shape.Canonical());
    CheckProblem(*implementation, problem);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(checked_, 0) << "every problem was refused";
}

const auto kName = [](const auto& info) { return testing::CellName(info.param); };
INSTANTIATE_TEST_SUITE_P(Cuda, CudaImplementation,
                         ::testing::ValuesIn(testing::CellsOf(CudaTable())), kName);
INSTANTIATE_TEST_SUITE_P(Cublas, CudaImplementation,
                         ::testing::ValuesIn(testing::CellsOf(CublasTable())), kName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CudaImplementation);
INSTANTIATE_TEST_SUITE_P(Cudnn, CudaImplementation,
                         ::testing::ValuesIn(testing::CellsOf(CudnnTable())), kName);
INSTANTIATE_TEST_SUITE_P(TritonAot, CudaImplementation,
                         ::testing::ValuesIn(testing::CellsOf(TritonAotTable())), kName);

// An error that somebody else left behind must not be taken for this launch's.
TEST_F(GpuTest, ALaunchReportsOnlyItsOwnError) {
  const Problem problem = testing::MustMakeProblem("sum", DType::kFp32, "1000");
  for (const Implementation& line : CudaTable()) {
    if (line.kernel != "sum") continue;
    HostOperands operands(problem);
    DeviceOperands device(operands);
    auto instance = line.create(problem, device.pointers(), {1, stream_, ""});
    ASSERT_TRUE(instance.ok());
    void* nothing = nullptr;
    ASSERT_NE(cudaMalloc(&nothing, std::size_t{1} << 60), cudaSuccess);
    EXPECT_EQ((*instance)->Launch(stream_), 0);
    ASSERT_CUDA(cudaStreamSynchronize(stream_));
    device.Download();
    EXPECT_EQ(operands.Complaint(), "");
  }
  cudaGetLastError();
}

TEST_F(GpuTest, NoMemoryForTheWorkspaceIsOutOfMemoryWithTheNumber) {
  std::vector<void*> hoard;
  for (std::size_t piece = std::size_t{1} << 36; piece >= std::size_t{1} << 20; piece /= 2) {
    void* memory = nullptr;
    while (cudaMalloc(&memory, piece) == cudaSuccess) hoard.push_back(memory);
    cudaGetLastError();
  }
  const Problem problem = testing::MustMakeProblem("matmul", DType::kFp16, "64");
  OperandPointers nowhere;
  nowhere.inputs = {nullptr, nullptr};
  auto instance = CublasTable().front().create(problem, nowhere, {1, stream_, ""});
  for (void* memory : hoard) cudaFree(memory);
  ASSERT_FALSE(instance.ok());
  EXPECT_EQ(instance.error().kind, ImplementationError::Kind::kOutOfMemory);
  EXPECT_EQ(instance.error().needed_bytes, 32 << 20);
}

// Plain is allowed to be slow, not to be useless.
TEST_F(GpuTest, NaiveMatmulOf4096TakesLessThanASecond) {
  const Problem problem = testing::MustMakeProblem("matmul", DType::kFp16, "4096");
  for (const Implementation& line : CudaTable()) {
    if (line.kernel != "matmul" || line.name != "cuda/naive") continue;
    HostOperands operands(problem);
    DeviceOperands device(operands);
    auto instance = line.create(problem, device.pointers(), {1, stream_, ""});
    ASSERT_TRUE(instance.ok());
    ASSERT_EQ((*instance)->Launch(stream_), 0);
    ASSERT_CUDA(cudaStreamSynchronize(stream_));
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_EQ((*instance)->Launch(stream_), 0);
    ASSERT_CUDA(cudaStreamSynchronize(stream_));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(seconds.count(), 1.0);
    device.Download();
    EXPECT_EQ(operands.Complaint(), "");
  }
}

}  // namespace
}  // namespace kbench
