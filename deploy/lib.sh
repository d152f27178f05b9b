# shellcheck shell=bash
# Shell functions shared by deploy/quickstart.sh and tests/run.sh. Sourced, never run.

# step NAME COMMAND...: runs it with a heading and prints how long it took.
step() {
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  "$@"
  echo "   $name took $((SECONDS - start)) s"
}

# quiet_step NAME COMMAND...: the same, with the output kept in a file and shown only where the command fails.
quiet_step() {
  local name=$1 start=$SECONDS log code=0
  shift
  log=$(mktemp "${TMPDIR:-/tmp}/kbench-step.XXXXXX")
  echo "== $name"
  "$@" >"$log" 2>&1 </dev/null || code=$?
  if ((code)); then
    grep -nE 'FAILED|error|Error' "$log" | head -20 || true
    tail -n 60 "$log"
    echo "$name failed with exit code $code; the whole output is in $log" >&2
    return "$code"
  fi
  rm -f "$log"
  echo "   $name took $((SECONDS - start)) s"
}

# Compute capabilities of the GPUs here, one a word ("9.0"); nothing where no driver answers.
gpu_capabilities() {
  command -v nvidia-smi >/dev/null || return 0
  { timeout 30 nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null || true; } |
    { grep -E '^[0-9]+\.[0-9]+$' || true; } | sort -uV | xargs
}

# cuda_architectures "9.0 8.9" -> "90a;89": what nvcc is asked for. Capabilities under 8.0 are left out. Hopper's own instructions need the
# `a`; the other kernels are compiled for the plain architecture.
cuda_architectures() {
  local capability architecture list=()
  for capability in $1; do
    architecture=${capability/./}
    ((architecture < 80)) && continue
    [[ $architecture == 90 ]] && architecture=90a
    list+=("$architecture")
  done
  local IFS=';'
  echo "${list[*]-}"
}

# The newest CUDA the driver runs, as nvidia-smi's heading says it ("13.0").
driver_cuda_version() {
  { timeout 30 nvidia-smi 2>/dev/null || true; } | sed -nE 's/.*CUDA Version: *([0-9]+\.[0-9]+).*/\1/p' | head -1
}

nvcc_version() { { "$1" --version 2>/dev/null || true; } | sed -nE 's/.*release ([0-9]+\.[0-9]+).*/\1/p' | head -1; }

version_at_least() { [[ $(printf '%s\n%s\n' "$2" "$1" | sort -V | head -1) == "$2" ]]; }

# find_nvcc [DRIVER_CUDA]: the newest nvcc of 12.8 or later; with a driver's CUDA version, only of a major version that it runs.
find_nvcc() {
  local candidate version best="" best_version=0 driver_major=${1:-}
  driver_major=${driver_major%%.*}
  for candidate in "${CUDACXX:-}" "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc /usr/local/cuda-*/bin/nvcc; do
    [[ -n $candidate && -x $candidate ]] || continue
    version=$(nvcc_version "$candidate")
    if [[ -z $version ]] || ! version_at_least "$version" 12.8; then continue; fi
    if [[ -n $driver_major ]] && ((${version%%.*} > driver_major)); then continue; fi
    if ! version_at_least "$best_version" "$version"; then
      best=$candidate best_version=$version
    fi
  done
  echo "$best"
}

# The one line that installs nvcc from NVIDIA's own packages for this distribution, of a version the driver runs.
nvcc_install_line() {
  local sudo="" repository toolkit=cuda-toolkit-12-8 driver_major=${1:-}
  driver_major=${driver_major%%.*}
  [[ $(id -u) == 0 ]] || sudo="sudo "
  repository=$(. /etc/os-release && echo "${ID}${VERSION_ID//./}")
  ((${driver_major:-12} >= 13)) && toolkit=cuda-toolkit-13-0
  echo "${sudo}apt-get install -y curl && curl -fsSLO https://developer.download.nvidia.com/compute/cuda/repos/$repository/x86_64/cuda-keyring_1.1-1_all.deb" \
    "&& ${sudo}dpkg -i cuda-keyring_1.1-1_all.deb && ${sudo}apt-get update && ${sudo}apt-get install -y $toolkit"
}

# Says how to reach ~/.local/bin where the PATH lacks it.
path_hint() {
  [[ ":$PATH:" == *":$HOME/.local/bin:"* ]] && return
  # shellcheck disable=SC2016
  printf '\nThat folder is not on your PATH yet: export PATH="$HOME/.local/bin:$PATH"'
}
