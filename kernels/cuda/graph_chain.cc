// cuda/graph chain: the launches of cuda/launches, captured once into a CUDA graph, which one call
// launches. A stream that is being captured itself (mode graph) is given the launches one by one: a
// graph launch cannot be captured, and the nodes are the same that a child graph would bring.
#include <cuda_runtime_api.h>

#include <memory>
#include <utility>

#include "kernels/cuda/device_instance.h"
#include "kernels/cuda/implementations.h"

namespace kbench {
namespace cuda {
namespace {

class GraphInstance : public Instance {
 public:
  explicit GraphInstance(std::unique_ptr<Instance> launches) : launches_(std::move(launches)) {}
  GraphInstance(const GraphInstance&) = delete;
  GraphInstance& operator=(const GraphInstance&) = delete;
  ~GraphInstance() override {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
  }

  // Nothing, or why there is no graph. `stream` is where it will be launched.
  std::optional<ImplementationError> Prepare(cudaStream_t stream);
  int Launch(void* stream) noexcept override;
  std::string ErrorText(int error) const override { return launches_->ErrorText(error); }
  ConfigurationMap Configuration() const override;

 private:
  cudaError_t Capture();

  const std::unique_ptr<Instance> launches_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
  std::size_t nodes_ = 0;
};

// On a stream of its own: the caller's may hold work that is none of ours.
cudaError_t GraphInstance::Capture() {
  cudaStream_t stream = nullptr;
  cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (error != cudaSuccess) return error;
  error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  if (error == cudaSuccess) {
    error = static_cast<cudaError_t>(launches_->Launch(stream));
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph_);
    if (error == cudaSuccess) error = ended;
  }
  cudaStreamDestroy(stream);
  return error;
}

std::optional<ImplementationError> GraphInstance::Prepare(cudaStream_t stream) {
  cudaError_t error = Capture();
  if (error == cudaSuccess) error = cudaGraphGetNodes(graph_, nullptr, &nodes_);
  if (error == cudaSuccess) error = cudaGraphInstantiate(&executable_, graph_, 0);
  // What the first launch would have to do otherwise.
  if (error == cudaSuccess) error = cudaGraphUpload(executable_, stream);
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
  if (error == cudaSuccess) return std::nullopt;
  return DeviceError("making the graph", error);
}

int GraphInstance::Launch(void* stream) noexcept {
  const auto to = static_cast<cudaStream_t>(stream);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaError_t error = cudaStreamIsCapturing(to, &status);
  if (error != cudaSuccess) return error;
  if (status != cudaStreamCaptureStatusNone) return launches_->Launch(stream);
  return cudaGraphLaunch(executable_, to);
}

ConfigurationMap GraphInstance::Configuration() const {
  ConfigurationMap configuration = launches_->Configuration();
  configuration["launches"] = "1";
  configuration["graph_nodes"] = std::to_string(nodes_);
  return configuration;
}

CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& context) {
  CreateResult launches = CudaLaunchesChain().create(problem, operands, context);
  if (!launches.ok()) return launches.error();
  auto instance = std::make_unique<GraphInstance>(std::move(*launches));
  if (auto error = instance->Prepare(static_cast<cudaStream_t>(context.stream))) {
    return *std::move(error);
  }
  return std::unique_ptr<Instance>(std::move(instance));
}

}  // namespace
}  // namespace cuda

Implementation CudaGraphChain() {
  Implementation implementation = CudaLaunchesChain();
  implementation.name = "cuda/graph";
  implementation.summary = "the launches of cuda/launches in one CUDA graph";
  implementation.create = cuda::Create;
  return implementation;
}

}  // namespace kbench
