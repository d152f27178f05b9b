// OpenDevice() of libkbench-engine.so: a CPU and nothing else.
#include "worker/engine/cpu_device.h"
#include "worker/engine/device.h"

namespace kbench::engine {

OpenedDevice OpenDevice(const std::string& name, int threads) {
  if (name == "cpu") return {std::make_unique<CpuDevice>(threads), {}};
  return {nullptr,
          {KB_INVALID_ARGUMENT, "this engine has no device '" + name +
                                    "': it has cpu; libkbench-engine-cuda.so has cuda too"}};
}

}  // namespace kbench::engine
