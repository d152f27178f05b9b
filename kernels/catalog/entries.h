// The entries of the catalog, each made in the file of its name. Private to the catalog.
#pragma once

#include <string>

#include "kernels/catalog/catalog.h"

namespace kbench::catalog {

KernelEntry NullEntry();
KernelEntry CopyEntry();
KernelEntry SumEntry();
KernelEntry SoftmaxEntry();
KernelEntry MatmulEntry();
KernelEntry AttentionEntry();
KernelEntry ChainEntry();

// The compulsory traffic of every kernel so far: each operand crosses memory once.
double OperandBytes(const Problem& problem);

// A positive work limit as an extent: rounded down, at least 1.
std::int64_t AsExtent(double value);

// The storage of a dtype: fp32 for tf32.
DType StorageOf(DType dtype);

}  // namespace kbench::catalog
