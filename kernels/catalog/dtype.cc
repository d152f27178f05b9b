#include "kernels/catalog/dtype.h"

#include <array>

namespace kbench {
namespace {

// Unit roundoff is half the distance from 1 to the next number. Integers are exact.
constexpr double kFp64 = 0x1p-53, kFp32 = 0x1p-24, kTf32 = 0x1p-11, kFp16 = 0x1p-11, kBf16 = 0x1p-8,
                 kFp8 = 0x1p-4;

constexpr std::array<DTypeInfo, 8> kTypes = {{
    {DType::kFp64, "fp64", 8, kFp64, kFp64, kFp64},
    {DType::kFp32, "fp32", 4, kFp32, kFp32, kFp32},
    {DType::kTf32, "tf32", 4, kTf32, kFp32, kFp32},
    {DType::kFp16, "fp16", 2, kFp16, kFp16, kFp32},
    {DType::kBf16, "bf16", 2, kBf16, kBf16, kFp32},
    {DType::kFp8E4M3, "fp8e4m3", 1, kFp8, kFp8, kFp32},
    {DType::kInt8, "int8", 1, 0, 0, 0},
    {DType::kInt32, "int32", 4, 0, 0, 0},
}};

bool IsStorageOnly(DType dtype) { return dtype == DType::kInt32; }

}  // namespace

const DTypeInfo& Info(DType dtype) { return kTypes[static_cast<std::size_t>(dtype)]; }

std::optional<DType> ParseDType(const std::string& name) {
  for (const DTypeInfo& info : kTypes) {
    if (name == info.name && !IsStorageOnly(info.dtype)) return info.dtype;
  }
  return std::nullopt;
}

std::vector<std::string> DTypeNames() {
  std::vector<std::string> names;
  for (const DTypeInfo& info : kTypes) {
    if (!IsStorageOnly(info.dtype)) names.emplace_back(info.name);
  }
  return names;
}

}  // namespace kbench
