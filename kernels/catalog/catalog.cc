#include "kernels/catalog/catalog.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/catalog/entries.h"
#include "kernels/catalog/size_text.h"
#include "kernels/catalog/words.h"

namespace kbench {
namespace {

constexpr std::pair<const char*, Mode> kModes[] = {
    {"cold", Mode::kCold}, {"hot", Mode::kHot}, {"graph", Mode::kGraph}, {"steady", Mode::kSteady}};

// What other programs call our dtypes.
constexpr std::pair<const char*, DType> kAliases[] = {
    {"half", DType::kFp16},     {"f16", DType::kFp16},    {"float16", DType::kFp16},
    {"bfloat16", DType::kBf16}, {"float", DType::kFp32},  {"f32", DType::kFp32},
    {"float32", DType::kFp32},  {"double", DType::kFp64}, {"f64", DType::kFp64},
    {"float64", DType::kFp64},  {"fp8", DType::kFp8E4M3}};

std::vector<std::string> NamesOf(const std::vector<DType>& dtypes) {
  std::vector<std::string> names;
  for (DType dtype : dtypes) names.emplace_back(Info(dtype).name);
  return names;
}

CatalogError UnknownKernel(const std::string& kernel) {
  std::vector<std::string> names;
  for (const KernelEntry& entry : Catalog()) names.push_back(entry.name);
  const std::string what =
      kernel.empty() ? "a kernel is missing" : "there is no kernel " + catalog::Quote(kernel);
  return {"kernel", "UNKNOWN_KERNEL", what + "; there are " + catalog::Join(names),
          catalog::Nearest(kernel, names)};
}

CatalogError UnsupportedDType(const KernelEntry& entry, const std::string& dtype) {
  const std::vector<std::string> names = NamesOf(entry.dtypes);
  std::vector<std::string> nearest = catalog::Nearest(dtype, names);
  for (const auto& [alias, meant] : kAliases) {
    const std::string name = Info(meant).name;
    if (dtype != alias || std::count(names.begin(), names.end(), name) == 0) continue;
    nearest.erase(std::remove(nearest.begin(), nearest.end(), name), nearest.end());
    nearest.insert(nearest.begin(), name);
  }
  const std::string what = dtype.empty() ? "a dtype is missing; kernel " + entry.name + " has "
                                         : "kernel " + entry.name + " has no dtype " +
                                               (ParseDType(dtype) ? dtype : catalog::Quote(dtype)) +
                                               "; it has ";
  return {"dtype", "UNSUPPORTED_DTYPE", what + catalog::Join(names), std::move(nearest)};
}

Expected<Mode, CatalogError> ParseMode(const std::string& mode) {
  if (mode.empty()) return Mode::kCold;
  std::vector<std::string> names;
  for (const auto& [name, value] : kModes) {
    if (mode == name) return value;
    names.emplace_back(name);
  }
  return CatalogError{
      "mode", "UNKNOWN_MODE",
      "there is no mode " + catalog::Quote(mode) + "; there are " + catalog::Join(names),
      catalog::Nearest(mode, names)};
}

}  // namespace

const std::vector<KernelEntry>& Catalog() {
  static const std::vector<KernelEntry> entries = {
      catalog::NullEntry(),    catalog::CopyEntry(),   catalog::SumEntry(),
      catalog::SoftmaxEntry(), catalog::MatmulEntry(), catalog::AttentionEntry(),
      catalog::ChainEntry()};
  return entries;
}

const KernelEntry* FindKernel(const std::string& name) {
  for (const KernelEntry& entry : Catalog()) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

Expected<Problem, CatalogError> MakeProblem(const std::string& kernel, const std::string& dtype,
                                            const std::string& size, const std::string& mode) {
  const KernelEntry* entry = FindKernel(kernel);
  if (entry == nullptr) return UnknownKernel(kernel);
  const std::optional<DType> type = ParseDType(dtype);
  if (!type || std::count(entry->dtypes.begin(), entry->dtypes.end(), *type) == 0) {
    return UnsupportedDType(*entry, dtype);
  }
  auto shape = entry->parse(size, *type);
  if (!shape.ok()) return shape.error();
  auto parsed_mode = ParseMode(mode);
  if (!parsed_mode.ok()) return parsed_mode.error();
  return Problem{kernel, *type, *shape, *parsed_mode};
}

std::int64_t FootprintBytes(const Problem& problem) {
  const KernelEntry* entry = FindKernel(problem.kernel);
  std::int64_t bytes = 0;
  if (entry == nullptr) return bytes;
  for (const OperandSpec& operand : entry->operands(problem)) bytes += operand.bytes();
  return bytes;
}

double Work(const Problem& problem) {
  const KernelEntry* entry = FindKernel(problem.kernel);
  return std::max(entry->flops(problem), entry->compulsory_bytes(problem));
}

const char* ModeName(Mode mode) {
  for (const auto& [name, value] : kModes) {
    if (mode == value) return name;
  }
  return "unknown";
}

namespace catalog {

double OperandBytes(const Problem& problem) { return static_cast<double>(FootprintBytes(problem)); }

std::int64_t AsExtent(double value) {
  if (!(value >= 1)) return 1;
  return static_cast<std::int64_t>(std::min(value, static_cast<double>(kMostExtent)));
}

DType StorageOf(DType dtype) { return dtype == DType::kTf32 ? DType::kFp32 : dtype; }

}  // namespace catalog
}  // namespace kbench
