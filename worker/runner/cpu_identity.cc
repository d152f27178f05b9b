#include "worker/runner/cpu_identity.h"

#include <cblas.h>
#include <dnnl.h>

#include <sstream>

#include "kernels/cpu/table.h"

namespace kbench {
namespace {

std::string DnnlVersion() {
  const dnnl_version_t* version = dnnl_version();
  return std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
}

// "OpenBLAS 0.3.21 DYNAMIC_ARCH ..." -> "0.3.21"
std::string OpenBlasVersion() {
  std::istringstream words(openblas_get_config());
  std::string name, version;
  words >> name >> version;
  return version;
}

}  // namespace

RunnerIdentity CpuIdentity(int threads) {
  RunnerIdentity identity;
  identity.name = "kbench-runner";
  identity.device = "cpu";
  identity.threads = threads;
  for (const Implementation& implementation : CpuTable()) {
    identity.implementations.push_back(&implementation);
  }
  identity.libraries = {{"onednn", DnnlVersion()}, {"openblas", OpenBlasVersion()}};
  return identity;
}

}  // namespace kbench
