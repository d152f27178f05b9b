#include "kernels/cudnn/common.h"

#include <limits>

#include "kernels/cudnn/library.h"

namespace kbench::cudnn {
namespace {

cudnnDataType_t TypeOf(DType storage) {
  switch (storage) {
    case DType::kFp64:
      return CUDNN_DATA_DOUBLE;
    case DType::kFp16:
      return CUDNN_DATA_HALF;
    case DType::kBf16:
      return CUDNN_DATA_BFLOAT16;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

}  // namespace

std::string StatusText(int status) {
  return cudnnGetErrorString(static_cast<cudnnStatus_t>(status));
}

ImplementationError StatusError(const std::string& what, cudnnStatus_t status) {
  using Kind = ImplementationError::Kind;
  char said[256] = "";
  cudnnGetLastErrorString(said, sizeof(said));
  Kind kind = Kind::kDeviceError;
  if (status / 1000 * 1000 == CUDNN_STATUS_NOT_SUPPORTED) kind = Kind::kUnsupported;
  if (status == CUDNN_STATUS_ALLOC_FAILED) kind = Kind::kOutOfMemory;
  std::string message = what + ": " + StatusText(status);
  if (said[0] != '\0') message += std::string(": ") + said;
  return {kind, message, 0};
}

ConfigurationMap LibraryConfiguration() {
  const Library& library = TheLibrary();
  return {{"library", "cuDNN " + library.version}, {"library_file", library.path}};
}

cudnnStatus_t Handle::Create(void* stream) {
  const cudnnStatus_t status = cudnnCreate(&handle_);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  stream_ = stream;
  return cudnnSetStream(handle_, static_cast<cudaStream_t>(stream));
}

cudnnStatus_t Handle::UseStream(void* stream) {
  if (stream == stream_) return CUDNN_STATUS_SUCCESS;
  const cudnnStatus_t status = cudnnSetStream(handle_, static_cast<cudaStream_t>(stream));
  if (status == CUDNN_STATUS_SUCCESS) stream_ = stream;
  return status;
}

cudnnStatus_t Tensor::Create(DType storage, const std::vector<int>& extents) {
  const cudnnStatus_t status = cudnnCreateTensorDescriptor(&tensor_);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  std::vector<int> strides(extents.size(), 1);
  for (std::size_t i = extents.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * extents[i];
  return cudnnSetTensorNdDescriptor(tensor_, TypeOf(storage), static_cast<int>(extents.size()),
                                    extents.data(), strides.data());
}

const void* One(DType dtype) {
  static const double wide = 1;
  static const float narrow = 1;
  return dtype == DType::kFp64 ? static_cast<const void*>(&wide) : &narrow;
}

const void* Zero(DType dtype) {
  static const double wide = 0;
  static const float narrow = 0;
  return dtype == DType::kFp64 ? static_cast<const void*>(&wide) : &narrow;
}

std::optional<std::string> TooManyElements(std::int64_t elements) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  if (elements <= kMost) return std::nullopt;
  return "cuDNN counts a tensor's elements in 32 bits: at most " + std::to_string(kMost) +
         ", not " + std::to_string(elements);
}

}  // namespace kbench::cudnn
