// The worker's configuration, its flags, [labels] and [env.NAME]: an error of one line, or settings
// within their bounds.
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>

#include "proto/support/error.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/text_file.h"
#include "worker/daemon/worker_config.h"
#include "worker/daemon/worker_labels.h"
#include "worker/daemon/worker_options.h"

namespace {

constexpr char kName[] = "worker.toml";

void CheckError(const absl::Status& status) {
  KB_FUZZ_CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  KB_FUZZ_CHECK(!kbench::DetailsOf(status).reason.empty());
  KB_FUZZ_CHECK(status.message().find('\n') == std::string::npos);
}

void TrySections(const std::string& text) {
  std::istringstream file(text);
  const auto environments = kbench::ParseWorkerConfig(file, kName);
  if (environments.ok()) {
    for (const kbench::PythonEnvironment& one : *environments) {
      KB_FUZZ_CHECK(!one.name.empty() && !one.python.empty());
    }
  } else {
    CheckError(environments.status());
    KB_FUZZ_CHECK(environments.status().message().find(kName) != std::string::npos);
  }
}

void TryLabels(const std::string& text) {
  std::istringstream file(text);
  const auto labels = kbench::ParseConfigLabels(file, kName);
  if (!labels.ok()) return CheckError(labels.status());
  KB_FUZZ_CHECK(labels->size() <= kbench::kMostDeviceLabels);
  for (const auto& [key, value] : *labels) KB_FUZZ_CHECK(kbench::CheckLabel(key, value).ok());
}

void TryFlags(const std::string& text) {
  const char* const argv[] = {"kbench-worker", "--config", kbench::fuzz::FileOf(text)};
  kbench::WorkerOptions options;
  const auto answer = kbench::ReadWorkerOptions(3, argv, &options);
  if (!answer.ok()) return CheckError(answer.status());
  if (!answer->empty()) return;  // help
  KB_FUZZ_CHECK(options.spares >= 0 && options.spares <= 16);
  KB_FUZZ_CHECK(options.grace_seconds >= 0 && options.grace_seconds <= 86'400);
  KB_FUZZ_CHECK(options.spool_bytes >= 0 && options.cache_bytes >= 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  TrySections(text);
  TryLabels(text);
  TryFlags(text);
  return 0;
}
