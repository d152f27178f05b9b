// What the two references of matmul share: the matrices, and how errors are weighed. Private to the
// reference library.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "kernels/reference/kernel_reference.h"
#include "kernels/reference/matmul_tiles.h"

namespace kbench::reference {

class MatmulReference : public KernelReference {
 public:
  MatmulReference(const Problem& problem, std::uint64_t seed)
      : KernelReference(problem, seed),
        m_(problem.shape["m"]),
        n_(problem.shape["n"]),
        k_(problem.shape["k"]),
        a_(operands_[0], 0, problem.shape.layout[0] == 't', seed),
        b_(operands_[1], 1, problem.shape.layout[1] == 't', seed) {}

 protected:
  // An element off by e times the typical one weighs e / 16; a row off by e times the typical norm
  // e / 8. Correct outputs stay below half of the tolerance by these measures: the largest of many
  // roundings is some 6 times the typical one, and the tolerance 2 times.
  static constexpr double kElementWeight = 16, kRowWeight = 8;

  // Norms of the whole matrix from sums of squares over `share` of it. Elements are sums of k
  // products of two uniform numbers: of variance 1/3 each in [-1, 1), 24 in int8's -8 to 8.
  Errors Norms(double squared_output, double squared_reference, double share = 1) const {
    Errors errors;
    errors.output_norm = std::sqrt(squared_output / share);
    errors.reference_norm = std::sqrt(squared_reference / share);
    const double variance = problem_.dtype == DType::kInt8 ? 24 : 1.0 / 3;
    errors.expected_norm = std::sqrt(Elements() * static_cast<double>(k_)) * variance;
    return errors;
  }
  static double Scale(const Errors& errors) {
    return std::max(errors.reference_norm, errors.expected_norm);
  }
  // The size of one element.
  double Typical(const Errors& errors) const { return Scale(errors) / std::sqrt(Elements()); }

  static void AddWorst(double error, const std::string& where, Errors* errors) {
    if (error <= errors->relative) return;
    errors->relative = error;
    errors->where = where;
  }

  double Elements() const { return static_cast<double>(m_) * static_cast<double>(n_); }

  std::int64_t m_, n_, k_;
  InputMatrix a_, b_;
};

std::unique_ptr<KernelReference> MakeFullMatmul(const Problem& problem, std::uint64_t seed);
std::unique_ptr<KernelReference> MakeSampledMatmul(const Problem& problem, std::uint64_t seed);

}  // namespace kbench::reference
