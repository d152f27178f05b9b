#include "kernels/cudnn/graph.h"

// Without its serialisation: no JSON library.
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

#include <cmath>
#include <exception>
#include <unordered_map>
#include <utility>

#include "kernels/catalog/catalog.h"

namespace kbench::cudnn {
namespace {

namespace fe = cudnn_frontend;
using Kind = ImplementationError::Kind;
using Attributes = fe::graph::Tensor_attributes;
using TensorPointer = std::shared_ptr<Attributes>;

fe::DataType_t TypeOf(DType storage) {
  switch (storage) {
    case DType::kFp16:
      return fe::DataType_t::HALF;
    case DType::kBf16:
      return fe::DataType_t::BFLOAT16;
    default:
      return fe::DataType_t::FLOAT;
  }
}

std::vector<std::int64_t> DenseStrides(const std::vector<std::int64_t>& extents) {
  std::vector<std::int64_t> strides(extents.size(), 1);
  for (std::size_t i = extents.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * extents[i];
  return strides;
}

class FrontendPlan : public Plan {
 public:
  fe::graph::Graph& graph() { return graph_; }
  // Operands are known by their place, from 0.
  void Describe(Attributes& tensor, const char* name, std::int64_t place, DType storage,
                const std::vector<std::int64_t>& extents) {
    tensor.set_name(name).set_uid(place).set_data_type(TypeOf(storage));
    tensor.set_dim(extents).set_stride(DenseStrides(extents));
  }
  TensorPointer Input(const char* name, std::int64_t place, DType storage,
                      const std::vector<std::int64_t>& extents) {
    Attributes tensor;
    Describe(tensor, name, place, storage, extents);
    return graph_.tensor(tensor);
  }
  // Compiles the first plan of the heuristics that can be had.
  fe::error_t Build(cudnnHandle_t handle);

  std::int64_t workspace_bytes() const override { return workspace_bytes_; }
  std::string engine() const override { return engine_; }
  int Execute(cudnnHandle_t handle, const std::vector<void*>& operands,
              void* workspace) noexcept override;
  std::string error_text() const override { return error_; }

 private:
  fe::graph::Graph graph_;
  std::unordered_map<std::int64_t, void*> pointers_;
  std::int64_t workspace_bytes_ = 0;
  std::string engine_, error_;
};

fe::error_t FrontendPlan::Build(cudnnHandle_t handle) {
  fe::error_t error = graph_.build(handle, {fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK});
  if (error.is_good()) error = graph_.get_plan_name(engine_);
  if (error.is_good()) error = graph_.get_workspace_size(workspace_bytes_);
  return error;
}

int FrontendPlan::Execute(cudnnHandle_t handle, const std::vector<void*>& operands,
                          void* workspace) noexcept try {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    pointers_[static_cast<std::int64_t>(i)] = operands[i];
  }
  fe::error_t error = graph_.execute(handle, pointers_, workspace);
  if (error.is_good()) return 0;
  error_ = error.get_message();
  return 1;
} catch (const std::exception& error) {
  error_ = error.what();
  return 1;
} catch (...) {
  error_ = "cudnn-frontend threw something that is no std::exception";
  return 1;
}

// The library's reasons go on for pages; the first line says what a person can use.
std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

// A plan that `describe` fills and that is built then. What the frontend returns or throws is ours.
template <typename Describe>
PlanResult Make(cudnnHandle_t handle, const std::string& what, Describe describe) try {
  auto plan = std::make_unique<FrontendPlan>();
  plan->graph()
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  describe(*plan);
  fe::error_t error = plan->Build(handle);
  if (error.is_good()) return std::unique_ptr<Plan>(std::move(plan));
  // A graph that no engine takes is refused at different points, also as a failed heuristics query.
  const bool broken = error.get_code() == fe::error_code_t::CUDA_API_FAILED ||
                      error.get_code() == fe::error_code_t::HANDLE_ERROR;
  return ImplementationError{
      broken ? Kind::kDeviceError : Kind::kUnsupported,
      "cuDNN has no plan for " + what + ": " + FirstLine(error.get_message()), 0};
} catch (const std::exception& error) {
  return ImplementationError{Kind::kUnsupported,
                             "cuDNN has no plan for " + what + ": " + FirstLine(error.what()), 0};
}

}  // namespace

PlanResult PlanAttention(cudnnHandle_t handle, const Problem& problem) {
  return Make(handle, "this attention", [&](FrontendPlan& plan) {
    const std::vector<OperandSpec> specs = FindKernel(problem.kernel)->operands(problem);
    std::vector<TensorPointer> in;
    for (std::int64_t i = 0; i < 3; ++i) {
      const OperandSpec& spec = specs[static_cast<std::size_t>(i)];
      in.push_back(plan.Input(spec.name.c_str(), i, spec.storage, spec.extents));
    }
    fe::graph::SDPA_attributes attention;
    attention.set_name("attention").set_generate_stats(false);
    attention.set_attn_scale(
        static_cast<float>(1 / std::sqrt(static_cast<double>(problem.shape["d"]))));
    if (problem.shape.causal) {
      attention.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
          .set_diagonal_band_right_bound(0);
    }
    const TensorPointer out = plan.graph().sdpa(in[0], in[1], in[2], attention)[0];
    plan.Describe(*out, "o", 3, specs[3].storage, specs[3].extents);
    out->set_output(true);
  });
}

}  // namespace kbench::cudnn
