// What the engine needs of a device beside its timeline: memory, and the three things done to
// operands where they lie (fill, set, digest). One a process; owned by the kb_engine; used from one
// thread. Every call is complete on return.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/catalog/problem.h"
#include "worker/engine/error.h"
#include "worker/engine/timeline.h"

namespace kbench::engine {

// One operand in device memory.
struct Buffer {
  void* data = nullptr;
  std::int64_t bytes = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual Timeline& timeline() = 0;
  virtual void* stream() = 0;  // a cudaStream_t; null on a CPU
  virtual int threads() const = 0;

  // Bytes that can still be allocated, and of the whole device.
  virtual std::int64_t FreeBytes() = 0;
  virtual std::int64_t TotalBytes() = 0;
  // Aligned to 4 KiB at least.
  virtual EngineError Allocate(std::int64_t bytes, void** out) = 0;
  virtual void Free(void* data, std::int64_t bytes) = 0;

  virtual EngineError Set(void* data, unsigned char value, std::int64_t bytes) = 0;
  // Fills an input from the seed; `operand` is its place among the operands. The same bits on every
  // device (kernels/reference/random.h).
  virtual EngineError FillInput(const OperandSpec& spec, int operand, std::uint64_t seed,
                                void* data) = 0;
  // As HostDigest().
  virtual EngineError Digest(const void* data, std::int64_t bytes, std::uint64_t* digest) = 0;
  virtual EngineError Download(const void* data, std::int64_t bytes, void* host) = 0;
  // The memory itself where the host can read it, else null.
  virtual const void* HostView(const void* data) = 0;

  // What a flush evicts, where that depends on the operands.
  virtual void SetOperands(const std::vector<Buffer>& operands) = 0;
};

struct OpenedDevice {
  std::unique_ptr<Device> device;  // null: `error` says why
  EngineError error;
};

// "cpu" or "cuda". `threads`: how many a CPU kernel may use. libkbench-engine.so and
// libkbench-engine-cuda.so differ in this function alone.
OpenedDevice OpenDevice(const std::string& name, int threads);

}  // namespace kbench::engine
