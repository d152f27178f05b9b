#include "kernels/cpu/host_instance.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <limits>
#include <new>
#include <stdexcept>

namespace kbench {
namespace {

constexpr std::int64_t kAlignment = 4096;

// Linux hands out more memory than it has and kills whoever touches it, so ask first.
std::int64_t AvailableBytes() {
  std::ifstream meminfo("/proc/meminfo");
  std::string key;
  std::int64_t kib = 0;
  std::string unit;
  while (meminfo >> key >> kib) {
    if (key == "MemAvailable:") return kib * 1024;
    std::getline(meminfo, unit);
  }
  return std::numeric_limits<std::int64_t>::max();
}

}  // namespace

HostBuffer::HostBuffer(std::int64_t bytes) : bytes_(bytes) {
  constexpr std::int64_t kWorthAsking = std::int64_t{64} << 20;
  if (bytes > kWorthAsking && bytes > AvailableBytes()) throw std::bad_alloc();
  const std::size_t rounded =
      static_cast<std::size_t>((bytes + kAlignment - 1) / kAlignment * kAlignment);
  memory_.reset(std::aligned_alloc(kAlignment, rounded == 0 ? kAlignment : rounded));
  if (!memory_) throw std::bad_alloc();
  std::memset(memory_.get(), 0, rounded == 0 ? kAlignment : rounded);
}

void HostBuffer::Free::operator()(void* memory) const { std::free(memory); }

int HostInstance::Launch(void* /*stream*/) noexcept {
  try {
    body_();
    return 0;
  } catch (const std::exception& error) {
    error_ = error.what();
  } catch (...) {
    error_ = "the kernel threw something that is no std::exception";
  }
  return 1;
}

std::string HostInstance::ErrorText(int error) const {
  return error_.empty() ? "error " + std::to_string(error) : error_;
}

CreateResult CreateGuarded(std::int64_t needed_bytes,
                           const std::function<std::unique_ptr<Instance>()>& make) {
  using Kind = ImplementationError::Kind;
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return ImplementationError{
        Kind::kOutOfMemory,
        "needs " + std::to_string(needed_bytes) +
            " bytes of scratch memory beside the operands, which this machine does not have free",
        needed_bytes};
  } catch (const std::invalid_argument& error) {
    return ImplementationError{Kind::kUnsupported, error.what(), 0};
  } catch (const std::exception& error) {
    return ImplementationError{Kind::kDeviceError, error.what(), 0};
  }
}

}  // namespace kbench
