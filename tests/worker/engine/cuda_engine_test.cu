// The CUDA timeline and device on a real GPU.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/reference/inputs.h"
#include "worker/engine/burst.h"
#include "worker/engine/cuda_device.h"
#include "worker/engine/digest.h"

namespace kbench::engine {
namespace {

__device__ unsigned long long Nanoseconds() {
  unsigned long long time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

__global__ void SpinKernel(unsigned long long nanoseconds) {
  const unsigned long long begin = Nanoseconds();
  while (Nanoseconds() - begin < nanoseconds) {
  }
}

__global__ void EmptyKernel() {}

__global__ void FaultKernel(int* nowhere) { nowhere[std::int64_t{1} << 40] = 1; }

__global__ void ReadKernel(const uint4* data, std::int64_t count, unsigned* sink) {
  unsigned sum = 0;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    sum += data[i].x + data[i].w;
  }
  if (sum == 0x12345u) *sink = sum;
}

int LaunchNothing(void*, void*) { return 0; }

int LaunchEmpty(void*, void* stream) {
  EmptyKernel<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>();
  return static_cast<int>(cudaGetLastError());
}

int LaunchSpin(void* user, void* stream) {
  SpinKernel<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(
      *static_cast<const unsigned long long*>(user));
  return static_cast<int>(cudaGetLastError());
}

int LaunchOnDefaultStream(void* user, void*) { return LaunchSpin(user, nullptr); }

int LaunchAndWait(void*, void* stream) {
  EmptyKernel<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>();
  return static_cast<int>(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)));
}

int LaunchFault(void*, void* stream) {
  FaultKernel<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(nullptr);
  return static_cast<int>(cudaGetLastError());
}

int LaunchFailing(void*, void*) { return 5; }

struct Read {
  const uint4* data;
  std::int64_t count;
  unsigned* sink;
};

int LaunchRead(void* user, void* stream) {
  const auto* read = static_cast<const Read*>(user);
  ReadKernel<<<1024, 256, 0, static_cast<cudaStream_t>(stream)>>>(read->data, read->count,
                                                                  read->sink);
  return static_cast<int>(cudaGetLastError());
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

class CudaEngineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) GTEST_SKIP() << "SKIPPED: no GPU";
    const EngineError error = device_.Open();
    ASSERT_FALSE(error) << error.message;
    // Kernels are loaded at their first launch, which may wait for the device; the engine's first
    // call of a case does that before any burst.
    EmptyKernel<<<1, 1>>>();
    SpinKernel<<<1, 1>>>(0);
    ReadKernel<<<1, 1>>>(nullptr, 0, nullptr);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  EngineError Burst(kb_launch launch, void* user, FlushKind flush, int samples = 128) {
    BurstRunner runner(device_.timeline());
    runner.SetPace(1e-3);
    return runner.Run({samples, 0, flush}, {launch, user, device_.stream()}, &out_);
  }
  double MedianOf(kb_launch launch, void* user, FlushKind flush) {
    const EngineError error = Burst(launch, user, flush);
    EXPECT_FALSE(error) << error.message;
    return out_.device_seconds.empty() ? 0 : Median(out_.device_seconds);
  }

  CudaDevice device_{1};
  BurstOutcome out_;
};

TEST_F(CudaEngineTest, EmptyPairsAndKernelsReadTheFloor) {
  const double pair = MedianOf(LaunchNothing, nullptr, FlushKind::kNone);
  const double kernel = MedianOf(LaunchEmpty, nullptr, FlushKind::kNone);
  std::printf("empty pair %.3f us, null kernel %.3f us, quantum %.3f us\n", pair * 1e6,
              kernel * 1e6, device_.timeline().Facts().quantum_seconds * 1e6);
  EXPECT_LT(pair, 5e-6);
  EXPECT_GT(kernel, pair);
  EXPECT_LT(kernel, 20e-6);
  ASSERT_FALSE(out_.submit_seconds.empty());
  EXPECT_LT(Median(out_.submit_seconds), 50e-6);
  EXPECT_EQ(out_.flags & KB_FLAG_BLOCKER_TIMEOUT, 0u);
}

TEST_F(CudaEngineTest, TimesKernelsOfKnownDuration) {
  const double null_kernel = MedianOf(LaunchEmpty, nullptr, FlushKind::kNone);
  for (unsigned long long nanoseconds : {10'000ull, 100'000ull, 1'000'000ull}) {
    const double wanted = static_cast<double>(nanoseconds) * 1e-9;
    for (const FlushKind flush : {FlushKind::kNone, FlushKind::kClean}) {
      const double measured = MedianOf(LaunchSpin, &nanoseconds, flush) - null_kernel;
      std::printf("spin %.0f us: %.3f us\n", wanted * 1e6, measured * 1e6);
      // The spin ends at a tick of the global timer, up to a microsecond late.
      EXPECT_NEAR(measured, wanted, std::max(0.02 * wanted, 1.1e-6));
    }
  }
  EXPECT_EQ(out_.flags, 0u);
}

TEST_F(CudaEngineTest, WorkOnTheDefaultStreamLiesInsideTheSample) {
  unsigned long long nanoseconds = 200'000;
  EXPECT_GT(MedianOf(LaunchOnDefaultStream, &nanoseconds, FlushKind::kClean), 190e-6);
}

TEST_F(CudaEngineTest, ALaunchThatWaitsForTheDeviceEndsInATimeoutNotInADeadlock) {
  const double begin = device_.timeline().HostSeconds();
  EXPECT_EQ(Burst(LaunchAndWait, nullptr, FlushKind::kNone).code, KB_TIMEOUT);
  EXPECT_TRUE(out_.flags & KB_FLAG_BLOCKER_TIMEOUT);
  EXPECT_LT(device_.timeline().HostSeconds() - begin, 4 * CudaTimeline::kBlockerSeconds);
  EXPECT_FALSE(Burst(LaunchEmpty, nullptr, FlushKind::kClean));  // the device is sound
}

TEST_F(CudaEngineTest, AFailedLaunchLeavesTheQueueReleased) {
  const double begin = device_.timeline().HostSeconds();
  EXPECT_EQ(Burst(LaunchFailing, nullptr, FlushKind::kClean).code, KB_LAUNCH_FAILED);
  EXPECT_LT(device_.timeline().HostSeconds() - begin, 1);
  EXPECT_FALSE(Burst(LaunchEmpty, nullptr, FlushKind::kClean));
}

TEST_F(CudaEngineTest, ACleanFlushMakesAReadColderAndADirtyOneNoFaster) {
  const std::int64_t bytes = 16 << 20;
  void* data = nullptr;
  ASSERT_FALSE(device_.Allocate(bytes, &data));
  ASSERT_FALSE(device_.Set(data, 1, bytes));
  Read read{static_cast<const uint4*>(data), bytes / 16, static_cast<unsigned*>(data)};
  (void)MedianOf(LaunchRead, &read, FlushKind::kNone);
  const double hot = MedianOf(LaunchRead, &read, FlushKind::kNone);
  const double clean = MedianOf(LaunchRead, &read, FlushKind::kClean);
  const double dirty = MedianOf(LaunchRead, &read, FlushKind::kDirty);
  std::printf("read 16 MiB: hot %.2f us, clean %.2f us, dirty %.2f us\n", hot * 1e6, clean * 1e6,
              dirty * 1e6);
  EXPECT_GT(clean, 1.1 * hot);
  EXPECT_GT(dirty, 0.97 * clean);
  EXPECT_EQ(out_.discarded, 0);
  device_.Free(data, bytes);
}

TEST_F(CudaEngineTest, InputsAndDigestsAreTheHostsBitForBit) {
  for (const DType dtype :
       {DType::kFp64, DType::kFp32, DType::kFp16, DType::kBf16, DType::kFp8E4M3, DType::kInt8}) {
    for (const bool positive : {false, true}) {
      OperandSpec spec;
      spec.storage = dtype;
      spec.extents = {1000003};
      spec.positive = positive;
      std::vector<unsigned char> host(static_cast<std::size_t>(spec.bytes()));
      std::vector<unsigned char> device(host.size());
      reference::FillInput(spec, 1, 12345, host.data(), 0, spec.elements());
      void* data = nullptr;
      ASSERT_FALSE(device_.Allocate(spec.bytes(), &data));
      ASSERT_FALSE(device_.FillInput(spec, 1, 12345, data));
      ASSERT_FALSE(device_.Download(data, spec.bytes(), device.data()));
      EXPECT_EQ(host, device) << Info(dtype).name << positive;
      std::uint64_t digest = 0;
      ASSERT_FALSE(device_.Digest(data, spec.bytes(), &digest));
      EXPECT_EQ(digest, HostDigest(host.data(), spec.bytes())) << Info(dtype).name;
      device_.Free(data, spec.bytes());
    }
  }
}

TEST_F(CudaEngineTest, MoreMemoryThanThereIsLeavesTheDeviceSound) {
  void* data = nullptr;
  const EngineError error = device_.Allocate(std::int64_t{1} << 45, &data);
  EXPECT_EQ(error.code, KB_OUT_OF_MEMORY);
  EXPECT_EQ(error.needed_bytes, std::int64_t{1} << 45);
  EXPECT_GT(error.free_bytes, 0);
  EXPECT_FALSE(Burst(LaunchEmpty, nullptr, FlushKind::kClean));
}

// Last: nothing in this process works after it.
TEST_F(CudaEngineTest, ZAFaultPoisonsTheDevice) {
  EXPECT_EQ(Burst(LaunchFault, nullptr, FlushKind::kClean).code, KB_DEVICE_ERROR);
  EXPECT_EQ(Burst(LaunchEmpty, nullptr, FlushKind::kClean).code, KB_DEVICE_ERROR);
}

}  // namespace
}  // namespace kbench::engine
