// What the engine needs of a device beside its timeline: memory, what is done to operands where
// they lie (fill, set, digest), and its calibration. One a process; owned by the kb_engine; used
// from one thread. Every call is complete on return, except where its name says that it enqueues.
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
  // As Set(), but only enqueued: for use between the samples of a burst.
  virtual EngineError EnqueueSet(void* data, unsigned char value, std::int64_t bytes) = 0;
  // Enqueues a look at the buffer, and, with the device idle, compares it with what is there now.
  // Without a queue nothing can come late.
  virtual EngineError EnqueueNote(const Buffer& /*buffer*/) { return {}; }
  virtual EngineError ChangedSinceNote(const Buffer& /*buffer*/, bool* changed) {
    *changed = false;
    return {};
  }
  // Whether all that the last look saw is this byte; asked after ChangedSinceNote().
  virtual bool NoteHolds(const Buffer& /*buffer*/, unsigned char /*value*/) { return false; }
  // Fills an input from the seed; `operand` is its place among the operands. The same bits on every
  // device (kernels/reference/random.h).
  virtual EngineError FillInput(const OperandSpec& spec, int operand, std::uint64_t seed,
                                void* data) = 0;
  // As HostDigest().
  virtual EngineError Digest(const void* data, std::int64_t bytes, std::uint64_t* digest) = 0;
  virtual EngineError Download(const void* data, std::int64_t bytes, void* host) = 0;
  // The memory itself where the host can read it, else null.
  virtual const void* HostView(const void* data) = 0;

  // Bytes of the last-level cache that a rotation of operand sets must outgrow; 0: not told.
  virtual std::int64_t CacheBytes() const = 0;
  // Fills `out`; see kb_calibrate. No case is open.
  virtual EngineError Calibrate(kb_calibration* out) = 0;

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
