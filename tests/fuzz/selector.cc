// Selectors of devices: any text names a device or does not, and the same each time.
#include "server/scheduler/selector.h"

#include <cstdint>
#include <string>

#include "tests/fuzz/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  kbench::scheduler::WorkerEntry worker;
  worker.device = "gpu0";
  worker.device_kind = "cuda";
  worker.uuid = "GPU-1b2c";
  worker.model = "NVIDIA H200";
  worker.architecture = "sm_90";
  worker.labels = {{"rack", "a"}, {"", ""}};
  const std::string text(reinterpret_cast<const char*>(data), size);
  const bool selected = kbench::scheduler::Selects(text, worker);
  KB_FUZZ_CHECK(selected == kbench::scheduler::Selects(text, worker));
  KB_FUZZ_CHECK(kbench::scheduler::Selects("", worker));
  KB_FUZZ_CHECK(kbench::scheduler::Selects("gpu0", worker));
  return 0;
}
