// The interface of an implementation: one way to run a kernel. A new one is a file that defines an
// `Implementation` and a line in the table of its folder (kernels/cpu/table.cc,
// kernels/cuda/table.cc, kernels/cublas/table.cc, kernels/cudnn/table.cc). Implementations know
// nothing of timing, gRPC or processes. Used from one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/catalog/expected.h"
#include "kernels/catalog/problem.h"

namespace kbench {

struct ImplementationError {
  enum class Kind { kUnsupported, kOutOfMemory, kCompileError, kDeviceError };
  Kind kind = Kind::kDeviceError;
  std::string message;            // names what was wrong and what would be right
  std::int64_t needed_bytes = 0;  // kOutOfMemory
};

// Operands in device memory (host memory on a CPU), in the catalog's order. Owned by the engine;
// valid while the instance lives.
struct OperandPointers {
  std::vector<const void*> inputs;
  void* output = nullptr;
};

// The device an instance runs on, and how it is to run.
struct DeviceContext {
  int threads = 1;         // CPU: how many threads a kernel may use
  void* stream = nullptr;  // CUDA: the cudaStream_t all launches go to
  // One of what Implementation::candidates offered for this problem; empty: its first.
  std::string candidate{};
};

// The key of Instance::Configuration() under which the names of the instance's device functions
// stand, as the linker knows them, with spaces between. The runner finds their code by it and
// leaves it out of the result.
inline constexpr char kDeviceFunctionsKey[] = "device_functions";

// Device code that the program's own containers do not hold: loaded from elsewhere, or made at run
// time.
struct DeviceCode {
  std::string function;
  std::string kind;          // cubin, ptx
  std::string architecture;  // what it was compiled for: sm_90
  std::string_view bytes;    // lives as long as the instance
};

// A prepared implementation: everything that may be done once (handles, plans, workspaces, packing
// of nothing but its own scratch) is done.
class Instance {
 public:
  virtual ~Instance() = default;
  // Enqueues (GPU) or executes (CPU) one launch. Returns 0, or an error that ErrorText() explains.
  // Never synchronizes, never throws.
  virtual int Launch(void* stream) noexcept = 0;
  virtual std::string ErrorText(int error) const { return "error " + std::to_string(error); }
  // Algorithm id, tile, threads, workspace bytes ...: part of the result.
  virtual std::map<std::string, std::string> Configuration() const { return {}; }
  // Of its device functions, where the program does not hold it; nothing: it does.
  virtual std::vector<DeviceCode> Code() const { return {}; }
};

struct Implementation {
  std::string name;     // "cublas", "cuda/naive", "cpu/onednn"
  std::string family;   // the part before the slash
  std::string kernel;   // of the catalog
  std::string summary;  // the idea in one sentence
  std::vector<DType> dtypes;
  // Why the machine at hand has no such dtype, or nothing: what it lacks is not offered. May be
  // null.
  std::optional<std::string> (*dtype_missing)(DType) = nullptr;
  // Runs without --impl where no other default_choice of its family, kernel and dtype stands on a
  // higher rung: a library, or the best variant that this machine has.
  bool default_choice = false;
  int rung = 0;         // place on the ladder of its family: the plainest is 0
  bool hidden = false;  // runs only when it is asked for by name, and is listed nowhere
  // Why this problem cannot be run, or nothing. Called before anything is allocated. May be null:
  // everything in `dtypes` is supported.
  std::optional<std::string> (*unsupported)(const Problem&) = nullptr;
  // Configurations worth timing for this problem ("128x256x64,stages=4"), the best guess first;
  // null: nothing to tune. Called before anything is allocated; what one of them cannot take is
  // left out or refused by create as kUnsupported, which only loses that candidate.
  std::vector<std::string> (*candidates)(const Problem&) = nullptr;
  Expected<std::unique_ptr<Instance>, ImplementationError> (*create)(
      const Problem&, const OperandPointers&, const DeviceContext&) = nullptr;
};

}  // namespace kbench
