// kbench-runner-cuda: the CUDA and cuBLAS implementations in a process of their own.
#include "worker/runner/cuda_identity.h"
#include "worker/runner/runner_main.h"

int main(int argc, char** argv) { return kbench::RunnerMain(argc, argv, kbench::CudaIdentity); }
