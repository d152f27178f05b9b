// kbench-runner-cuda-fixtures: the CUDA runner plus implementations that misbehave. For tests only.
#include "tests/worker/runner/cuda_fixtures.h"
#include "worker/runner/cuda_identity.h"
#include "worker/runner/runner_main.h"

namespace {

kbench::RunnerIdentity FixtureIdentity(int threads) {
  kbench::RunnerIdentity identity = kbench::CudaIdentity(threads);
  identity.name = "kbench-runner-cuda-fixtures";
  for (const kbench::Implementation& implementation : kbench::CudaFixtureTable()) {
    identity.implementations.push_back(&implementation);
  }
  return identity;
}

}  // namespace

int main(int argc, char** argv) { return kbench::RunnerMain(argc, argv, FixtureIdentity); }
