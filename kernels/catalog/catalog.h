// The catalog: which kernels exist, the grammar of their sizes, their flop and byte models,
// tolerances and baselines. Plain C++: no CUDA, no Abseil, no Protobuf. Immutable after static
// initialisation; thread-safe. A new kernel is one entry (one file here) and one line in Catalog().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/catalog/expected.h"
#include "kernels/catalog/problem.h"

namespace kbench {

// What was wrong with a request and what would be right.
struct CatalogError {
  std::string field;                 // kernel, dtype, size, mode
  std::string reason;                // UNKNOWN_KERNEL, UNSUPPORTED_DTYPE, BAD_SIZE, UNKNOWN_MODE,
                                     // TOO_MANY_SIZES
  std::string message;               // one plain sentence
  std::vector<std::string> nearest;  // the nearest valid values, best first
};

struct KernelEntry {
  std::string name;
  std::string summary;    // one sentence
  std::string size_help;  // "M | MxNxK | m=,n=,k=[,layout=nn|nt|tn|tt]; 4096, 4096x4096x1024"
  std::vector<DType> dtypes;
  // Implementations to compare with, the first available one is taken: {"cublas", "cpu/onednn",
  // ...}.
  std::vector<std::string> baselines;

  // Parses one size as typed ("4096", "2^26", "64Mi", "m=1,n=2,k=3"). Every extent is in [1, 2^40],
  // and no operand exceeds 2^50 bytes.
  Expected<Shape, CatalogError> (*parse)(const std::string& text, DType dtype);
  // Operands in the order implementations get them; the output last. `null` has none at all.
  std::vector<OperandSpec> (*operands)(const Problem&);
  double (*flops)(
      const Problem&);  // FLOP of one launch; the model's source stands in the entry's file
  double (*compulsory_bytes)(const Problem&);  // each input read once, each output written once
  // Largest accepted relative error of a correct implementation (see reference/checker.h for the
  // norm); from the computing mode's unit roundoff. 0: bit for bit.
  double (*tolerance)(const Problem&);
  // The same kind of problem with at most about `max_flops` of work (at least the smallest shape):
  // for estimating one launch.
  Problem (*scaled_down)(const Problem&, double max_flops);
};

const std::vector<KernelEntry>& Catalog();
// nullptr when there is no such kernel.
const KernelEntry* FindKernel(const std::string& name);

// Checks and resolves a request as a person typed it; `mode` empty means cold.
Expected<Problem, CatalogError> MakeProblem(const std::string& kernel, const std::string& dtype,
                                            const std::string& size, const std::string& mode);

// Bytes of all operands together.
std::int64_t FootprintBytes(const Problem& problem);

// Flop of a launch or, where the model counts more of them, compulsory bytes.
double Work(const Problem& problem);

const char* ModeName(Mode mode);

}  // namespace kbench
