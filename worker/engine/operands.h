// The operands of a case in device memory, each between two guard bands of 4 KiB, and what is done
// to them between launches: fill the inputs, poison the output, see that nobody wrote where he must
// not. Owned by the Case; used from one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/catalog/problem.h"
#include "worker/engine/device.h"

namespace kbench::engine {

inline constexpr std::int64_t kGuardBytes = 4096;
inline constexpr unsigned char kGuardByte = 0xA5;
// NaN in every floating-point storage, so that an element nobody wrote cannot pass.
inline constexpr unsigned char kPoisonByte = 0xFF;

class Operands {
 public:
  // Bytes that Open() would allocate.
  static std::int64_t NeededBytes(const std::vector<OperandSpec>& specs);

  Operands(Device& device, std::vector<OperandSpec> specs);
  ~Operands();
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  // Allocates and writes the guards. The caller has checked that the memory is there.
  EngineError Open();
  // Fills the inputs from the seed and keeps their digests.
  EngineError Fill(std::uint64_t seed);
  EngineError PoisonOutput();

  const std::vector<OperandSpec>& specs() const { return specs_; }
  const Buffer& buffer(std::size_t index) const { return buffers_[index]; }
  const Buffer& output() const { return buffers_.back(); }  // of a kernel that has operands

  // Sets `*damage` to the name of an operand whose guard was written over, or of an input that is
  // not what Fill() left; empty when all is well.
  EngineError FindOverwrittenGuard(std::string* damage);
  EngineError FindModifiedInput(std::string* damage);

 private:
  EngineError GuardIntact(const void* guard, bool* intact);

  Device& device_;
  const std::vector<OperandSpec> specs_;
  std::vector<void*> blocks_;  // what was allocated; a buffer starts one guard later
  std::vector<Buffer> buffers_;
  std::vector<std::uint64_t> digests_;  // of the inputs
};

// A place for an output that is not the case's. Owned by the Case; used from one thread.
class ScratchOutput {
 public:
  ScratchOutput(Device& device, std::int64_t bytes) : device_(device), bytes_(bytes) {}
  ~ScratchOutput();
  ScratchOutput(const ScratchOutput&) = delete;
  ScratchOutput& operator=(const ScratchOutput&) = delete;

  std::int64_t NeededBytes() const { return bytes_ + 2 * kGuardBytes; }
  EngineError Open();
  void* data() const;

 private:
  Device& device_;
  const std::int64_t bytes_;
  void* block_ = nullptr;
};

}  // namespace kbench::engine
