// Configuration files: an error that names the file, or settings.
#include <cstdint>
#include <sstream>
#include <string>

#include "tests/fuzz/check.h"
#include "worker/daemon/worker_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream text(std::string(reinterpret_cast<const char*>(data), size));
  const auto environments = kbench::ParseWorkerConfig(text, "worker.toml");
  if (environments.ok()) {
    for (const kbench::PythonEnvironment& one : *environments) {
      KB_FUZZ_CHECK(!one.name.empty() && !one.python.empty());
    }
  } else {
    KB_FUZZ_CHECK(environments.status().message().find("worker.toml") != std::string::npos);
  }
  return 0;
}
