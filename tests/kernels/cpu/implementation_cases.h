// What the tests of every implementation share: small and odd problems of a kernel, their operands
// in host memory with guard bands, and the verdict of the reference checker.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/catalog/catalog.h"
#include "kernels/implementation.h"

namespace kbench::testing {

// One implementation in one dtype: a parameter of the table-driven tests.
struct Cell {
  const Implementation* implementation;
  DType dtype;
};

std::vector<Cell> CellsOf(const std::vector<Implementation>& table);
// "matmul_cpu_onednn_via_fp32_bf16"
std::string CellName(const Cell& cell);

// Extents of 1, odd ones, all layouts, causal masks, grouped heads.
std::vector<Problem> SmallProblems(const std::string& kernel, DType dtype);

// The catalog's problem of this size; fails the test when there is none.
Problem MustMakeProblem(const std::string& kernel, DType dtype, const std::string& size);

// The operands of a problem: inputs filled from a seed, the output full of NaN, a guard band around
// each.
class HostOperands {
 public:
  static constexpr std::size_t kGuard = 4096;
  static constexpr std::uint64_t kSeed = 20260217;

  explicit HostOperands(const Problem& problem);

  OperandPointers pointers();
  // The operand's bytes; the output is the last. Empty for a kernel without operands.
  std::vector<std::vector<unsigned char>>& buffers() { return buffers_; }
  const std::vector<OperandSpec>& specs() const { return specs_; }
  std::vector<unsigned char> Output() const;

  void PoisonOutput();
  // What is wrong with the guard bands, the inputs and the output, or an empty string.
  std::string Complaint() const;

 private:
  Problem problem_;
  std::vector<OperandSpec> specs_;
  std::vector<std::vector<unsigned char>> buffers_;  // guard, operand, guard
  std::vector<std::vector<unsigned char>> originals_;
};

}  // namespace kbench::testing
