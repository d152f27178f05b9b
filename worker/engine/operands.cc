#include "worker/engine/operands.h"

#include <algorithm>
#include <utility>

namespace kbench::engine {
namespace {

std::int64_t BlockBytes(const OperandSpec& spec) { return spec.bytes() + 2 * kGuardBytes; }

char* At(void* data, std::int64_t offset) { return static_cast<char*>(data) + offset; }

}  // namespace

std::int64_t Operands::NeededBytes(const std::vector<OperandSpec>& specs) {
  std::int64_t bytes = 0;
  for (const OperandSpec& spec : specs) bytes += BlockBytes(spec);
  return bytes;
}

Operands::Operands(Device& device, std::vector<OperandSpec> specs)
    : device_(device), specs_(std::move(specs)) {}

Operands::~Operands() {
  device_.SetOperands({});
  for (std::size_t i = 0; i < blocks_.size(); ++i) device_.Free(blocks_[i], BlockBytes(specs_[i]));
}

EngineError Operands::Open() {
  for (const OperandSpec& spec : specs_) {
    void* block = nullptr;
    if (EngineError error = device_.Allocate(BlockBytes(spec), &block)) return error;
    blocks_.push_back(block);
    const Buffer buffer{At(block, kGuardBytes), spec.bytes()};
    buffers_.push_back(buffer);
    if (EngineError error = device_.Set(block, kGuardByte, kGuardBytes)) return error;
    char* behind = At(buffer.data, buffer.bytes);
    if (EngineError error = device_.Set(behind, kGuardByte, kGuardBytes)) return error;
  }
  digests_.resize(buffers_.size());
  device_.SetOperands(buffers_);
  return PoisonOutput();
}

EngineError Operands::Fill(std::uint64_t seed) {
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (specs_[i].output) continue;
    const Buffer& buffer = buffers_[i];
    if (EngineError error = device_.FillInput(specs_[i], static_cast<int>(i), seed, buffer.data)) {
      return error;
    }
    if (EngineError error = device_.Digest(buffer.data, buffer.bytes, &digests_[i])) return error;
  }
  return {};
}

EngineError Operands::PoisonOutput() {
  if (buffers_.empty()) return {};  // the null kernel has no operands
  return device_.Set(output().data, kPoisonByte, output().bytes);
}

EngineError Operands::GuardIntact(const void* guard, bool* intact) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(kGuardBytes));
  if (EngineError error = device_.Download(guard, kGuardBytes, bytes.data())) return error;
  *intact = std::all_of(bytes.begin(), bytes.end(),
                        [](unsigned char byte) { return byte == kGuardByte; });
  return {};
}

EngineError Operands::FindOverwrittenGuard(std::string* damage) {
  damage->clear();
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    bool before = true, behind = true;
    if (EngineError error = GuardIntact(blocks_[i], &before)) return error;
    const void* end = At(buffers_[i].data, buffers_[i].bytes);
    if (EngineError error = GuardIntact(end, &behind)) return error;
    if (before && behind) continue;
    *damage = specs_[i].name;
    return {};
  }
  return {};
}

EngineError Operands::FindModifiedInput(std::string* damage) {
  damage->clear();
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (specs_[i].output) continue;
    std::uint64_t digest = 0;
    if (EngineError error = device_.Digest(buffers_[i].data, buffers_[i].bytes, &digest)) {
      return error;
    }
    if (digest == digests_[i]) continue;
    *damage = specs_[i].name;
    return {};
  }
  return {};
}

ScratchOutput::~ScratchOutput() {
  if (block_ != nullptr) device_.Free(block_, NeededBytes());
}

EngineError ScratchOutput::Open() {
  if (EngineError error = device_.Allocate(NeededBytes(), &block_)) return error;
  return device_.Set(block_, kPoisonByte, NeededBytes());
}

void* ScratchOutput::data() const { return At(block_, kGuardBytes); }

}  // namespace kbench::engine
