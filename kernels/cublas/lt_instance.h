// A product through cublasLtMatmul with one of the algorithms that its heuristic proposes, for a
// workspace of 32 MiB: what cublaslt and cublaslt-tuned share. Used from one thread, with the
// device of the context current.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "kernels/cublas/gemm.h"
#include "kernels/implementation.h"

namespace kbench::cublas {

class CublasLtInstance : public Instance {
 public:
  CublasLtInstance(DType dtype, GemmCall call) : arithmetic_(ArithmeticOf(dtype)), call_(call) {}
  CublasLtInstance(const CublasLtInstance&) = delete;
  CublasLtInstance& operator=(const CublasLtInstance&) = delete;
  ~CublasLtInstance() override;

  // Plans with the algorithm that stands at `place` among the heuristic's proposals, the best guess
  // first. Nothing, or why there is no such plan.
  std::optional<ImplementationError> Prepare(int place);
  int Launch(void* stream) noexcept override;
  std::string ErrorText(int error) const override { return StatusText(error); }
  std::map<std::string, std::string> Configuration() const override;

 private:
  cublasStatus_t Describe();
  cublasStatus_t Choose(int place, int* found);
  int Attribute(cublasLtMatmulAlgoConfigAttributes_t attribute) const;

  const Arithmetic arithmetic_;
  const GemmCall call_;
  Workspace workspace_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t first_ = nullptr, second_ = nullptr, result_ = nullptr;
  cublasLtMatmulHeuristicResult_t chosen_{};
};

// As Prepare(); the end of a create function.
Expected<std::unique_ptr<Instance>, ImplementationError> CreateLt(const Problem& problem,
                                                                  const OperandPointers& operands,
                                                                  int place);

// What cublasLtMatmul cannot take, before anything is asked of it; or nothing.
std::optional<std::string> UnsupportedByLt(const Problem& problem);

// The table line that both share, but for its name, its summary and how it is created.
Implementation LtLine();

}  // namespace kbench::cublas
