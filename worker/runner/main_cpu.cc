// kbench-runner: the CPU implementations in a process of their own.
#include "worker/runner/cpu_identity.h"
#include "worker/runner/runner_main.h"

int main(int argc, char** argv) { return kbench::RunnerMain(argc, argv, kbench::CpuIdentity); }
