// Operands of a problem in device memory, for tests on a GPU. Used from one thread.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "tests/kernels/cpu/implementation_cases.h"

namespace kbench::testing {

// A copy of host operands, guard bands included, in device memory.
class DeviceOperands {
 public:
  explicit DeviceOperands(HostOperands& host) : host_(host) {
    for (auto& buffer : host_.buffers()) {
      cudaMalloc(&memory_.emplace_back(nullptr), buffer.size());
    }
    Upload();
  }
  ~DeviceOperands() {
    for (void* memory : memory_) cudaFree(memory);
  }
  DeviceOperands(const DeviceOperands&) = delete;
  DeviceOperands& operator=(const DeviceOperands&) = delete;

  // A copy from pageable memory may still be under way when the call returns, and the streams of
  // the tests do not wait for it.
  void Upload() {
    CopyAll(cudaMemcpyHostToDevice);
    cudaDeviceSynchronize();
  }
  void Download() { CopyAll(cudaMemcpyDeviceToHost); }

  OperandPointers pointers() {
    OperandPointers pointers;
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      auto* operand = static_cast<unsigned char*>(memory_[i]) + HostOperands::kGuard;
      if (host_.specs()[i].output) {
        pointers.output = operand;
      } else {
        pointers.inputs.push_back(operand);
      }
    }
    return pointers;
  }

 private:
  void CopyAll(cudaMemcpyKind kind) {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      auto& buffer = host_.buffers()[i];
      void* host = buffer.data();
      const bool up = kind == cudaMemcpyHostToDevice;
      cudaMemcpy(up ? memory_[i] : host, up ? host : memory_[i], buffer.size(), kind);
    }
  }

  HostOperands& host_;
  std::vector<void*> memory_;
};

}  // namespace kbench::testing
