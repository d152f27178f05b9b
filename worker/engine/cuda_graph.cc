// The graphs of the CUDA timeline: what mode graph captures and replays.
#include "worker/engine/cuda_error.h"
#include "worker/engine/cuda_timeline.h"

namespace kbench::engine {
namespace {

constexpr char kNotCapturable[] =
    "; a launch may only enqueue work on the stream it is given; use mode cold or hot";

class Graph {
 public:
  ~Graph() {
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
  }
  cudaGraph_t graph = nullptr;
};

}  // namespace

// By this thread alone: what other threads of a library do is not part of the launch.
TimelineError CudaTimeline::BeginCapture() {
  return FromCuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
                  "beginning to capture a graph");
}

TimelineError CudaTimeline::EndCapture(int launches) {
  Graph captured;
  const cudaError_t ended = cudaStreamEndCapture(stream_, &captured.graph);
  if (ended != cudaSuccess || captured.graph == nullptr) {
    EngineError error = FromCuda(ended, "capturing a graph");
    if (error.code == KB_DEVICE_ERROR) return error;
    return {KB_NOT_CAPTURABLE, "the launch cannot be captured in a CUDA graph: " +
                                   std::string(cudaGetErrorString(ended)) + kNotCapturable};
  }
  std::size_t nodes = 0;
  if (EngineError error =
          FromCuda(cudaGraphGetNodes(captured.graph, nullptr, &nodes), "looking at a graph")) {
    return error;
  }
  if (nodes < static_cast<std::size_t>(launches)) {
    return {KB_NOT_CAPTURABLE, std::to_string(launches) + " launches left " +
                                   std::to_string(nodes) + " nodes in a CUDA graph" +
                                   kNotCapturable};
  }
  if (graph_ != nullptr) (void)cudaGraphExecDestroy(graph_);
  graph_ = nullptr;
  if (EngineError error =
          FromCuda(cudaGraphInstantiate(&graph_, captured.graph, 0), "making a graph")) {
    return error;
  }
  // Now, and not behind a blocker.
  if (EngineError error = FromCuda(cudaGraphUpload(graph_, stream_), "uploading a graph")) {
    return error;
  }
  return Synchronize();
}

TimelineError CudaTimeline::Replay() {
  return FromCuda(cudaGraphLaunch(graph_, stream_), "replaying a graph");
}

}  // namespace kbench::engine
