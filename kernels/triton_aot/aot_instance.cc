#include "kernels/triton_aot/aot_instance.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "kernels/triton_aot/choice.h"
#include "kernels/triton_aot/cubin_parameters.h"

namespace kbench::aot {
namespace {

using cuda::ConfigurationMap;
using cuda::DeviceBuffer;
using cuda::DeviceError;
using Failure = std::optional<ImplementationError>;

constexpr std::int64_t kMostBlocks = 0x7fffffff;   // along x
constexpr std::int64_t kMostBlocksAcross = 65535;  // along y and z

Failure Unsupported(const std::string& why) {
  return ImplementationError{ImplementationError::Kind::kUnsupported, why, 0};
}

Failure WrongIndex(const std::string& why) {
  return ImplementationError{ImplementationError::Kind::kDeviceError, why, 0};
}

class Library {
 public:
  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (library_ != nullptr) cudaLibraryUnload(library_);
  }
  Failure Load(std::string_view cubin, const char* function, cudaKernel_t* kernel) {
    cudaError_t error =
        cudaLibraryLoadData(&library_, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
    if (error == cudaSuccess) error = cudaLibraryGetKernel(kernel, library_, function);
    if (error == cudaSuccess) return std::nullopt;
    return DeviceError("loading the compiled " + std::string(function), error);
  }

 private:
  cudaLibrary_t library_ = nullptr;
};

// A launch with nothing left to work out. Its pointers point into itself: it is never moved.
struct Prepared {
  Library library;
  const void* kernel = nullptr;
  cudaLaunchConfig_t config{};
  std::vector<std::uint64_t> values;  // a parameter each, in its first bytes
  std::vector<void*> parameters;
};

class AotInstance : public Instance {
 public:
  AotInstance(const Index& index, const Problem& problem, const OperandPointers& operands)
      : index_(index),
        operands_(operands),
        names_(NamesOf(problem, cuda::CurrentDevice().multiprocessors)) {}

  Failure Add(const aot::Launch& launch);
  void Describe(const Variant& variant) {
    for (const aot::Launch& launch : index_.LaunchesOf(variant)) {
      code_.push_back({launch.function, "cubin", "sm_" + std::to_string(variant.capability),
                       index_.CubinOf(launch)});
    }
    configuration_["triton"] = index_.triton_version;
    configuration_["compiled_for"] = "sm_" + std::to_string(variant.capability);
  }

  int Launch(void* stream) noexcept override {
    for (Prepared& each : launches_) {
      each.config.stream = static_cast<cudaStream_t>(stream);
      const cudaError_t error =
          cudaLaunchKernelExC(&each.config, each.kernel, each.parameters.data());
      if (error != cudaSuccess) return error;
    }
    return 0;
  }
  std::string ErrorText(int error) const override {
    const auto code = static_cast<cudaError_t>(error);
    return std::string(cudaGetErrorName(code)) + ": " + cudaGetErrorString(code);
  }
  ConfigurationMap Configuration() const override { return configuration_; }
  // The cubins alone: compile.py leaves the PTX beside them, and no program carries it.
  std::vector<DeviceCode> Code() const override { return code_; }

 private:
  Failure Grid(const aot::Launch& launch, dim3* grid) const;
  Failure AddValue(const Argument& argument, Prepared* prepared);
  Failure AddScratch(const aot::Launch& launch, Prepared* prepared);
  Failure ScratchPointer(const Argument& argument, void** pointer);
  Failure Load(const aot::Launch& launch, Prepared* prepared);

  const Index& index_;
  const OperandPointers operands_;
  const Names names_;
  std::list<DeviceBuffer> memory_;
  std::map<int, void*> scratch_;  // by its place
  std::list<Prepared> launches_;
  ConfigurationMap configuration_;
  std::vector<DeviceCode> code_;
};

Failure AotInstance::Grid(const aot::Launch& launch, dim3* grid) const {
  unsigned* extents[] = {&grid->x, &grid->y, &grid->z};
  for (int i = 0; i < 3; ++i) {
    const auto blocks = Evaluate(launch.grid[i], names_);
    if (!blocks.ok()) return WrongIndex(blocks.error());
    const std::int64_t most = i == 0 ? kMostBlocks : kMostBlocksAcross;
    if (*blocks < 1 || *blocks > most) {
      return Unsupported("a grid of " + std::to_string(*blocks) + " blocks (" + launch.grid[i] +
                         "): 1 to " + std::to_string(most) + " can be launched");
    }
    *extents[i] = static_cast<unsigned>(*blocks);
  }
  return std::nullopt;
}

// Memory of the instance's own, the same for all launches.
Failure AotInstance::ScratchPointer(const Argument& argument, void** pointer) {
  if (const auto known = scratch_.find(argument.place); known != scratch_.end()) {
    *pointer = known->second;
    return std::nullopt;
  }
  const auto elements = Evaluate(argument.expression, names_);
  if (!elements.ok()) return WrongIndex(elements.error());
  const std::int64_t bytes = std::max<std::int64_t>(1, *elements) * argument.element_bytes;
  if (auto error = memory_.emplace_back().Allocate("scratch memory", bytes)) return error;
  *pointer = memory_.back().as<void>();
  if (argument.zeroed) {
    // Before the first launch on whatever stream, hence waited for.
    cudaError_t error = cudaMemset(*pointer, 0, static_cast<std::size_t>(bytes));
    if (error == cudaSuccess) error = cudaStreamSynchronize(nullptr);
    if (error != cudaSuccess) return DeviceError("zeroing scratch memory", error);
  }
  scratch_[argument.place] = *pointer;
  return std::nullopt;
}

Failure AotInstance::AddValue(const Argument& argument, Prepared* prepared) {
  std::uint64_t& slot = prepared->values.emplace_back(0);
  switch (argument.kind) {
    case Argument::Kind::kOperand: {
      const auto place = static_cast<std::size_t>(argument.place);
      if (place > operands_.inputs.size()) return WrongIndex("the index names no such operand");
      const void* pointer =
          place == operands_.inputs.size() ? operands_.output : operands_.inputs[place];
      std::memcpy(&slot, &pointer, sizeof(pointer));
      return std::nullopt;
    }
    case Argument::Kind::kScratch: {
      void* pointer = nullptr;
      if (auto error = ScratchPointer(argument, &pointer)) return error;
      std::memcpy(&slot, &pointer, sizeof(pointer));
      return std::nullopt;
    }
    case Argument::Kind::kInt32:
    case Argument::Kind::kInt64: {
      // A parameter of 32 bits reads the first four bytes, which are the low ones.
      const auto value = Evaluate(argument.expression, names_);
      if (!value.ok()) return WrongIndex(value.error());
      slot = static_cast<std::uint64_t>(*value);
      return std::nullopt;
    }
  }
  return std::nullopt;
}

// The parameters that Triton appends: the first is its memory for all blocks, where the kernel asks
// for any, and the rest are null.
Failure AotInstance::AddScratch(const aot::Launch& launch, Prepared* prepared) {
  for (int i = 0; i < launch.scratch_pointers; ++i) prepared->values.push_back(0);
  if (launch.scratch_pointers == 0 || launch.global_scratch_bytes == 0) return std::nullopt;
  const dim3& grid = prepared->config.gridDim;
  const std::int64_t bytes = std::int64_t{grid.x} * grid.y * grid.z * launch.global_scratch_bytes;
  if (auto error = memory_.emplace_back().Allocate("Triton's scratch memory", bytes)) return error;
  void* pointer = memory_.back().as<void>();
  std::memcpy(&prepared->values[static_cast<std::size_t>(launch.arguments)], &pointer,
              sizeof(pointer));
  return std::nullopt;
}

Failure AotInstance::Load(const aot::Launch& launch, Prepared* prepared) {
  cudaKernel_t kernel = nullptr;
  if (auto error = prepared->library.Load(index_.CubinOf(launch), launch.function, &kernel)) {
    return error;
  }
  prepared->kernel = reinterpret_cast<const void*>(kernel);
  cuda::Geometry geometry;
  geometry.grid = prepared->config.gridDim;
  geometry.block = prepared->config.blockDim;
  geometry.dynamic_shared_bytes = prepared->config.dynamicSmemBytes;
  const int most = cuda::CurrentDevice().shared_bytes_optin;
  if (launch.shared_bytes > most) {
    return Unsupported("the compiled " + std::string(launch.function) + " needs " +
                       std::to_string(launch.shared_bytes) + " bytes of shared memory a block; " +
                       "this GPU has " + std::to_string(most));
  }
  // The first launch's numbers stand in the configuration; of all, the functions' names.
  ConfigurationMap own;
  if (auto error = cuda::LoadKernel(prepared->kernel, geometry, own)) return error;
  own["stages"] = std::to_string(launch.stages);
  std::string functions = configuration_[kDeviceFunctionsKey];
  functions += (functions.empty() ? "" : " ") + std::string(launch.function);
  configuration_.merge(own);
  configuration_[kDeviceFunctionsKey] = functions;
  return std::nullopt;
}

Failure AotInstance::Add(const aot::Launch& launch) {
  if (const auto disagree = ParametersDisagree(index_, launch)) return WrongIndex(*disagree);
  Prepared& prepared = launches_.emplace_back();
  prepared.config.blockDim = dim3(32U * static_cast<unsigned>(launch.warps));
  prepared.config.dynamicSmemBytes = static_cast<std::size_t>(launch.shared_bytes);
  if (auto error = Grid(launch, &prepared.config.gridDim)) return error;
  for (const Argument& argument : index_.ArgumentsOf(launch)) {
    if (auto error = AddValue(argument, &prepared)) return error;
  }
  if (auto error = AddScratch(launch, &prepared)) return error;
  for (std::uint64_t& value : prepared.values) prepared.parameters.push_back(&value);
  return Load(launch, &prepared);
}

}  // namespace

cuda::CreateResult Create(const Index& index, const Variant& variant, const Problem& problem,
                          const OperandPointers& operands) {
  auto instance = std::make_unique<AotInstance>(index, problem, operands);
  for (const Launch& launch : index.LaunchesOf(variant)) {
    if (auto error = instance->Add(launch)) return *std::move(error);
  }
  instance->Describe(variant);
  return std::unique_ptr<Instance>(std::move(instance));
}

}  // namespace kbench::aot
