#include "worker/engine/cpu_device.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "kernels/reference/inputs.h"
#include "worker/engine/cpu_calibration.h"
#include "worker/engine/digest.h"
#include "worker/engine/host_memory.h"

namespace kbench::engine {

std::int64_t CpuDevice::FreeBytes() { return ReadHostMemory().free_bytes; }

std::int64_t CpuDevice::TotalBytes() { return ReadHostMemory().total_bytes; }

// Mapped, not malloc'ed: a page of its own for each guard, and given back to the system at the end.
EngineError CpuDevice::Allocate(std::int64_t bytes, void** out) {
  const auto size = static_cast<std::size_t>(bytes);
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return {KB_OUT_OF_MEMORY,
            "the system gave no " + std::to_string(bytes) + " bytes: " + std::strerror(errno),
            bytes, FreeBytes()};
  }
  // Huge pages where the system has them: a benchmark of large operands should not be one of the
  // page tables.
  (void)madvise(data, size, MADV_HUGEPAGE);
  *out = data;
  return {};
}

void CpuDevice::Free(void* data, std::int64_t bytes) {
  (void)munmap(data, static_cast<std::size_t>(bytes));
}

EngineError CpuDevice::Set(void* data, unsigned char value, std::int64_t bytes) {
  std::memset(data, value, static_cast<std::size_t>(bytes));
  return {};
}

EngineError CpuDevice::FillInput(const OperandSpec& spec, int operand, std::uint64_t seed,
                                 void* data) {
  reference::FillInput(spec, operand, seed, data, 0, spec.elements(), threads_);
  return {};
}

EngineError CpuDevice::Digest(const void* data, std::int64_t bytes, std::uint64_t* digest) {
  *digest = HostDigest(data, bytes);
  return {};
}

EngineError CpuDevice::Download(const void* data, std::int64_t bytes, void* host) {
  std::memcpy(host, data, static_cast<std::size_t>(bytes));
  return {};
}

EngineError CpuDevice::Calibrate(kb_calibration* out) {
  return CalibrateCpu(timeline_, threads_, out);
}

void CpuDevice::SetOperands(const std::vector<Buffer>& operands) {
  std::vector<std::pair<const void*, std::int64_t>> ranges;
  for (const Buffer& operand : operands) ranges.emplace_back(operand.data, operand.bytes);
  timeline_.SetOperands(std::move(ranges));
}

}  // namespace kbench::engine
