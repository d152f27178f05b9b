// kbench-runner-fixtures: the CPU runner plus implementations that misbehave. For tests only.
#include "tests/worker/runner/fixtures.h"
#include "worker/runner/cpu_identity.h"
#include "worker/runner/runner_main.h"

namespace {

kbench::RunnerIdentity FixtureIdentity(int threads) {
  kbench::RunnerIdentity identity = kbench::CpuIdentity(threads);
  identity.name = "kbench-runner-fixtures";
  for (const kbench::Implementation& implementation : kbench::FixtureTable()) {
    identity.implementations.push_back(&implementation);
  }
  return identity;
}

}  // namespace

int main(int argc, char** argv) { return kbench::RunnerMain(argc, argv, FixtureIdentity); }
