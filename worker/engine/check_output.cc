// The part of a case's verification that looks at the numbers: fetches the output, finds the
// reference and asks the checker.
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "worker/engine/case.h"

namespace kbench::engine {
namespace {

void CopyText(const std::string& text, char* out, std::size_t size) {
  std::snprintf(out, size, "%s", text.c_str());
}

void Report(const reference::CheckResult& result, kb_check* check) {
  check->passed = result.passed ? 1 : 0;
  check->relative_error = std::isfinite(result.relative_error) ? result.relative_error : -1;
  check->tolerance = result.tolerance;
  CopyText(result.method, check->method, sizeof(check->method));
  CopyText(result.reason, check->reason, sizeof(check->reason));
  CopyText(result.message, check->message, sizeof(check->message));
}

}  // namespace

EngineError Case::CheckOutput(kb_check* check) {
  if (!reference_) {
    auto computed = reference::Reference::ComputeOrLoad(spec_.problem, spec_.seed,
                                                        spec_.reference_dir, device_.threads());
    if (!computed) return {KB_IO_ERROR, computed.error()};
    reference_ = std::move(computed).value();
  }
  const void* output = nullptr;  // of a kernel without operands
  std::vector<unsigned char> copy;
  if (!specs_.empty()) {
    const Buffer& buffer = operands(current_set_).output();
    output = device_.HostView(buffer.data);
    if (output == nullptr) {
      copy.resize(static_cast<std::size_t>(buffer.bytes));
      if (EngineError error = device_.Download(buffer.data, buffer.bytes, copy.data())) {
        return error;
      }
      output = copy.data();
    }
  }
  Report(reference_->Check(output, device_.threads()), check);
  return {};
}

}  // namespace kbench::engine
