// cuDNN's functions as far as we and cudnn-frontend call them: each finds its namesake in the
// library loaded at run time. Nothing links libcudnn, and code above reads as if it did. The
// definitions are hidden, so that the parts of the real library never find them. Thread-safe.
#pragma GCC visibility push(hidden)
#include <cudnn.h>
#include <nvrtc.h>
#pragma GCC visibility pop

#include <dlfcn.h>

#include "kernels/cudnn/library.h"

namespace {

template <typename Function>
Function* Find(const char* name) {
  void* loaded = kbench::cudnn::TheLibrary().loaded;
  return loaded == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(loaded, name));
}

}  // namespace

// A function that gives a status: not initialised where the library has none of its name.
#define KB_FORWARD(name, parameters, arguments)                               \
  cudnnStatus_t name parameters {                                             \
    static decltype(&name) const found = Find<decltype(name)>(#name);         \
    return found == nullptr ? CUDNN_STATUS_NOT_INITIALIZED : found arguments; \
  }

extern "C" {

std::size_t cudnnGetVersion() {
  static decltype(&cudnnGetVersion) const found =
      Find<decltype(cudnnGetVersion)>("cudnnGetVersion");
  return found == nullptr ? 0 : found();
}

const char* cudnnGetErrorString(cudnnStatus_t status) {
  static decltype(&cudnnGetErrorString) const found =
      Find<decltype(cudnnGetErrorString)>("cudnnGetErrorString");
  return found == nullptr ? "libcudnn.so.9 is not loaded" : found(status);
}

void cudnnGetLastErrorString(char* message, std::size_t size) {
  static decltype(&cudnnGetLastErrorString) const found =
      Find<decltype(cudnnGetLastErrorString)>("cudnnGetLastErrorString");
  if (found != nullptr) return found(message, size);
  if (size > 0) message[0] = '\0';
}

KB_FORWARD(cudnnCreate, (cudnnHandle_t * handle), (handle))
KB_FORWARD(cudnnDestroy, (cudnnHandle_t handle), (handle))
KB_FORWARD(cudnnSetStream, (cudnnHandle_t handle, cudaStream_t stream), (handle, stream))
KB_FORWARD(cudnnGetStream, (cudnnHandle_t handle, cudaStream_t* stream), (handle, stream))

KB_FORWARD(cudnnCreateTensorDescriptor, (cudnnTensorDescriptor_t * tensor), (tensor))
KB_FORWARD(cudnnDestroyTensorDescriptor, (cudnnTensorDescriptor_t tensor), (tensor))
KB_FORWARD(cudnnSetTensorNdDescriptor,
           (cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int count, const int dims[],
            const int strides[]),
           (tensor, type, count, dims, strides))

KB_FORWARD(cudnnSoftmaxForward,
           (cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm, cudnnSoftmaxMode_t mode,
            const void* alpha, cudnnTensorDescriptor_t x_layout, const void* x, const void* beta,
            cudnnTensorDescriptor_t y_layout, void* y),
           (handle, algorithm, mode, alpha, x_layout, x, beta, y_layout, y))

KB_FORWARD(cudnnCreateReduceTensorDescriptor, (cudnnReduceTensorDescriptor_t * reduction),
           (reduction))
KB_FORWARD(cudnnDestroyReduceTensorDescriptor, (cudnnReduceTensorDescriptor_t reduction),
           (reduction))
KB_FORWARD(cudnnSetReduceTensorDescriptor,
           (cudnnReduceTensorDescriptor_t reduction, cudnnReduceTensorOp_t operation,
            cudnnDataType_t type, cudnnNanPropagation_t nan, cudnnReduceTensorIndices_t indices,
            cudnnIndicesType_t indices_type),
           (reduction, operation, type, nan, indices, indices_type))
KB_FORWARD(cudnnGetReductionWorkspaceSize,
           (cudnnHandle_t handle, cudnnReduceTensorDescriptor_t reduction,
            cudnnTensorDescriptor_t from, cudnnTensorDescriptor_t to, std::size_t* bytes),
           (handle, reduction, from, to, bytes))
KB_FORWARD(cudnnReduceTensor,
           (cudnnHandle_t handle, cudnnReduceTensorDescriptor_t reduction, void* indices,
            std::size_t indices_bytes, void* workspace, std::size_t workspace_bytes,
            const void* alpha, cudnnTensorDescriptor_t x_layout, const void* x, const void* beta,
            cudnnTensorDescriptor_t y_layout, void* y),
           (handle, reduction, indices, indices_bytes, workspace, workspace_bytes, alpha, x_layout,
            x, beta, y_layout, y))

KB_FORWARD(cudnnBackendCreateDescriptor,
           (cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor),
           (type, descriptor))
KB_FORWARD(cudnnBackendDestroyDescriptor, (cudnnBackendDescriptor_t descriptor), (descriptor))
KB_FORWARD(cudnnBackendFinalize, (cudnnBackendDescriptor_t descriptor), (descriptor))
KB_FORWARD(cudnnBackendSetAttribute,
           (cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
            cudnnBackendAttributeType_t type, std::int64_t count, const void* elements),
           (descriptor, name, type, count, elements))
KB_FORWARD(cudnnBackendGetAttribute,
           (const cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
            cudnnBackendAttributeType_t type, std::int64_t wanted, std::int64_t* count,
            void* elements),
           (descriptor, name, type, wanted, count, elements))
KB_FORWARD(cudnnBackendExecute,
           (cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t operands),
           (handle, plan, operands))

// The frontend carries an engine of its own that compiles with NVRTC, for an operation that we do
// not use: it finds no compiler.
#define KB_NO_COMPILER(name, parameters) \
  nvrtcResult name parameters { return NVRTC_ERROR_INTERNAL_ERROR; }
KB_NO_COMPILER(nvrtcCreateProgram, (nvrtcProgram*, const char*, const char*, int,
                                    const char* const*, const char* const*))
KB_NO_COMPILER(nvrtcDestroyProgram, (nvrtcProgram*))
KB_NO_COMPILER(nvrtcCompileProgram, (nvrtcProgram, int, const char* const*))
KB_NO_COMPILER(nvrtcGetCUBIN, (nvrtcProgram, char*))
KB_NO_COMPILER(nvrtcGetCUBINSize, (nvrtcProgram, std::size_t*))
KB_NO_COMPILER(nvrtcGetProgramLog, (nvrtcProgram, char*))
KB_NO_COMPILER(nvrtcGetProgramLogSize, (nvrtcProgram, std::size_t*))

}  // extern "C"
