// The CPU as a device: operands lie in the process's own memory, launches run on the calling
// thread. Owned by the kb_engine; used from one thread.
#pragma once

#include "worker/engine/cpu_timeline.h"
#include "worker/engine/device.h"

namespace kbench::engine {

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(int threads) : threads_(threads), timeline_(threads) {}

  Timeline& timeline() override { return timeline_; }
  void* stream() override { return nullptr; }
  int threads() const override { return threads_; }
  std::int64_t FreeBytes() override;
  std::int64_t TotalBytes() override;
  EngineError Allocate(std::int64_t bytes, void** out) override;
  void Free(void* data, std::int64_t bytes) override;
  EngineError Set(void* data, unsigned char value, std::int64_t bytes) override;
  EngineError EnqueueSet(void* data, unsigned char value, std::int64_t bytes) override {
    return Set(data, value, bytes);
  }
  EngineError FillInput(const OperandSpec& spec, int operand, std::uint64_t seed,
                        void* data) override;
  EngineError Digest(const void* data, std::int64_t bytes, std::uint64_t* digest) override;
  EngineError Download(const void* data, std::int64_t bytes, void* host) override;
  const void* HostView(const void* data) override { return data; }
  std::int64_t CacheBytes() const override { return 0; }  // no rotation on a CPU
  EngineError Calibrate(kb_calibration* out) override;
  void SetOperands(const std::vector<Buffer>& operands) override;

 private:
  const int threads_;
  CpuTimeline timeline_;
};

}  // namespace kbench::engine
