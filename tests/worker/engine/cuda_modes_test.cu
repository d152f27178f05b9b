// Calibration, modes graph and steady, flush sizes and the gates of a burst on a real GPU.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/engine/case.h"
#include "worker/engine/cuda_device.h"

namespace kbench::engine {
namespace {

using ::testing::HasSubstr;

__global__ void Copy(const uint4* from, uint4* to, std::int64_t count) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += stride) {
    to[i] = from[i];
  }
}

// The copy of a case, on the set whose turn it is, on the stream it is given or on another.
struct CopyKernel {
  const Case* open_case = nullptr;
  cudaStream_t side = nullptr;  // null: the timed stream
  cudaEvent_t fork = nullptr;   // with it the side stream waits for the timed one
  bool waits = false;
  int launches_with_work = 1 << 30;  // later ones do nothing
  int launches = 0;
};

int LaunchCopy(void* user, void* stream) {
  auto* kernel = static_cast<CopyKernel*>(user);
  if (kernel->launches++ >= kernel->launches_with_work) return 0;
  const Operands& operands = kernel->open_case->operands(kernel->open_case->current_set());
  auto timed = static_cast<cudaStream_t>(stream);
  auto used = kernel->side != nullptr ? kernel->side : timed;
  if (kernel->fork != nullptr) {
    (void)cudaEventRecord(kernel->fork, timed);
    (void)cudaStreamWaitEvent(used, kernel->fork, 0);
  }
  Copy<<<1024, 256, 0, used>>>(static_cast<const uint4*>(operands.buffer(0).data),
                               static_cast<uint4*>(operands.buffer(1).data),
                               operands.buffer(1).bytes / 16);
  if (kernel->waits) return static_cast<int>(cudaStreamSynchronize(used));
  return static_cast<int>(cudaGetLastError());
}

class CudaModesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) GTEST_SKIP() << "SKIPPED: no GPU";
    const EngineError error = device_.Open();
    ASSERT_FALSE(error) << error.message;
    Copy<<<1, 1>>>(nullptr, nullptr, 0);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  void TearDown() override { open_.reset(); }

  EngineError OpenCase(const char* mode, const char* elements, std::int64_t memory_limit = 0,
                       std::int64_t flush_bytes = 0) {
    kb_case spec{};
    spec.kernel = "copy";
    spec.dtype = "fp32";
    spec.shape = elements;
    spec.mode = mode;
    spec.seed = 3;
    spec.memory_limit_bytes = memory_limit;
    spec.flush_bytes = flush_bytes;
    CaseSpec parsed;
    if (EngineError error = ParseCase(spec, &parsed)) return error;
    open_.reset();
    open_ = std::make_unique<Case>(device_, parsed);
    kernel_.open_case = open_.get();
    return open_->Open();
  }
  LaunchCall Call() { return {LaunchCopy, &kernel_, device_.stream()}; }
  EngineError Burst(int samples, double max_seconds = 5) {
    seconds_.assign(static_cast<std::size_t>(samples), 0);
    submit_.assign(static_cast<std::size_t>(samples), 0);
    record_ = {};
    record_.device_seconds = seconds_.data();
    record_.submit_seconds = submit_.data();
    const EngineError error = open_->Burst({samples, max_seconds}, Call(), &record_);
    seconds_.resize(static_cast<std::size_t>(record_.count));
    return error;
  }
  double MedianSeconds() {
    if (seconds_.empty()) return 0;
    std::sort(seconds_.begin(), seconds_.end());
    return seconds_[seconds_.size() / 2];
  }
  // "" when the check passed.
  std::string Check(int stage) {
    kb_check check{};
    const EngineError error = open_->Verify(stage, 3, Call(), &check);
    if (error) return error.message;
    return check.passed != 0 ? "" : check.reason;
  }

  void CheckSideStream(const std::string& mode, const std::string& size, cudaEvent_t fork) {
    SCOPED_TRACE(mode + " " + size + (fork != nullptr ? " forked" : " free"));
    ASSERT_FALSE(OpenCase(mode.c_str(), size.c_str()));
    kernel_.fork = fork;
    EXPECT_EQ(Check(KB_VERIFY_BEFORE), "");
    for (int burst = 0; burst < 2; ++burst) ASSERT_FALSE(Burst(8));  // one of two is held
    const std::string reason = Check(KB_VERIFY_AFTER);
    EXPECT_NE(reason, "");
    if (fork != nullptr) {
      EXPECT_EQ(reason, "SIDE_STREAM");
    }
  }

  CudaDevice device_{1};
  std::unique_ptr<Case> open_;
  CopyKernel kernel_;
  std::vector<double> seconds_, submit_;
  kb_burst_record record_{};
};

TEST_F(CudaModesTest, CalibratesThisDevice) {
  kb_calibration out{};
  const double begin = device_.timeline().HostSeconds();
  const EngineError error = device_.Calibrate(&out);
  const double seconds = device_.timeline().HostSeconds() - begin;
  std::printf(
      "calibrated in %.2f s: floor %.3f us, null %.3f us, quantum %.3f us, tick %.3f us, event "
      "cost "
      "%.3f us, flush %.1f MB, cold/hot %.2f, read %.0f, write %.0f, copy %.0f GB/s\n",
      seconds, out.event_floor_seconds * 1e6, out.null_kernel_seconds * 1e6,
      out.quantum_seconds * 1e6, out.timer_tick_seconds * 1e6, out.event_cost_seconds * 1e6,
      static_cast<double>(out.flush_bytes) * 1e-6, out.flush_cold_ratio, out.read_bandwidth * 1e-9,
      out.write_bandwidth * 1e-9, out.copy_bandwidth * 1e-9);
  for (int i = 0; i < out.known_count; ++i) {
    std::printf("  known %.3f us: measured %.3f us, allowed +-%.3f us\n",
                out.known_expected_seconds[i] * 1e6, out.known_measured_seconds[i] * 1e6,
                out.known_allowed_seconds[i] * 1e6);
  }
  ASSERT_FALSE(error) << error.message;
  ASSERT_TRUE(out.passed) << out.failed_step << ": " << out.message;
  EXPECT_LT(seconds, 2.5);
  EXPECT_EQ(out.known_count, KB_KNOWN_DURATIONS);
  EXPECT_GT(out.event_floor_seconds, 0.1e-6);
  EXPECT_LT(out.event_floor_seconds, 10e-6);
  EXPECT_GT(out.null_kernel_seconds, out.event_floor_seconds);
  EXPECT_GT(out.quantum_seconds, 1e-9);
  EXPECT_LT(out.quantum_seconds, 2e-6);
  EXPECT_GT(out.timer_tick_seconds, 0);
  const std::int64_t l2 = device_.CacheBytes();
  EXPECT_GE(out.flush_bytes, std::min<std::int64_t>(l2, 8 << 20));
  EXPECT_LE(out.flush_bytes, std::max<std::int64_t>(3 * l2, 8 << 20));
  EXPECT_GT(out.flush_cold_ratio, 1.05);
  EXPECT_GT(out.read_bandwidth, 50e9);
  EXPECT_GT(out.write_bandwidth, 0.4 * out.read_bandwidth);
  EXPECT_GT(out.copy_bandwidth, 0.4 * out.read_bandwidth);
  // Nothing is left of it: cases get the default flush.
  EXPECT_EQ(device_.timeline().Facts().flush_bytes, 2 * std::max<std::int64_t>(2 * l2, 8 << 20));
}

TEST_F(CudaModesTest, TwoCalibrationsAgree) {
  kb_calibration first{}, second{};
  ASSERT_FALSE(device_.Calibrate(&first));
  ASSERT_FALSE(device_.Calibrate(&second));
  EXPECT_NEAR(second.read_bandwidth / first.read_bandwidth, 1, 0.02);
  EXPECT_NEAR(second.write_bandwidth / first.write_bandwidth, 1, 0.02);
  EXPECT_NEAR(second.copy_bandwidth / first.copy_bandwidth, 1, 0.02);
  EXPECT_NEAR(second.event_floor_seconds, first.event_floor_seconds, 0.3e-6);
  EXPECT_NEAR(second.event_cost_seconds, first.event_cost_seconds, 0.5e-6);
}

TEST_F(CudaModesTest, TheFlushHasTheSizeThatTheCaseAsksFor) {
  const std::int64_t l2 = device_.CacheBytes();
  for (const std::int64_t bytes : {l2, 3 * l2}) {
    ASSERT_FALSE(OpenCase("cold", "4Mi", 0, bytes));
    EXPECT_EQ(device_.timeline().Facts().flush_bytes,
              2 * std::max<std::int64_t>(bytes - bytes % 16, 8 << 20));
    ASSERT_FALSE(Burst(32));
    std::printf("copy of 16 MiB after a flush of %.1f MB: %.2f us\n",
                static_cast<double>(bytes) * 1e-6, MedianSeconds() * 1e6);
    EXPECT_EQ(Check(KB_VERIFY_AFTER), "");
  }
}

TEST_F(CudaModesTest, AGraphRotatesThroughColdSets) {
  ASSERT_FALSE(OpenCase("cold", "4Mi"));
  EXPECT_EQ(Check(KB_VERIFY_BEFORE), "");
  ASSERT_FALSE(Burst(64));
  const double cold = MedianSeconds();
  ASSERT_FALSE(OpenCase("hot", "4Mi"));
  ASSERT_FALSE(Burst(64));
  const double hot = MedianSeconds();
  ASSERT_FALSE(OpenCase("graph", "4Mi"));
  EXPECT_GE(open_->sets(), 2);
  EXPECT_EQ(Check(KB_VERIFY_BEFORE), "");
  const EngineError error = Burst(32);
  ASSERT_FALSE(error) << error.message;
  const double graph = MedianSeconds();
  std::printf(
      "copy of 16 MiB: cold %.2f us, hot %.2f us, in a graph of %d launches over %d sets "
      "%.2f us\n",
      cold * 1e6, hot * 1e6, open_->launches_per_sample(), open_->sets(), graph * 1e6);
  EXPECT_EQ(open_->mechanism(), "cuda-graph-rotation");
  EXPECT_EQ(open_->launches_per_sample() % open_->sets(), 0);
  EXPECT_GT(graph, 0);
  EXPECT_LT(graph, 1.1 * cold);
  EXPECT_EQ(Check(KB_VERIFY_AFTER), "");
  EXPECT_EQ(Check(KB_VERIFY_NEW_SEED), "");
}

TEST_F(CudaModesTest, ATinyLaunchIsResolvedInAGraph) {
  ASSERT_FALSE(OpenCase("graph", "1024"));
  const EngineError error = Burst(16);
  ASSERT_FALSE(error) << error.message;
  std::printf("copy of 4 KiB in a graph of %d launches: %.3f us each, flags %u\n",
              open_->launches_per_sample(), MedianSeconds() * 1e6, record_.flags);
  EXPECT_GT(open_->launches_per_sample(), 64);
  EXPECT_LT(MedianSeconds(), 5e-6);
  EXPECT_EQ(record_.flags & KB_FLAG_BLOCKER_TIMEOUT, 0u);  // a replay fits behind a blocker
  EXPECT_EQ(Check(KB_VERIFY_AFTER), "");
}

// What a tuner does between two bursts: another launch on a scratch, cold, and no graph of it.
TEST_F(CudaModesTest, ATrialInModeGraphIsColdAndTheGraphIsMadeAnew) {
  ASSERT_FALSE(OpenCase("graph", "1024"));
  ASSERT_FALSE(Burst(4));
  const int before = open_->launches_per_sample();
  void* scratch = nullptr;
  ASSERT_FALSE(open_->OpenScratch(&scratch));
  ASSERT_NE(scratch, nullptr);
  const auto set = [](void* to, void* stream) {
    return static_cast<int>(cudaMemsetAsync(to, 1, 4096, static_cast<cudaStream_t>(stream)));
  };
  std::vector<double> device(8), submit(8);
  kb_burst_record record{};
  record.device_seconds = device.data();
  record.submit_seconds = submit.data();
  const EngineError error = open_->Trial({8, 5}, {set, scratch, device_.stream()}, &record);
  ASSERT_FALSE(error) << error.message;
  EXPECT_EQ(record.count + record.discarded, 8);
  EXPECT_GT(device[0], 1e-6) << "one launch between two events";
  EXPECT_EQ(open_->launches_per_sample(), 1) << "not planned yet";
  open_->CloseScratch();
  ASSERT_FALSE(Burst(4));
  EXPECT_GT(open_->launches_per_sample(), before / 4);
  EXPECT_EQ(Check(KB_VERIFY_AFTER), "");
}

TEST_F(CudaModesTest, AGraphOfLaunchesThatCannotBeCapturedIsRefused) {
  ASSERT_FALSE(OpenCase("graph", "4Mi"));
  kernel_.waits = true;
  EngineError error = Burst(4);
  EXPECT_EQ(error.code, KB_NOT_CAPTURABLE);
  EXPECT_THAT(error.message, HasSubstr("use mode cold or hot"));
  kernel_.waits = false;
  ASSERT_EQ(cudaStreamCreateWithFlags(&kernel_.side, cudaStreamNonBlocking), cudaSuccess);
  error = Burst(4);  // works outside of the capture: the graph would be empty
  EXPECT_EQ(error.code, KB_NOT_CAPTURABLE);
  EXPECT_THAT(error.message, HasSubstr("0 nodes"));
  (void)cudaStreamDestroy(kernel_.side);
  kernel_.side = nullptr;
  error = Burst(4);  // the device is sound
  EXPECT_FALSE(error) << error.message;
}

TEST_F(CudaModesTest, AGraphWithoutMemoryForTwoSetsIsRefusedWithBothNumbers) {
  const EngineError error = OpenCase("graph", "4Mi", 80 << 20);  // a set is 32 MiB and guards
  EXPECT_EQ(error.code, KB_OUT_OF_MEMORY);
  EXPECT_EQ(error.needed_bytes, 2 * ((32 << 20) + 4 * 4096));
  EXPECT_EQ(error.free_bytes, 40 << 20);
}

TEST_F(CudaModesTest, SteadyIsBackToBack) {
  ASSERT_FALSE(OpenCase("steady", "64Mi"));
  const EngineError error = Burst(100, 1);
  ASSERT_FALSE(error) << error.message;
  const double steady = MedianSeconds();
  // The same by hand.
  cudaEvent_t start, stop;
  ASSERT_EQ(cudaEventCreate(&start), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&stop), cudaSuccess);
  auto stream = static_cast<cudaStream_t>(device_.stream());
  for (int i = 0; i < 20; ++i) LaunchCopy(&kernel_, stream);
  (void)cudaEventRecord(start, stream);
  for (int i = 0; i < 500; ++i) LaunchCopy(&kernel_, stream);
  (void)cudaEventRecord(stop, stream);
  ASSERT_EQ(cudaEventSynchronize(stop), cudaSuccess);
  float milliseconds = 0;
  (void)cudaEventElapsedTime(&milliseconds, start, stop);
  const double by_hand = milliseconds * 1e-3 / 500;
  std::printf("copy of 256 MiB: steady %.2f us in batches of %d, by hand %.2f us, duty %.2f\n",
              steady * 1e6, open_->launches_per_sample(), by_hand * 1e6, record_.duty_ratio);
  EXPECT_NEAR(steady / by_hand, 1, 0.02);
  EXPECT_EQ(open_->mechanism(), "cuda-back-to-back");
  EXPECT_EQ(record_.flags, 0u);
  EXPECT_GT(record_.duty_ratio, 0.8);
  std::printf("clock of the cores %.0f MHz\n", record_.clock_hertz * 1e-6);
  EXPECT_GT(record_.clock_hertz, 0.2e9);
  EXPECT_LT(record_.clock_hertz, 4e9);
  EXPECT_EQ(Check(KB_VERIFY_AFTER), "");
}

TEST_F(CudaModesTest, ALaunchThatLeavesTheLastResultIsFound) {
  for (const char* mode : {"cold", "hot", "steady"}) {
    SCOPED_TRACE(mode);
    ASSERT_FALSE(OpenCase(mode, "1Mi"));
    kernel_.launches = 0;
    kernel_.launches_with_work = 1;
    EXPECT_EQ(Check(KB_VERIFY_BEFORE), "");
    ASSERT_FALSE(Burst(8));
    EXPECT_NE(Check(KB_VERIFY_AFTER), "");
  }
}

// From work that is over before anything of the burst has run to work that outlasts it.
TEST_F(CudaModesTest, WorkOnASideStreamIsFoundWhetherItWaitsOrNot) {
  cudaEvent_t fork;
  ASSERT_EQ(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&kernel_.side, cudaStreamNonBlocking), cudaSuccess);
  for (const char* mode : {"cold", "hot", "steady"}) {
    // Forked work that is over before the look behind the stop mark has begun is not found: what is
    // left of its time in the sample is that of the events.
    CheckSideStream(mode, "4Ki", nullptr);
    for (const char* size : {"4Mi", "16Mi", "64Mi"}) {
      CheckSideStream(mode, size, nullptr);
      CheckSideStream(mode, size, fork);
    }
  }
  open_.reset();
  (void)cudaStreamDestroy(kernel_.side);
  (void)cudaEventDestroy(fork);
}

TEST_F(CudaModesTest, PersistingLinesAreResetAndNamed) {
  cudaDeviceProp properties{};
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  if (properties.persistingL2CacheMaxSize == 0) GTEST_SKIP() << "SKIPPED: no persisting L2";
  ASSERT_FALSE(OpenCase("cold", "4Mi"));
  ASSERT_FALSE(Burst(32));
  EXPECT_EQ(record_.flags, 0u);
  const double plain = MedianSeconds();
  const auto& input = open_->operands(0).buffer(0);
  cudaStreamAttrValue window{};
  window.accessPolicyWindow.base_ptr = input.data;
  window.accessPolicyWindow.num_bytes = std::min<std::size_t>(static_cast<std::size_t>(input.bytes),
                                                              properties.accessPolicyMaxWindowSize);
  window.accessPolicyWindow.hitRatio = 1;
  window.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  window.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  ASSERT_EQ(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, properties.persistingL2CacheMaxSize),
            cudaSuccess);
  ASSERT_EQ(cudaStreamSetAttribute(static_cast<cudaStream_t>(device_.stream()),
                                   cudaStreamAttributeAccessPolicyWindow, &window),
            cudaSuccess);
  ASSERT_FALSE(Burst(32));
  std::printf("copy of 16 MiB: %.2f us, with a persisting window that was reset %.2f us\n",
              plain * 1e6, MedianSeconds() * 1e6);
  EXPECT_EQ(record_.flags, KB_FLAG_PERSISTING_L2);
  EXPECT_NEAR(MedianSeconds() / plain, 1, 0.05);
  EXPECT_EQ(Check(KB_VERIFY_AFTER), "PERSISTING_L2");
  ASSERT_FALSE(Burst(32));
  EXPECT_EQ(record_.flags, 0u);  // it stays reset
}

}  // namespace
}  // namespace kbench::engine
