// The first visible GPU as a device: its context, one stream, and operands in its memory. Owned by
// the kb_engine; used from one thread.
#pragma once

#include <cuda_runtime_api.h>

#include "worker/engine/cuda_calibration.h"
#include "worker/engine/cuda_timeline.h"
#include "worker/engine/device.h"

namespace kbench::engine {

class CudaDevice final : public Device {
 public:
  // `threads`: for the checks, which run on the host.
  explicit CudaDevice(int threads) : threads_(threads) {}
  ~CudaDevice() override;

  // Creates the context. Once, before use.
  EngineError Open();

  Timeline& timeline() override { return timeline_; }
  void* stream() override { return stream_; }
  int threads() const override { return threads_; }
  std::int64_t FreeBytes() override;
  std::int64_t TotalBytes() override;
  EngineError Allocate(std::int64_t bytes, void** out) override;
  void Free(void* data, std::int64_t bytes) override;
  EngineError Set(void* data, unsigned char value, std::int64_t bytes) override;
  EngineError EnqueueSet(void* data, unsigned char value, std::int64_t bytes) override;
  EngineError EnqueueNote(const Buffer& buffer) override;
  EngineError ChangedSinceNote(const Buffer& buffer, bool* changed) override;
  bool NoteHolds(const Buffer& buffer, unsigned char value) override;
  EngineError FillInput(const OperandSpec& spec, int operand, std::uint64_t seed,
                        void* data) override;
  EngineError Digest(const void* data, std::int64_t bytes, std::uint64_t* digest) override;
  EngineError Download(const void* data, std::int64_t bytes, void* host) override;
  const void* HostView(const void*) override { return nullptr; }
  std::int64_t CacheBytes() const override { return timeline_.l2_bytes(); }
  EngineError Calibrate(kb_calibration* out) override {
    return CalibrateCuda(timeline_, stream_, out);
  }
  void SetOperands(const std::vector<Buffer>&) override {}  // the flush sweeps the whole L2

 private:
  EngineError Wait(cudaError_t enqueued, const char* doing);
  EngineError PreloadKernels();
  // Enqueues a copy of some of the buffer's bytes to `out`, in pinned memory.
  EngineError EnqueueLook(const Buffer& buffer, unsigned char* out);

  const int threads_;
  cudaStream_t stream_ = nullptr;
  unsigned long long* digest_ = nullptr;
  unsigned char* note_ = nullptr;  // pinned: some bytes of the output as noted, and the same now
  CudaTimeline timeline_;
};

}  // namespace kbench::engine
