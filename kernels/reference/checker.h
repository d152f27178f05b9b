// The checker: is an output right? A Reference is computed in fp64 from the inputs as stored, once
// for a problem and seed, and shared through a file. Immutable once made: Check() is thread-safe.
//
// What `relative_error` is, compared with the catalog's tolerance:
//   copy       the share of the values that differ at all; the tolerance is 0
//   sum        |y - ref| / |ref|
//   softmax    largest error of an element over the largest element of its row; also |row sum - 1|
//   attention  largest error of an element over the largest element of its row
//   chain      root mean square of the error over that of the reference, or, where it is worse, the
//              largest error of one element over it, at 1/8 of its weight
//   matmul     Frobenius error over the reference's Frobenius norm, or, where it is worse, the
//              largest error of one element (of one row) at 1/16 (1/8) of its weight: a single
//              wrong element drowns in a large matrix
// Small problems are checked in full. Large ones cost a bounded time: matmul by 16 random +-1
// vectors and 8 exact rows, softmax and attention by sampled rows, copy by digests, chain by
// sampled pieces.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/catalog/expected.h"
#include "kernels/catalog/problem.h"

namespace kbench::reference {

struct CheckResult {
  bool passed = false;
  double relative_error = -1;  // -1: the output holds NaN or infinities
  double tolerance = 0;
  std::string method;   // full, rows, random-vectors, digest, pieces, none
  std::string reason;   // empty when passed; NOT_FINITE, NORM, TOLERANCE, MATH_MODE_MISMATCH
  std::string message;  // one plain sentence when not passed
};

class KernelReference;

class Reference {
 public:
  // Takes the reference from a file in `dir` that this or another process wrote, else computes it
  // and leaves it there. Empty `dir`: only computes. A damaged or foreign file is replaced; a
  // folder that cannot be written costs nothing but the sharing. The error is one plain sentence.
  static Expected<std::unique_ptr<Reference>, std::string> ComputeOrLoad(const Problem& problem,
                                                                         std::uint64_t seed,
                                                                         const std::string& dir,
                                                                         int threads = 1);
  ~Reference();

  // `host_output`: the whole output operand as the implementation left it; null for a kernel
  // without one.
  CheckResult Check(const void* host_output, int threads) const;

  // Whether a file spared the computation.
  bool loaded() const { return loaded_; }

 private:
  Reference(std::unique_ptr<KernelReference> kernel, bool loaded);

  std::unique_ptr<KernelReference> kernel_;
  bool loaded_ = false;
};

}  // namespace kbench::reference
