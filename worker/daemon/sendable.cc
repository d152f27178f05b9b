#include "worker/daemon/sendable.h"

#include <algorithm>
#include <string>

#include "fmt/format.h"

namespace kbench {
namespace {

void Forget(const std::string& name, v1::AttemptResult* result) {
  for (v1::Result& row : *result->mutable_results()) {
    auto* names = row.mutable_artifacts();
    names->erase(std::remove(names->begin(), names->end(), name), names->end());
  }
}

v1::AttemptResult Failed(const v1::AttemptResult& result, const std::string& message) {
  v1::AttemptResult failed;
  *failed.mutable_id() = result.id();
  failed.set_infra_error(message);
  return failed;
}

}  // namespace

bool MakeSendable(v1::AttemptResult* result, std::size_t most_bytes) {
  bool unchanged = true;
  while (result->ByteSizeLong() > most_bytes && result->artifacts_size() > 0) {
    auto* artifacts = result->mutable_artifacts();
    const auto largest = std::max_element(
        artifacts->begin(), artifacts->end(),
        [](const auto& a, const auto& b) { return a.content().size() < b.content().size(); });
    Forget(largest->name(), result);
    artifacts->erase(largest);
    unchanged = false;
  }
  const std::size_t bytes = result->ByteSizeLong();
  if (bytes > most_bytes) {
    *result = Failed(
        *result, fmt::format("the result has {} bytes, at most {} can be sent", bytes, most_bytes));
    return false;
  }
  v1::AttemptResult read;
  if (read.ParseFromString(result->SerializeAsString())) return unchanged;
  *result = Failed(*result, "the result holds a text that is not UTF-8");
  return false;
}

}  // namespace kbench
