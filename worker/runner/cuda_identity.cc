#include "worker/runner/cuda_identity.h"

#include <cublas_v2.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include "kernels/cublas/table.h"
#include "kernels/cuda/table.h"
#include "kernels/cudnn/table.h"
#include "kernels/triton_aot/table.h"

namespace kbench {
namespace {

// 13000 -> "13.0"; empty when it cannot be asked for.
std::string CudaVersion(cudaError_t (*ask)(int*)) {
  int version = 0;
  if (ask(&version) != cudaSuccess || version == 0) return "";
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string CublasVersion() {
  std::string text;
  for (const libraryPropertyType part : {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL}) {
    int value = 0;
    if (cublasGetProperty(part, &value) != CUBLAS_STATUS_SUCCESS) return "";
    text += (text.empty() ? "" : ".") + std::to_string(value);
  }
  return text;
}

}  // namespace

RunnerIdentity CudaIdentity(int threads) {
  RunnerIdentity identity;
  identity.profiler_range = [](bool begins) {
    // Without a profiler these do nothing.
    (void)(begins ? cudaProfilerStart() : cudaProfilerStop());
  };
  identity.name = "kbench-runner-cuda";
  identity.device = "cuda";
  identity.threads = threads;
  for (const auto* table : {&CublasTable(), &CudnnTable(), &CudaTable(), &TritonAotTable()}) {
    for (const Implementation& implementation : *table) {
      identity.implementations.push_back(&implementation);
    }
  }
  identity.libraries = {{"cuda-runtime", CudaVersion(cudaRuntimeGetVersion)},
                        {"cuda-driver", CudaVersion(cudaDriverGetVersion)},
                        {"cublas", CublasVersion()}};
  if (const std::string version = CudnnVersion(); !version.empty()) {
    identity.libraries.emplace("cudnn", version);
  }
  if (const std::string version = TritonAotVersion(); !version.empty()) {
    identity.libraries.emplace("triton-aot", version);
  }
  return identity;
}

}  // namespace kbench
