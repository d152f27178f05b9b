#include "worker/engine/cuda_timeline.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>

#include "worker/engine/cuda_error.h"

namespace kbench::engine {
namespace {

// The driver's queue holds about a thousand operations before an enqueue waits, and behind a
// blocker it would wait for ever. A sample costs two flush kernels and two events beside its
// launch, which may itself be a dozen kernels; more than that is caught by the blocker's own
// timeout.
constexpr int kQueueOperations = 512;
constexpr int kOperationsPerSample = 2 + 2 + 12;
constexpr int kMostSamples = kQueueOperations / kOperationsPerSample;

constexpr std::int64_t kFlushTimesL2 = 2;
constexpr std::int64_t kSmallestFlush = 8 << 20;
constexpr int kFlushBlocksPerSm = 8;
// What the documentation promises of an event; taken when no two times differ.
constexpr double kDocumentedQuantum = 0.5e-6;

#define KB_RETURN_IF_CUDA(call, doing)                                   \
  do {                                                                   \
    if (EngineError kb_cuda = FromCuda((call), (doing))) return kb_cuda; \
  } while (false)

}  // namespace

CudaTimeline::~CudaTimeline() {
  for (const cudaEvent_t event : starts_) (void)cudaEventDestroy(event);
  for (const cudaEvent_t event : stops_) (void)cudaEventDestroy(event);
  (void)cudaFree(write_buffer_);
  (void)cudaFree(read_buffer_);
  (void)cudaFree(sink_);
  (void)cudaFreeHost(flags_);
}

EngineError CudaTimeline::Open(cudaStream_t stream) {
  stream_ = stream;
  if (EngineError error = Allocate()) return error;
  if (EngineError error = Preload()) return error;
  return MeasureQuantum();
}

EngineError CudaTimeline::Allocate() {
  int device = 0;
  cudaDeviceProp properties{};
  KB_RETURN_IF_CUDA(cudaGetDevice(&device), "asking for the device");
  KB_RETURN_IF_CUDA(cudaGetDeviceProperties(&properties, device), "asking for its properties");
  flush_bytes_ = std::max(kSmallestFlush, kFlushTimesL2 * properties.l2CacheSize);
  flush_bytes_ -= flush_bytes_ % 16;
  flush_blocks_ = properties.multiProcessorCount * kFlushBlocksPerSm;
  persisting_l2_ = properties.persistingL2CacheMaxSize > 0;
  const auto bytes = static_cast<std::size_t>(flush_bytes_);
  KB_RETURN_IF_CUDA(cudaMalloc(&write_buffer_, bytes), "allocating the flush's buffers");
  KB_RETURN_IF_CUDA(cudaMalloc(&read_buffer_, bytes), "allocating the flush's buffers");
  KB_RETURN_IF_CUDA(cudaMemset(read_buffer_, 0, bytes), "clearing the flush's buffers");
  KB_RETURN_IF_CUDA(cudaMalloc(reinterpret_cast<void**>(&sink_), sizeof(*sink_)),
                    "allocating the flush's buffers");
  KB_RETURN_IF_CUDA(
      cudaHostAlloc(reinterpret_cast<void**>(&flags_), sizeof(*flags_), cudaHostAllocMapped),
      "allocating the blocker's flags");
  *flags_ = {};
  KB_RETURN_IF_CUDA(cudaHostGetDevicePointer(reinterpret_cast<void**>(&device_flags_), flags_, 0),
                    "mapping the blocker's flags");
  for (int i = 0; i < kMostSamples; ++i) {
    cudaEvent_t start = nullptr, stop = nullptr;
    KB_RETURN_IF_CUDA(cudaEventCreate(&start), "creating events");
    starts_.push_back(start);
    KB_RETURN_IF_CUDA(cudaEventCreate(&stop), "creating events");
    stops_.push_back(stop);
  }
  return {};
}

// A kernel is loaded at its first launch, which may wait for the device: never behind a blocker.
EngineError CudaTimeline::Preload() {
  flags_->released = ++generation_;
  KB_RETURN_IF_CUDA(EnqueueBlocker(device_flags_, generation_, kBlockerSeconds, stream_),
                    "loading the blocker");
  if (EngineError error = Flush(FlushKind::kClean)) return error;
  return Synchronize();
}

EngineError CudaTimeline::MeasureQuantum() {
  if (EngineError error = Block()) return error;
  for (int i = 0; i < kMostSamples; ++i) {
    if (EngineError error = MarkStart(i)) return error;
    if (EngineError error = MarkStop(i)) return error;
  }
  if (EngineError error = Release()) return error;
  if (EngineError error = Synchronize()) return error;
  std::set<double> times;
  for (int i = 0; i < kMostSamples; ++i) times.insert(SampleSeconds(i));
  for (int i = 0; i + 1 < kMostSamples; ++i) times.insert(GapSeconds(i));
  quantum_seconds_ = kDocumentedQuantum;
  for (auto it = times.begin(); std::next(it) != times.end(); ++it) {
    const double step = *std::next(it) - *it;
    if (step > 1e-9) quantum_seconds_ = std::min(quantum_seconds_, step);
  }
  return {};
}

TimelineFacts CudaTimeline::Facts() const {
  TimelineFacts facts;
  facts.mechanism = "cuda-events";
  facts.quantum_seconds = quantum_seconds_;
  facts.flush_bytes = 2 * flush_bytes_;
  facts.max_queued_samples = kMostSamples;
  facts.has_queue = true;
  return facts;
}

// Lines that an earlier launch marked as persisting would survive the flush. Under MIG the limit
// may be refused; then there are none.
TimelineError CudaTimeline::BeginBurst() {
  if (!persisting_l2_) return {};
  for (const cudaError_t error :
       {cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0), cudaCtxResetPersistingL2Cache()}) {
    EngineError failed = FromCuda(error, "resetting persisting L2");
    if (failed.code == KB_DEVICE_ERROR) return failed;
  }
  return {};
}

TimelineError CudaTimeline::Block() {
  ++generation_;
  return FromCuda(EnqueueBlocker(device_flags_, generation_, kBlockerSeconds, stream_),
                  "holding the queue");
}

TimelineError CudaTimeline::Release() {
  __atomic_store_n(&flags_->released, generation_, __ATOMIC_SEQ_CST);
  return {};
}

bool CudaTimeline::BlockerTimedOut() {
  return __atomic_load_n(&flags_->timed_out, __ATOMIC_SEQ_CST) == generation_;
}

TimelineError CudaTimeline::Flush(FlushKind kind) {
  if (kind == FlushKind::kNone) return {};
  KB_RETURN_IF_CUDA(EnqueueFlushWrite(write_buffer_, flush_bytes_, flush_blocks_, stream_),
                    "enqueueing a flush");
  if (kind == FlushKind::kDirty) return {};
  return FromCuda(EnqueueFlushRead(read_buffer_, flush_bytes_, sink_, flush_blocks_, stream_),
                  "enqueueing a flush");
}

TimelineError CudaTimeline::MarkStart(int index) {
  return FromCuda(cudaEventRecord(starts_[static_cast<std::size_t>(index)], stream_),
                  "recording an event");
}

TimelineError CudaTimeline::MarkStop(int index) {
  return FromCuda(cudaEventRecord(stops_[static_cast<std::size_t>(index)], stream_),
                  "recording an event");
}

TimelineError CudaTimeline::Synchronize() {
  return FromCuda(cudaDeviceSynchronize(), "waiting for the device");
}

double CudaTimeline::Between(cudaEvent_t from, cudaEvent_t to) {
  float milliseconds = 0;
  if (cudaEventElapsedTime(&milliseconds, from, to) != cudaSuccess) {
    (void)cudaGetLastError();
    return std::numeric_limits<double>::quiet_NaN();  // the burst discards it
  }
  return static_cast<double>(milliseconds) * 1e-3;
}

double CudaTimeline::SampleSeconds(int index) {
  const auto i = static_cast<std::size_t>(index);
  return Between(starts_[i], stops_[i]);
}

double CudaTimeline::GapSeconds(int index) {
  const auto i = static_cast<std::size_t>(index);
  return Between(stops_[i], starts_[i + 1]);
}

double CudaTimeline::HostSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace kbench::engine
