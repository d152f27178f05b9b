// Sizes, counts, durations and bounds as people type them: an error or a value within its range,
// and what is canonical stays as it is.
#include <cmath>
#include <cstdint>
#include <string>

#include "client/output/units.h"
#include "kernels/catalog/catalog.h"
#include "kernels/catalog/sweep.h"
#include "server/store/retention.h"
#include "tests/fuzz/check.h"

namespace {

constexpr std::size_t kMostSizes = 200;

void TrySizes(const std::string& text) {
  const auto sizes = kbench::ExpandSizes(text, kMostSizes);
  if (sizes.ok()) KB_FUZZ_CHECK(!sizes->empty() && sizes->size() <= kMostSizes);
  const auto count = kbench::ParseCount(text);
  if (count.ok()) KB_FUZZ_CHECK(*count >= 1 && *count <= (std::int64_t{1} << 62));
}

void TryProblems(const std::string& text) {
  for (const kbench::KernelEntry& entry : kbench::Catalog()) {
    const auto dtype = kbench::Info(entry.dtypes.front()).name;
    const auto problem = kbench::MakeProblem(entry.name, std::string(dtype), text, "");
    if (!problem.ok()) continue;
    const std::string shape = problem->shape.Canonical();
    const auto again = kbench::MakeProblem(entry.name, std::string(dtype), shape, "");
    KB_FUZZ_CHECK(again.ok());
    KB_FUZZ_CHECK(again->shape.Canonical() == shape);
  }
}

void TryDurations(const std::string& text) {
  double seconds = 0;
  if (kbench::client::ParseDuration(text, &seconds)) {
    KB_FUZZ_CHECK(std::isfinite(seconds) && seconds >= 0);
  }
  double ratio = 0;
  if (kbench::client::ParseRatio(text, &ratio)) KB_FUZZ_CHECK(std::isfinite(ratio));
  const auto keep = kbench::store::ParseKeep(text);
  if (!keep.ok()) return;
  KB_FUZZ_CHECK(keep->seconds >= 0 && keep->bytes >= 0);
  const std::string canonical = kbench::store::KeepText(*keep);
  const auto again = kbench::store::ParseKeep(canonical);
  KB_FUZZ_CHECK(again.ok() && kbench::store::KeepText(*again) == canonical);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  TrySizes(text);
  TryProblems(text);
  TryDurations(text);
  return 0;
}
