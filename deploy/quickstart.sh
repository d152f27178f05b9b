#!/usr/bin/env bash
# From a fresh Debian 12 or Ubuntu 24.04 machine to a first result: installs what is missing, builds kbench for the GPU found here (or for
# the CPU alone), starts it and runs one job. As root or as a user with sudo; can be run again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh

build=$PWD/build/release
programs=(kbench-client kbench-server kbench-worker kbench-runner kbench-runner-cuda)

# Sets cuda_options: how CMake is to build for the GPU of this machine, or KBENCH_CUDA=OFF after having said why.
choose_backend() {
  cuda_options=(-DKBENCH_CUDA=OFF)
  local capabilities driver_cuda architectures nvcc
  capabilities=$(gpu_capabilities)
  if [[ -z $capabilities ]]; then
    echo "   no NVIDIA GPU answers here: building the CPU backend"
    return
  fi
  architectures=$(cuda_architectures "$capabilities")
  if [[ -z $architectures ]]; then
    echo "   the GPU has compute capability $capabilities; kbench needs 8.0 or newer: going on with the CPU backend"
    return
  fi
  driver_cuda=$(driver_cuda_version)
  nvcc=$(find_nvcc "$driver_cuda")
  if [[ -z $nvcc ]]; then
    echo "   a GPU of compute capability $capabilities is here, but no nvcc 12.8 or newer that its driver (CUDA ${driver_cuda:-unknown}) can run."
    echo "   This line installs one:"
    echo
    echo "     $(nvcc_install_line "$driver_cuda")"
    echo
    echo "   Then run ./deploy/quickstart.sh again. Going on with the CPU backend."
    return
  fi
  echo "   compute capability $capabilities: building for sm_${architectures//;/, sm_} with $nvcc"
  cuda_options=(-DKBENCH_CUDA=ON "-DKBENCH_NVCC=$nvcc" "-DKBENCH_CUDA_ARCHITECTURES=$architectures")
}

configure() { cmake --preset release "${cuda_options[@]}"; }
compile() { cmake --build --preset release; }

link_programs() {
  local bin=$HOME/.local/bin program
  mkdir -p "$bin"
  for program in "${programs[@]}"; do
    if [[ -x $build/bin/$program ]]; then
      ln -sfn "$build/bin/$program" "$bin/$program"
    fi
  done
  ln -sfn "$build/bin/kbench-client" "$bin/kbench"
}

# A stack that still runs the programs of an earlier build is started anew; its jobs are on disk and go on.
start_stack() {
  if [[ $fresh_build == yes ]]; then
    "$build/bin/kbench-client" down >/dev/null 2>&1 || true
  fi
  "$build/bin/kbench-client" up
}

programs_stamp() { stat -c '%n %Y' "${programs[@]/#/$build/bin/}" 2>/dev/null || true; }

step "packages" ./deploy/setup.sh build
choose_backend
quiet_step "configure" configure
before=$(programs_stamp)
quiet_step "build" compile
[[ $before == "$(programs_stamp)" ]] && fresh_build=no || fresh_build=yes
link_programs
step "start" start_stack

echo "== kbench-client submit matmul fp16 4096"
SECONDS=0
code=0
"$build/bin/kbench-client" submit matmul fp16 4096 || code=$?
echo "   took $SECONDS s"
case $code in
  0) ;;
  4)
    echo
    echo "The results are verified, but their timing is marked SUSPECT: something else ran on this machine, or its clocks moved,"
    echo "while kbench measured. That is a statement about the machine, not a failure. On a quiet machine the mark goes away."
    ;;
  *)
    echo "quickstart.sh: the job ended with exit code $code ('kbench-client submit --help' lists the codes)" >&2
    exit "$code"
    ;;
esac

cat <<TEXT

kbench is running. Its programs are in $build/bin,
linked into ~/.local/bin; 'kbench' is short for 'kbench-client'.$(path_hint)
Try next:
  kbench submit softmax fp32 4096x4096    another kernel
  kbench kernels                          what can be run, and how sizes are written
  kbench devices                          what it runs on
  kbench list                             past jobs; 'kbench show JOB' prints one again
  kbench down                             stop it; 'kbench up' starts it again
TEXT
