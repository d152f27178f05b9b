// The dtypes: storage and math mode in one word. `fp32` is IEEE and never silently TF32; `tf32` is
// fp32 storage with TF32 products.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace kbench {

// The last is a storage alone, of results of int8: nobody can ask for it.
enum class DType { kFp64, kFp32, kTf32, kFp16, kBf16, kFp8E4M3, kInt8, kInt32 };

struct DTypeInfo {
  DType dtype;
  const char* name;
  std::size_t storage_bytes;
  // Unit roundoff of the inputs as the products see them (2^-53, 2^-24, 2^-11 ...), and of the
  // stored output.
  double product_roundoff;
  double output_roundoff;
  // Unit roundoff of the accumulator (fp32 for everything narrower).
  double accumulate_roundoff;
};

const DTypeInfo& Info(DType dtype);
// Of those that can be asked for.
std::optional<DType> ParseDType(const std::string& name);
std::vector<std::string> DTypeNames();

}  // namespace kbench
