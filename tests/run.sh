#!/usr/bin/env bash
# The checks and tests that CI runs: installs what is missing, builds everything that compiles without a GPU, stops at the first red.
#
#   tests/run.sh [STEP...]     steps, in this order: lint build architectures unit fuzz tidy sanitizers python (default: all but sanitizers,
#                              two more builds that take a quarter of an hour on 2 cores)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=deploy/lib.sh
source deploy/lib.sh

steps=("$@")
((${#steps[@]})) || steps=(lint build architectures unit fuzz tidy python)
for name in "${steps[@]}"; do
  [[ " lint build architectures unit fuzz tidy sanitizers python " == *" $name "* ]] || {
    echo "run.sh: unknown step '$name'; the steps are: lint build architectures unit fuzz tidy sanitizers python" >&2
    exit 2
  }
done

jobs=$(nproc)
closing=()  # the last lines of each ctest run, repeated at the end
export PATH=$PATH:$PWD/.cache/prometheus/usr/bin
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
# Nothing a test starts may meet the stack, the configuration or the data of whoever runs the tests.
unset KBENCH_SERVER KBENCH_TOKEN KBENCH_CA XDG_RUNTIME_DIR XDG_STATE_HOME XDG_CONFIG_HOME

check_format() {
  git ls-files -z -- '*.cc' '*.h' '*.cu' '*.cuh' | xargs -0 .venv/bin/clang-format --dry-run --Werror
}

check_shell() {
  git ls-files -z -- '*.sh' '.ci/run' | xargs -0 shellcheck -x
}

run_lint() {
  step "architecture" python3 tests/lint/architecture.py .
  step "format" check_format
  step "shell" check_shell
}

# build PRESET [OPTION...]
build() {
  local preset=$1
  shift
  quiet_step "configure $preset" cmake --preset "$preset" -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
    -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache "$@"
  quiet_step "build $preset" cmake --build "build/$preset" --parallel "$jobs"
}

run_build() {
  local cuda=(-DKBENCH_CUDA=OFF) nvcc
  nvcc=$(find_nvcc "")
  [[ -n $nvcc ]] && cuda=(-DKBENCH_CUDA=ON "-DKBENCH_NVCC=$nvcc" "-DKBENCH_CUDA_ARCHITECTURES=89;90a")
  build ci "${cuda[@]}"
}

# The best kernels for the GPUs that the build does not compile for.
run_architectures() {
  local nvcc
  nvcc=$(find_nvcc "")
  if [[ -n $nvcc ]]; then
    quiet_step "kernels for other GPUs" python3 tests/kernels/cuda/architectures.py "$nvcc"
  else
    echo "no nvcc: the kernels are not compiled for other GPUs"
  fi
}

# unit PRESET [OPTION...]: its ctest, with the closing line kept for the end.
unit() {
  local preset=$1 log code=0
  shift
  log=$(mktemp)
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error --parallel "$jobs" "$@" </dev/null 2>&1 | tee "$log" || code=$?
  closing+=("ctest $preset: $(grep -E 'tests passed' "$log" || true)")
  rm -f "$log"
  return "$code"
}

run_unit() { step "ctest ci" unit ci; }

# Every target for KBENCH_FUZZ_SECONDS (60), all at once and behind everything else: what two cores make of them in a minute is enough to find
# again what was there before, and a little new. The seed is fixed, so that a change is not blamed for what another draw finds; KBENCH_FUZZ_SEED
# takes another one (0: any). A finding belongs into tests/fuzz/corpus/NAME, where every later run begins with it.
fuzz() {
  local program name pids=() names=() i code=0
  for program in build/fuzz/tests/fuzz_*; do
    name=${program##*/fuzz_}
    mkdir -p "build/fuzz/corpus/$name" build/fuzz/findings
    nice -n 10 "$program" -max_total_time="${KBENCH_FUZZ_SECONDS:-60}" -seed="${KBENCH_FUZZ_SEED:-1}" -max_len=4096 -timeout=20 -rss_limit_mb=1500 \
      -artifact_prefix="build/fuzz/findings/$name-" "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name" >"build/fuzz/findings/$name.log" 2>&1 </dev/null &
    pids+=($!)
    names+=("$name")
  done
  for i in "${!pids[@]}"; do
    if wait "${pids[i]}"; then
      echo "${names[i]}: $(grep -E '^Done' "build/fuzz/findings/${names[i]}.log")"
    else
      code=1
      tail -n 30 "build/fuzz/findings/${names[i]}.log"
      echo "fuzz_${names[i]}: a finding; its input lies in build/fuzz/findings, and belongs into tests/fuzz/corpus/${names[i]} once it is mended" >&2
    fi
  done
  return "$code"
}

run_fuzz() {
  quiet_step "configure fuzz" cmake --preset fuzz -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DKBENCH_CUDA=OFF
  quiet_step "build fuzz" cmake --build build/fuzz --parallel "$jobs" --target fuzzers
  step "fuzz" fuzz
}

# The sources proper that this machine builds, without tests: what clang-tidy finds there it finds nowhere else, and it has to end in minutes.
tidy() {
  git ls-files -- 'proto/*.cc' 'stats/*.cc' 'kernels/*.cc' 'worker/*.cc' 'server/*.cc' 'client/*.cc' |
    grep -Fxf <(sed -nE "s|^ *\"file\": \"$PWD/(.*)\",?\$|\\1|p" build/ci/compile_commands.json) |
    xargs -P "$jobs" -n 4 clang-tidy --quiet --extra-arg=-Wno-unknown-warning-option -p build/ci
}

run_tidy() { quiet_step "clang-tidy" tidy; }

# gRPC's own libraries are built without sanitizers, so these builds leave out what links them: all pure code, the store, the engine,
# the runners and what drives them remain.
run_sanitizers() {
  build asan -DKBENCH_SANITIZE=address,undefined -DKBENCH_WITH_GRPC=OFF -DKBENCH_CUDA=OFF
  step "ctest asan (with ubsan)" unit asan
  build tsan -DKBENCH_CUDA=OFF
  step "ctest tsan" unit tsan --label-exclude no-tsan
}

# pytest itself runs without torch; what tests the Python runner starts it with .venv-torch. Only the tests of the implementations import torch, and
# run where it is.
run_python() {
  local pytest=(-m pytest -p no:cacheprovider -q)
  export KBENCH_BIN=$PWD/build/ci/bin KBENCH_TORCH_PYTHON=$PWD/.venv-torch/bin/python PYTHONDONTWRITEBYTECODE=1
  step "pytest" .venv/bin/python "${pytest[@]}" --ignore tests/kernels/python tests </dev/null
  [[ -d tests/kernels/python ]] || return 0
  step "pytest with torch" env PYTHONPATH="$PWD/kernels/python:$PWD/worker/runner_py" .venv-torch/bin/python "${pytest[@]}" tests/kernels/python tests/kernels/triton_aot </dev/null
}

SECONDS=0
step "set-up" ./deploy/setup.sh test
for name in "${steps[@]}"; do
  "run_$name"
done
echo "== all steps took $SECONDS s"
((${#closing[@]} == 0)) || printf '%s\n' "${closing[@]}"
