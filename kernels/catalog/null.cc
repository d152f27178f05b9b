// null: a launch that does nothing, the floor under every time. It has no operands and no work, so
// its size says nothing: every valid one means n=1.
#include "kernels/catalog/entries.h"
#include "kernels/catalog/size_text.h"

namespace kbench::catalog {
namespace {

const SizeGrammar& Grammar() {
  static const SizeGrammar grammar{"null", "1 or nothing", {"n"}, {}, {1}, {}, false};
  return grammar;
}

Expected<Shape, CatalogError> Parse(const std::string& text, DType) {
  if (!text.empty()) {
    auto size = ParseSizeText(text, Grammar());
    if (!size.ok()) return size.error();
  }
  return Shape{{{"n", 1}}, "", false};
}

}  // namespace

KernelEntry NullEntry() {
  KernelEntry entry;
  entry.name = "null";
  entry.summary = "An empty launch: what every other time is at least.";
  entry.size_help = "none (any number is accepted and ignored)";
  entry.dtypes = {DType::kFp32};
  entry.baselines = {"cuda/naive", "cpu/naive"};
  entry.parse = Parse;
  entry.operands = [](const Problem&) { return std::vector<OperandSpec>{}; };
  entry.flops = [](const Problem&) { return 0.0; };
  entry.compulsory_bytes = [](const Problem&) { return 0.0; };
  entry.tolerance = [](const Problem&) { return 0.0; };
  entry.scaled_down = [](const Problem& problem, double) { return problem; };
  return entry;
}

}  // namespace kbench::catalog
