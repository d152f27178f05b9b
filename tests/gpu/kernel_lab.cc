// For whoever writes a kernel: checks implementations and times them plainly, within seconds and
// without a service. Not a measurement of kbench: no flush, no rounds, no verdict.
//   kernel_lab [--candidates] KERNEL DTYPE SIZE IMPLEMENTATION[,IMPLEMENTATION...] ...
// One line a row: checked or what is wrong, median of 9 windows of back-to-back launches, FLOP/s,
// byte/s, configuration. --candidates times every candidate an implementation offers. --check-only
// times nothing.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "kernels/cublas/table.h"
#include "kernels/cuda/table.h"
#include "kernels/cudnn/table.h"
#include "kernels/triton_aot/table.h"
#include "tests/kernels/cuda/device_operands.h"

namespace kbench::testing {
namespace {

constexpr int kWindows = 9;
constexpr double kWindowSeconds = 0.004;  // short: a longer one would meet the power limit

double WindowSeconds(Instance& instance, cudaStream_t stream, int launches) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  cudaEventRecord(begin, stream);
  for (int i = 0; i < launches; ++i) instance.Launch(stream);
  cudaEventRecord(end, stream);
  cudaEventSynchronize(end);
  float milliseconds = 0;
  cudaEventElapsedTime(&milliseconds, begin, end);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return milliseconds * 1e-3 / launches;
}

double MedianSeconds(Instance& instance, cudaStream_t stream) {
  const double first = WindowSeconds(instance, stream, 2);
  const int launches = std::clamp(static_cast<int>(kWindowSeconds / first), 1, 200);
  std::vector<double> windows;
  for (int i = 0; i < kWindows; ++i) windows.push_back(WindowSeconds(instance, stream, launches));
  std::sort(windows.begin(), windows.end());
  return windows[kWindows / 2];
}

std::string Check(HostOperands& host, DeviceOperands& device, Instance& instance,
                  cudaStream_t stream) {
  host.PoisonOutput();
  device.Upload();
  if (const int error = instance.Launch(stream); error != 0) return instance.ErrorText(error);
  if (const cudaError_t error = cudaStreamSynchronize(stream); error != cudaSuccess) {
    return cudaGetErrorString(error);
  }
  device.Download();
  return host.Complaint();
}

bool RunRow(const Implementation& line, const Problem& problem, const std::string& candidate,
            bool timed, HostOperands& host, DeviceOperands& device, cudaStream_t stream) {
  std::printf("%s %s %s %s %s: ", problem.kernel.c_str(), Info(problem.dtype).name,
              problem.shape.Canonical().c_str(), line.name.c_str(), candidate.c_str());
  std::fflush(stdout);
  if (std::find(line.dtypes.begin(), line.dtypes.end(), problem.dtype) == line.dtypes.end()) {
    std::printf("it has no %s\n", Info(problem.dtype).name);
    return false;
  }
  if (line.unsupported != nullptr) {
    if (const auto why = line.unsupported(problem)) {
      std::printf("unsupported: %s\n", why->c_str());
      return true;
    }
  }
  if (line.dtype_missing != nullptr) {
    if (const auto why = line.dtype_missing(problem.dtype)) {
      std::printf("missing: %s\n", why->c_str());
      return true;
    }
  }
  auto instance = line.create(problem, device.pointers(), {1, stream, candidate});
  if (!instance.ok()) {
    std::printf("not created: %s\n", instance.error().message.c_str());
    return instance.error().kind == ImplementationError::Kind::kUnsupported;
  }
  const std::string complaint = Check(host, device, **instance, stream);
  std::printf("%s", complaint.empty() ? "checked" : complaint.c_str());
  if (timed) {
    const double seconds = MedianSeconds(**instance, stream);
    const KernelEntry& entry = *FindKernel(problem.kernel);
    std::printf(", %.2f us, %.1f GFLOP/s, %.0f GB/s", seconds * 1e6,
                entry.flops(problem) / seconds * 1e-9,
                entry.compulsory_bytes(problem) / seconds * 1e-9);
  }
  for (const auto& [key, value] : (*instance)->Configuration()) {
    if (key != kDeviceFunctionsKey) std::printf(" %s=%s", key.c_str(), value.c_str());
  }
  std::printf("\n");
  std::fflush(stdout);
  return complaint.empty() && cudaGetLastError() == cudaSuccess;
}

std::vector<const Implementation*> Lines(const std::string& kernel, const std::string& names) {
  std::vector<const Implementation*> lines;
  std::stringstream words(names);
  for (std::string name; std::getline(words, name, ',');) {
    for (const auto* table : {&CudaTable(), &CublasTable(), &CudnnTable(), &TritonAotTable()}) {
      for (const Implementation& line : *table) {
        if (line.kernel == kernel && line.name == name) lines.push_back(&line);
      }
    }
  }
  return lines;
}

bool RunCell(char** words, bool all_candidates, bool timed, cudaStream_t stream) {
  const auto problem = MakeProblem(words[0], words[1], words[2], "");
  if (!problem.ok()) {
    std::printf("%s\n", problem.error().message.c_str());
    return false;
  }
  HostOperands host(*problem);
  DeviceOperands device(host);
  bool fine = true;
  for (const Implementation* line : Lines(words[0], words[3])) {
    std::vector<std::string> candidates = {""};
    if (all_candidates && line->candidates != nullptr) candidates = line->candidates(*problem);
    for (const std::string& candidate : candidates) {
      fine = RunRow(*line, *problem, candidate, timed, host, device, stream) && fine;
    }
  }
  return fine;
}

}  // namespace
}  // namespace kbench::testing

int main(int argc, char** argv) {
  bool all_candidates = false, timed = true;
  int at = 1;
  for (; at < argc && std::strncmp(argv[at], "--", 2) == 0; ++at) {
    all_candidates = all_candidates || std::strcmp(argv[at], "--candidates") == 0;
    timed = timed && std::strcmp(argv[at], "--check-only") != 0;
  }
  if (at == argc || (argc - at) % 4 != 0) {
    std::fprintf(
        stderr,
        "usage: kernel_lab [--candidates] [--check-only] KERNEL DTYPE SIZE IMPLEMENTATIONS ...\n");
    return 2;
  }
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  bool fine = true;
  for (; at < argc; at += 4) {
    fine = kbench::testing::RunCell(argv + at, all_candidates, timed, stream) && fine;
  }
  return fine ? 0 : 1;
}
