// The line of the table for a fixture of `kbench-client selftest`: a copy whose work is known,
// hidden until it is asked for by name. Shared by the folders that hold such fixtures.
#pragma once

#include "kernels/implementation.h"

namespace kbench {

inline Implementation SelftestLine(const char* name, const char* summary,
                                   decltype(Implementation::create) create) {
  Implementation implementation;
  implementation.name = name;
  implementation.family = "selftest";
  implementation.kernel = "copy";
  implementation.summary = summary;
  implementation.dtypes = {DType::kFp64, DType::kFp32, DType::kFp16, DType::kBf16, DType::kInt8};
  implementation.hidden = true;
  implementation.create = create;
  return implementation;
}

}  // namespace kbench
