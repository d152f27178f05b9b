// The reference of one kernel, and what all of them share: how an error is judged. Private to the
// reference library. Compute() or a filled state() once, then Check() from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/catalog/catalog.h"
#include "kernels/reference/checker.h"

namespace kbench::reference {

// What a comparison found, over the part of the output that was looked at.
struct Errors {
  double relative = 0;  // as checker.h says for the kernel
  double output_norm = 0;
  double reference_norm = 0;
  // The norm such outputs have; guards against a reference that happens to cancel. 0: no guard.
  double expected_norm = 0;
  // A norm further off than this share is no approximation of the reference.
  double norm_slack = 0.01;
  std::string where;  // of the worst error: "row 17"
};

class KernelReference {
 public:
  KernelReference(const Problem& problem, std::uint64_t seed);
  virtual ~KernelReference() = default;

  // Fills state(). Throws std::bad_alloc when it does not fit.
  virtual void Compute(int threads) = 0;
  // How many numbers state() has once computed: what a file must hold to be taken.
  virtual std::size_t StateSize() const = 0;
  virtual CheckResult Check(const void* output, int threads) const = 0;

  const Problem& problem() const { return problem_; }
  std::vector<double>& state() { return state_; }
  const std::vector<double>& state() const { return state_; }

 protected:
  const OperandSpec& output_spec() const { return operands_.back(); }

  // The verdict: a norm too far off fails, `!(error <= tolerance)` fails, and an fp32
  // result only as good as TF32 products is named.
  CheckResult Judge(const std::string& method, const Errors& errors) const;
  CheckResult NotFinite(const std::string& method, std::int64_t index) const;

  Problem problem_;
  std::uint64_t seed_;
  std::vector<OperandSpec> operands_;
  double tolerance_;
  std::vector<double> state_;
};

std::unique_ptr<KernelReference> MakeNullReference(const Problem& problem, std::uint64_t seed);
std::unique_ptr<KernelReference> MakeCopyReference(const Problem& problem, std::uint64_t seed);
std::unique_ptr<KernelReference> MakeSumReference(const Problem& problem, std::uint64_t seed);
std::unique_ptr<KernelReference> MakeSoftmaxReference(const Problem& problem, std::uint64_t seed);
std::unique_ptr<KernelReference> MakeMatmulReference(const Problem& problem, std::uint64_t seed);
std::unique_ptr<KernelReference> MakeAttentionReference(const Problem& problem, std::uint64_t seed);
std::unique_ptr<KernelReference> MakeChainReference(const Problem& problem, std::uint64_t seed);

// `most` different indices below `count`, or all of them, ascending; the first and the last are
// always among them (from two on).
std::vector<std::int64_t> SampleIndices(std::int64_t count, std::int64_t most, std::uint64_t seed,
                                        std::uint32_t stream);

// Streams of random.h beside those of the operands.
inline constexpr std::uint32_t kRowStream = 0x1000, kVectorStream = 0x1001;

// Above this many FLOP a matmul or an attention is not computed in full.
inline constexpr double kMostFullFlops = 2e9;
// Above this many elements a reference is not kept in full.
inline constexpr std::int64_t kMostFullElements = std::int64_t{1} << 20;

}  // namespace kbench::reference
