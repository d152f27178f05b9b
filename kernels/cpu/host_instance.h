// What every CPU implementation shares: an instance that runs a body on the calling thread and
// turns what the body throws into an error code with a text. Used from one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "kernels/implementation.h"

namespace kbench {

using CreateResult = Expected<std::unique_ptr<Instance>, ImplementationError>;
using HostBody = std::function<void()>;
using ConfigurationMap = std::map<std::string, std::string>;

// Memory aligned for any vector width, touched once so that the first launch pays no page faults.
class HostBuffer {
 public:
  // Throws std::bad_alloc.
  explicit HostBuffer(std::int64_t bytes);

  template <typename T>
  T* as() const {
    return static_cast<T*>(memory_.get());
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  std::int64_t bytes_;
  std::unique_ptr<void, Free> memory_;
};

class HostInstance : public Instance {
 public:
  HostInstance(HostBody body, ConfigurationMap configuration)
      : body_(std::move(body)), configuration_(std::move(configuration)) {}

  int Launch(void* stream) noexcept override;
  std::string ErrorText(int error) const override;
  ConfigurationMap Configuration() const override { return configuration_; }

 private:
  HostBody body_;
  ConfigurationMap configuration_;
  std::string error_;  // what the last failed launch said
};

// Runs `make`, which allocates up to `needed_bytes` of its own and may throw; what it throws
// becomes the error it stands for: std::bad_alloc out of memory, std::invalid_argument unsupported.
CreateResult CreateGuarded(std::int64_t needed_bytes,
                           const std::function<std::unique_ptr<Instance>()>& make);

}  // namespace kbench
