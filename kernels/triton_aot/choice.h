// Which of the compiled variants run a problem, on which architecture. Needs no GPU. Pure;
// thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/catalog/problem.h"
#include "kernels/triton_aot/expression.h"
#include "kernels/triton_aot/index.h"

namespace kbench::aot {

// What expressions may name: the extents (attention's hkv is h where the shape has none), causal,
// a_transposed, b_transposed and multiprocessors.
Names NamesOf(const Problem& problem, int multiprocessors);

// The code that a GPU of this compute capability runs, of what there is of the implementation in
// the dtype: its own or the newest below, of the same generation, for no other generation runs it.
// For a capability of 0 (no GPU) the newest there is. 0: none.
int CodeFor(const Index& index, const std::string& implementation, const std::string& kernel,
            DType dtype, int capability);

// For each candidate the variant that is right for the problem, the best guess first.
std::vector<const Variant*> VariantsFor(const Index& index, const std::string& implementation,
                                        const Problem& problem, int capability,
                                        int multiprocessors);

}  // namespace kbench::aot
