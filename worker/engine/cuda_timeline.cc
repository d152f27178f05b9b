#include "worker/engine/cuda_timeline.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "worker/engine/calibration.h"
#include "worker/engine/cuda_error.h"

namespace kbench::engine {
namespace {

// The driver's queue holds about a thousand operations before an enqueue waits, and behind a
// blocker it would wait for ever. A sample costs two kernels of the flush, two of the clock and two
// events beside its launch, which may itself be a dozen kernels; more than that is caught by the
// blocker's own timeout.
constexpr int kQueueOperations = 512;
constexpr int kOperationsPerSample = 4 + 2 + 12;
constexpr int kMostSamples = kQueueOperations / kOperationsPerSample;

constexpr std::int64_t kFlushTimesL2 = 2;
constexpr std::int64_t kSmallestFlush = 8 << 20;
constexpr int kFlushBlocksPerSm = 8;
constexpr int kQuantumBlocks = 4;
// Times less apart than this are one value, rounded to the float that CUDA returns.
constexpr double kRounding = 1e-9;
// A stream that is done leaves the device idle within microseconds; the host may be slow to ask.
constexpr double kLateDrain = 1e-3;

#define KB_RETURN_IF_CUDA(call, doing)                                   \
  do {                                                                   \
    if (EngineError kb_cuda = FromCuda((call), (doing))) return kb_cuda; \
  } while (false)

}  // namespace

CudaTimeline::~CudaTimeline() {
  for (const cudaEvent_t event : starts_) (void)cudaEventDestroy(event);
  for (const cudaEvent_t event : stops_) (void)cudaEventDestroy(event);
  if (graph_ != nullptr) (void)cudaGraphExecDestroy(graph_);
  (void)cudaFree(write_buffer_);
  (void)cudaFree(read_buffer_);
  (void)cudaFree(sink_);
  (void)cudaFreeHost(flags_);
}

EngineError CudaTimeline::Open(cudaStream_t stream) {
  stream_ = stream;
  if (EngineError error = Allocate()) return error;
  if (EngineError error = Preload()) return error;
  if (EngineError error = BeginBurst()) return error;
  least_set_aside_ = L2SetAside();  // as reset: what lies above it somebody asked for
  return MeasureQuantum();
}

EngineError CudaTimeline::Allocate() {
  int device = 0;
  cudaDeviceProp properties{};
  KB_RETURN_IF_CUDA(cudaGetDevice(&device), "asking for the device");
  KB_RETURN_IF_CUDA(cudaGetDeviceProperties(&properties, device), "asking for its properties");
  l2_bytes_ = properties.l2CacheSize;
  flush_blocks_ = properties.multiProcessorCount * kFlushBlocksPerSm;
  persisting_l2_ = properties.persistingL2CacheMaxSize > 0;
  if (EngineError error = SetFlushBytes(0)) return error;
  if (EngineError error = clock_.Open(properties.multiProcessorCount)) return error;
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
  if (EngineError error = Flush(FlushKind::kDirty)) return error;
  if (EngineError error = StampClock(true)) return error;
  return Synchronize();
}

// From empty pairs and pairs around writes of different lengths: whatever the step is, some of
// these times lie one step apart.
EngineError CudaTimeline::MeasureQuantum() {
  std::vector<double> times;
  for (int block = 0; block < kQuantumBlocks; ++block) {
    EngineError error = Block();
    for (int i = 0; !error && i < kMostSamples; ++i) {
      error = MarkStart(i);
      const std::int64_t bytes = (std::int64_t{1} << 14) * i * block;
      if (!error && bytes > 0) {
        error = FromCuda(
            EnqueueFlushWrite(write_buffer_, std::min(bytes, flush_bytes_), flush_blocks_, stream_),
            "measuring the clock's quantum");
      }
      if (!error) error = MarkStop(i);
    }
    (void)Release();
    if (EngineError waited = Synchronize()) return waited;
    if (error) return error;
    for (int i = 0; i < kMostSamples; ++i) times.push_back(SampleSeconds(i));
    for (int i = 0; i + 1 < kMostSamples; ++i) times.push_back(GapSeconds(i));
  }
  quantum_seconds_ = Quantum(std::move(times), kRounding);
  if (quantum_seconds_ > 0) return {};
  return {KB_IO_ERROR, "the device's events read the same time around work of every length"};
}

EngineError CudaTimeline::ResizeFlush(std::int64_t bytes) {
  (void)cudaFree(write_buffer_);
  (void)cudaFree(read_buffer_);
  write_buffer_ = read_buffer_ = nullptr;
  flush_capacity_ = flush_bytes_ = 0;  // a flush of nothing, should the memory not be there
  const auto size = static_cast<std::size_t>(bytes);
  KB_RETURN_IF_CUDA(cudaMalloc(&write_buffer_, size), "allocating the flush's buffers");
  KB_RETURN_IF_CUDA(cudaMalloc(&read_buffer_, size), "allocating the flush's buffers");
  KB_RETURN_IF_CUDA(cudaMemset(read_buffer_, 0, size), "clearing the flush's buffers");
  flush_capacity_ = bytes;
  return {};
}

TimelineError CudaTimeline::SetFlushBytes(std::int64_t bytes) {
  if (bytes <= 0) bytes = kFlushTimesL2 * l2_bytes_;
  bytes = std::max(kSmallestFlush, bytes - bytes % 16);
  if (bytes > flush_capacity_) {
    if (EngineError error = ResizeFlush(bytes)) return error;
  }
  flush_bytes_ = bytes;
  return {};
}

TimelineFacts CudaTimeline::Facts() const {
  TimelineFacts facts;
  facts.mechanism = "cuda-events";
  facts.quantum_seconds = quantum_seconds_;
  facts.flush_bytes = 2 * flush_bytes_;
  facts.max_queued_samples = kMostSamples;
  facts.samples_per_block = 1;
  facts.has_queue = true;
  facts.has_graphs = true;
  return facts;
}

std::size_t CudaTimeline::L2SetAside() const {
  std::size_t bytes = 0;
  if (cudaDeviceGetLimit(&bytes, cudaLimitPersistingL2CacheSize) == cudaSuccess) return bytes;
  (void)cudaGetLastError();
  return 0;
}

// Whether some L2 is set aside, or the stream asks for a part of it.
bool CudaTimeline::PersistingL2() const {
  if (!persisting_l2_) return false;
  if (L2SetAside() > least_set_aside_) return true;
  cudaStreamAttrValue value{};
  if (cudaStreamGetAttribute(stream_, cudaStreamAttributeAccessPolicyWindow, &value) ==
      cudaSuccess) {
    return value.accessPolicyWindow.num_bytes > 0;
  }
  (void)cudaGetLastError();
  return false;
}

// Lines that an earlier launch marked as persisting would survive the flush. Under MIG the limit
// may be refused; then there are none.
TimelineError CudaTimeline::BeginBurst() {
  persisting_found_ = PersistingL2();
  if (!persisting_l2_) return {};
  const cudaStreamAttrValue no_window{};
  for (const cudaError_t error :
       {cudaStreamSetAttribute(stream_, cudaStreamAttributeAccessPolicyWindow, &no_window),
        cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0), cudaCtxResetPersistingL2Cache()}) {
    EngineError failed = FromCuda(error, "resetting persisting L2");
    if (failed.code == KB_DEVICE_ERROR) return failed;
  }
  return {};
}

std::uint32_t CudaTimeline::Disturbances() {
  std::uint32_t flags = 0;
  if (persisting_found_ || PersistingL2()) flags |= KB_FLAG_PERSISTING_L2;
  if (drained_late_) flags |= KB_FLAG_SIDE_STREAM;
  persisting_found_ = drained_late_ = false;
  return flags;
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
  if (kind == FlushKind::kDirty) {
    const std::int64_t bytes = std::min(l2_bytes_, flush_capacity_);
    return FromCuda(cudaMemsetAsync(write_buffer_, 0, static_cast<std::size_t>(bytes), stream_),
                    "enqueueing a flush");
  }
  KB_RETURN_IF_CUDA(EnqueueFlushWrite(write_buffer_, flush_bytes_, flush_blocks_, stream_),
                    "enqueueing a flush");
  return FromCuda(EnqueueFlushRead(read_buffer_, flush_bytes_, sink_, flush_blocks_, stream_),
                  "enqueueing a flush");
}

// A blocker of a generation that is released already.
TimelineError CudaTimeline::EnqueueNothing() {
  return FromCuda(EnqueueBlocker(device_flags_, 0, kBlockerSeconds, stream_),
                  "enqueueing a launch of nothing");
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
  if (EngineError error = FromCuda(cudaStreamSynchronize(stream_), "waiting for the device")) {
    return error;
  }
  const double done = HostSeconds();
  const EngineError error = FromCuda(cudaDeviceSynchronize(), "waiting for the device");
  if (HostSeconds() - done > kLateDrain) drained_late_ = true;
  return error;
}

TimelineError CudaTimeline::WaitForStop(int index) {
  return FromCuda(cudaEventSynchronize(stops_[static_cast<std::size_t>(index)]),
                  "waiting for the device");
}

bool CudaTimeline::StopReached(int index) {
  const cudaError_t state = cudaEventQuery(stops_[static_cast<std::size_t>(index)]);
  if (state == cudaErrorNotReady) (void)cudaGetLastError();  // not an error of a later call
  return state == cudaSuccess;
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

void CudaTimeline::Hold(double seconds) {
  const double end = HostSeconds() + seconds;
  while (HostSeconds() < end) {
  }
}

double CudaTimeline::HostSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace kbench::engine
