// What the cuDNN implementations share: a handle, tensor descriptors, statuses as errors, what goes
// into a configuration. Used from one thread, with the device of the context current.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/implementation.h"

namespace kbench::cudnn {

using CreateResult = Expected<std::unique_ptr<Instance>, ImplementationError>;
using ConfigurationMap = std::map<std::string, std::string>;

// A status as an error; what the library says of its last error is in its text.
ImplementationError StatusError(const std::string& what, cudnnStatus_t status);
std::string StatusText(int status);

// {"library", "cuDNN 9.19.0"} and where it was found.
ConfigurationMap LibraryConfiguration();

// A handle; launches go to the stream last asked for.
class Handle {
 public:
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (handle_ != nullptr) cudnnDestroy(handle_);
  }
  cudnnStatus_t Create(void* stream);
  cudnnStatus_t UseStream(void* stream);
  cudnnHandle_t get() const { return handle_; }

 private:
  cudnnHandle_t handle_ = nullptr;
  void* stream_ = nullptr;
};

// A dense tensor, row-major; at least four extents, as cuDNN wants.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  ~Tensor() {
    if (tensor_ != nullptr) cudnnDestroyTensorDescriptor(tensor_);
  }
  cudnnStatus_t Create(DType storage, const std::vector<int>& extents);
  cudnnTensorDescriptor_t get() const { return tensor_; }

 private:
  cudnnTensorDescriptor_t tensor_ = nullptr;
};

// cuDNN scales its results: by alpha, plus beta times what was there. fp64 wants doubles.
const void* One(DType dtype);
const void* Zero(DType dtype);

// The older interface counts a tensor's elements in 32 bits: why a tensor of so many is refused, or
// nothing.
std::optional<std::string> TooManyElements(std::int64_t elements);

}  // namespace kbench::cudnn
