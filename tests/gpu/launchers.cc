#include "tests/gpu/launchers.h"

#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/catalog/catalog.h"
#include "kernels/cublas/table.h"
#include "kernels/cuda/table.h"
#include "kernels/cudnn/table.h"
#include "kernels/implementation.h"
#include "kernels/reference/inputs.h"
#include "kernels/triton_aot/table.h"
#include "worker/engine/operands.h"

struct kbl_launcher {
  std::unique_ptr<kbench::Instance> instance;
  std::string configuration;
};

namespace {

// Operands lie as the engine lays them, a guard before and behind each: a kernel that reads one
// stream and writes another takes 3 % longer on an H200 where both begin a multiple of 2 MiB apart.
constexpr std::size_t kGuard = kbench::engine::kGuardBytes;

using kbench::Implementation;
using kbench::OperandSpec;
using kbench::Problem;

void Write(const std::string& text, char* to, std::size_t size) {
  if (to != nullptr && size > 0) std::snprintf(to, size, "%s", text.c_str());
}

// Where a function says what went wrong.
struct Report {
  char* error;
  std::size_t size;

  int Fail(const std::string& text) const {
    Write(text, error, size);
    return -1;
  }
  // True when it failed, and then said so.
  bool Failed(cudaError_t code, const std::string& what) const {
    if (code == cudaSuccess) return false;
    Fail(what + ": " + cudaGetErrorName(code) + ": " + cudaGetErrorString(code));
    return true;
  }
};

std::vector<OperandSpec> OperandsOf(const Problem& problem) {
  return kbench::FindKernel(problem.kernel)->operands(problem);
}

// The problem, or nothing after a report.
std::unique_ptr<Problem> Resolve(const char* kernel, const char* dtype, const char* shape,
                                 const Report& report) {
  auto problem = kbench::MakeProblem(kernel, dtype, shape, "");
  if (problem.ok()) return std::make_unique<Problem>(*std::move(problem));
  report.Fail(problem.error().message);
  return nullptr;
}

const Implementation* Find(const std::string& kernel, const std::string& name,
                           const Report& report) {
  std::string known;
  for (const auto* table : {&kbench::CudaTable(), &kbench::CublasTable(), &kbench::CudnnTable(),
                            &kbench::TritonAotTable()}) {
    for (const Implementation& one : *table) {
      if (one.kernel != kernel) continue;
      if (one.name == name) return &one;
      known += (known.empty() ? "" : ", ") + one.name;
    }
  }
  report.Fail("no implementation of " + kernel + " is named '" + name + "': there are " + known);
  return nullptr;
}

// Why this implementation cannot run this problem, or nothing.
std::optional<std::string> WhyNot(const Implementation& implementation, const Problem& problem) {
  const auto& dtypes = implementation.dtypes;
  if (std::find(dtypes.begin(), dtypes.end(), problem.dtype) == dtypes.end()) {
    return std::string("has no ") + kbench::Info(problem.dtype).name;
  }
  if (implementation.unsupported == nullptr) return std::nullopt;
  return implementation.unsupported(problem);
}

// Input number `index` in device memory; the host makes it, the bits are those the engine makes.
bool CopyInput(const OperandSpec& spec, int index, std::uint64_t seed, void* to,
               const Report& report) {
  std::vector<char> host(static_cast<std::size_t>(spec.bytes()));
  const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  kbench::reference::FillInput(spec, index, seed, host.data(), 0, spec.elements(), threads);
  return !report.Failed(cudaMemcpy(to, host.data(), host.size(), cudaMemcpyHostToDevice),
                        "copying operand " + spec.name);
}

bool Allocate(const std::vector<OperandSpec>& specs, std::uint64_t seed, void** operands,
              const Report& report) {
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(specs[i].bytes());
    const std::string what = "operand " + specs[i].name + " of " + std::to_string(bytes) + " bytes";
    void* block = nullptr;
    if (report.Failed(cudaMalloc(&block, bytes + 2 * kGuard), what)) return false;
    operands[i] = static_cast<char*>(block) + kGuard;
    if (specs[i].output) {
      if (report.Failed(cudaMemset(operands[i], 0, bytes), what)) return false;
    } else if (!CopyInput(specs[i], static_cast<int>(i), seed, operands[i], report)) {
      return false;
    }
  }
  return !report.Failed(cudaDeviceSynchronize(), "filling the operands");
}

std::string Lines(const kbench::Instance& instance) {
  std::string text;
  for (const auto& [key, value] : instance.Configuration()) text += key + "=" + value + "\n";
  return text;
}

struct EventPair {
  cudaEvent_t start = nullptr, stop = nullptr;

  EventPair() = default;
  EventPair(const EventPair&) = delete;
  EventPair& operator=(const EventPair&) = delete;
  ~EventPair() {
    if (start != nullptr) cudaEventDestroy(start);
    if (stop != nullptr) cudaEventDestroy(stop);
  }
  cudaError_t Create() {
    const cudaError_t error = cudaEventCreate(&start);
    return error != cudaSuccess ? error : cudaEventCreate(&stop);
  }
};

}  // namespace

int kbl_operands(const char* kernel, const char* dtype, const char* shape, std::int64_t* bytes,
                 int capacity, char* error, std::size_t size) {
  const Report report{error, size};
  const auto problem = Resolve(kernel, dtype, shape, report);
  if (problem == nullptr) return -1;
  const auto specs = OperandsOf(*problem);
  if (static_cast<int>(specs.size()) > capacity) {
    return report.Fail("there are " + std::to_string(specs.size()) + " operands, more than the " +
                       std::to_string(capacity) + " that were asked for");
  }
  for (std::size_t i = 0; i < specs.size(); ++i) bytes[i] = specs[i].bytes();
  return static_cast<int>(specs.size());
}

int kbl_allocate(const char* kernel, const char* dtype, const char* shape, std::uint64_t seed,
                 void** operands, int count, char* error, std::size_t size) {
  const Report report{error, size};
  const auto problem = Resolve(kernel, dtype, shape, report);
  if (problem == nullptr) return -1;
  const auto specs = OperandsOf(*problem);
  if (static_cast<int>(specs.size()) != count) {
    return report.Fail("there are " + std::to_string(specs.size()) + " operands, not " +
                       std::to_string(count));
  }
  std::fill_n(operands, count, nullptr);
  if (Allocate(specs, seed, operands, report)) return 0;
  kbl_free(operands, count);
  return -1;
}

void kbl_free(void** operands, int count) {
  for (int i = 0; i < count; ++i) {
    if (operands[i] != nullptr) cudaFree(static_cast<char*>(operands[i]) - kGuard);
    operands[i] = nullptr;
  }
}

kbl_launcher* kbl_create(const char* kernel, const char* dtype, const char* shape,
                         const char* implementation, void** operands, int count, char* error,
                         std::size_t size) {
  const Report report{error, size};
  const auto problem = Resolve(kernel, dtype, shape, report);
  if (problem == nullptr) return nullptr;
  const Implementation* found = Find(kernel, implementation, report);
  if (found == nullptr) return nullptr;
  if (static_cast<int>(OperandsOf(*problem).size()) != count) {
    report.Fail("these are not the operands of " + problem->kernel + ": ask kbl_operands");
    return nullptr;
  }
  if (const auto why = WhyNot(*found, *problem)) {
    report.Fail(found->name + ": " + *why);
    return nullptr;
  }
  kbench::OperandPointers pointers;
  if (count > 0) {
    pointers.inputs.assign(operands, operands + count - 1);
    pointers.output = operands[count - 1];
  }
  auto instance = found->create(*problem, pointers, kbench::DeviceContext{});
  if (!instance.ok()) {
    report.Fail(found->name + ": " + instance.error().message);
    return nullptr;
  }
  std::string configuration = Lines(**instance);
  return new kbl_launcher{std::move(instance).value(), std::move(configuration)};
}

void kbl_destroy(kbl_launcher* launcher) { delete launcher; }

int kbl_launch(kbl_launcher* launcher, void* stream) { return launcher->instance->Launch(stream); }

void kbl_error_text(kbl_launcher* launcher, int code, char* text, std::size_t size) {
  Write(launcher->instance->ErrorText(code), text, size);
}

void kbl_configuration(kbl_launcher* launcher, char* text, std::size_t size) {
  Write(launcher->configuration, text, size);
}

int kbl_time_batch(kbl_launcher* launcher, int count, double* seconds, char* error,
                   std::size_t size) {
  const Report report{error, size};
  EventPair events;
  if (report.Failed(events.Create(), "creating events")) return -1;
  if (report.Failed(cudaEventRecord(events.start, nullptr), "recording an event")) return -1;
  for (int i = 0; i < count; ++i) {
    if (const int code = launcher->instance->Launch(nullptr)) {
      return report.Fail("launching: " + launcher->instance->ErrorText(code));
    }
  }
  if (report.Failed(cudaEventRecord(events.stop, nullptr), "recording an event")) return -1;
  if (report.Failed(cudaEventSynchronize(events.stop), "waiting for the batch")) return -1;
  float milliseconds = 0;
  if (report.Failed(cudaEventElapsedTime(&milliseconds, events.start, events.stop),
                    "reading the events")) {
    return -1;
  }
  *seconds = 1e-3 * static_cast<double>(milliseconds);
  return 0;
}

int kbl_synchronize(char* error, std::size_t size) {
  return Report{error, size}.Failed(cudaDeviceSynchronize(), "waiting for the device") ? -1 : 0;
}

int kbl_profile(int on, char* error, std::size_t size) {
  const cudaError_t code = on != 0 ? cudaProfilerStart() : cudaProfilerStop();
  return Report{error, size}.Failed(code, "telling the profiler") ? -1 : 0;
}
