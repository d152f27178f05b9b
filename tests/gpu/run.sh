#!/usr/bin/env bash
# Proves a bundle on a GPU host: unpacks it, starts its own stack apart from any other, and runs the cells of manifest.csv.
#
#   tests/gpu/run.sh BUNDLE [OPTION]...
#
#   BUNDLE             kbench-<version>-linux-x86_64.tar.xz     (cmake --build build/release --target bundle)
#   --device NAME      the device to measure on (gpu0)
#   --tests TAR        kbench-gpu-tests-<version>-...tar.xz     (cmake --build build/ci --target gpu-tests): also runs the GPU test programs and the
#                      misbehaving kernels of fixtures.csv
#   --no-manifest      leaves the cells of manifest.csv out
#   --no-programs      leaves the GPU test programs and fixtures out, where --tests is given for --stopwatch alone
#   --compare-torch    also times the same product through torch (skipped with a word where torch cannot be imported)
#   --stopwatch        also compares kbench's times with Nsight Compute, NVBench, do_bench and a loop (stopwatch_compare.py); needs --tests, ncu,
#                      torch and triton. Leaves stopwatch.md and stopwatch.json in $OUT
#   --wheels DIR       wheels that only this run sees: cuda-bench is NVBench. Without it (and not installed either) NVBench is not compared
#   --require-nvbench  then the stopwatch part fails
#   --repeatability    also measures twenty times over, A/A and the pace of a case (repeatability.py). Leaves repeatability.md and .json in $OUT
#   --only PART        of --repeatability: spread, selftest or pace; may be repeated
#   --library-table    also measures our best kernels beside the libraries (library_table.py). Leaves library_table.json in $OUT
#   --code             also fetches device code and profiles of a few cells (code_and_profile.py)
#   --frameworks       also torch, Triton and Triton compiled ahead of time: the cells of frameworks.csv, what launches cost (launch_costs.py), and
#                      with --stopwatch their times beside Nsight Compute and CUPTI (python_stopwatch.py)
#   --report           also runs `report roi` twice, the second time with warm caches: in 15 minutes and in 6 at most; leaves
#                      report-{cold,warm}.{md,html} in $OUT
#   --regression       also has a fixture become slower by 5 % and be itself again (regression.py); needs --tests, torch and triton
#   --sanitize         also runs compute-sanitizer over small shapes of every CUDA kernel (sanitize.py); needs --tests
#   --table-option X   handed to library_table.py; may be repeated
#
# Needs bash, tar, xz, python3, nvidia-smi and cuBLAS. Logs are left in $OUT where that is set. Exits 1 if anything is not as it must be.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() {
  echo "run.sh: $1" >&2
  echo "usage: tests/gpu/run.sh BUNDLE [OPTION]...; the options stand at the top of $here/run.sh" >&2
  exit 2
}

bundle="" tests="" device="gpu0" wheels="" compare_torch=no manifest=yes programs=yes stopwatch=no repeatability=no library_table=no code=no sanitize=no
frameworks=no report=no regression=no
stopwatch_options=() repeatability_options=() table_options=()
while (($#)); do
  case $1 in
    --tests) tests=${2:?--tests needs a file} && shift ;;
    --device) device=${2:?--device needs a name} && shift ;;
    --compare-torch) compare_torch=yes ;;
    --no-manifest) manifest=no ;;
    --no-programs) programs=no ;;
    --stopwatch) stopwatch=yes ;;
    --wheels) wheels=${2:?--wheels needs a folder} && shift ;;
    --require-nvbench) stopwatch_options+=(--require-nvbench) ;;
    --repeatability) repeatability=yes ;;
    --only) repeatability_options+=(--only "${2:?--only needs a part}") && shift ;;
    --library-table) library_table=yes ;;
    --code) code=yes ;;
    --frameworks) frameworks=yes ;;
    --report) report=yes ;;
    --regression) regression=yes ;;
    --sanitize) sanitize=yes ;;
    --table-option) table_options+=("${2:?--table-option needs a word}") && shift ;;
    -*) usage "unknown option $1" ;;
    *) bundle=$1 ;;
  esac
  shift
done
[[ -f $bundle ]] || usage "no such bundle: '$bundle'"
[[ -z $tests || -f $tests ]] || usage "no such file: '$tests'"
[[ $stopwatch == no || -n $tests ]] || usage "--stopwatch needs --tests: the launchers are in that file"
[[ $sanitize == no || -n $tests ]] || usage "--sanitize needs --tests: kernel_lab is in that file"
[[ $regression == no || -n $tests ]] || usage "--regression needs --tests: the runner with the fixtures is in that file"
[[ -z $wheels || -d $wheels ]] || usage "no such folder: '$wheels'"
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1) || usage "nvidia-smi finds no GPU here"

home=$(mktemp -d "${TMPDIR:-/tmp}/kbench-gpu.XXXXXX")
export XDG_RUNTIME_DIR=$home/run XDG_STATE_HOME=$home/state XDG_CONFIG_HOME=$home/config
mkdir -m 700 "$XDG_RUNTIME_DIR" "$XDG_STATE_HOME" "$XDG_CONFIG_HOME"
unset KBENCH_SERVER
out=${OUT:-$home}
client="" children=()

finish() {
  [[ -z $client ]] || "$client" down || true
  local child
  for child in ${children[@]+"${children[@]}"}; do
    kill "$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
  done
  if [[ -n ${OUT:-} ]]; then
    (cd "$home" && find state fixtures -name '*.log' -print0 2>/dev/null | tar -czf "$OUT/kbench-logs.tar.gz" --null -T -) || true
  fi
  rm -rf "$home"
}
trap finish EXIT

failed=()
# part NAME COMMAND...: runs it and remembers whether it failed, so that one red part hides no other.
part() {
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  "$@" || failed+=("$name")
  echo "   $name took $((SECONDS - start)) s"
}

gpu_programs() {
  local program code=0
  for program in "$root"/tests/*_test; do
    [[ -x $program ]] || continue
    echo "-- $(basename "$program")"
    timeout 300 "$program" --gtest_brief=1 || code=1
  done
  return $code
}

# What the Python runners offer beside the programs, for a host that has both frameworks.
frameworks() {
  local code=0
  python3 "$here/check_cells.py" "$client" "$here/frameworks.csv" "$capability" "$device" || code=1
  python3 "$here/launch_costs.py" "$client" "$device" || code=1
  [[ $stopwatch == no ]] || python3 "$here/python_stopwatch.py" "$client" "$device" || code=1
  return $code
}

# The essay's tables twice: what a first run pays for compiling and tuning, the second finds in caches.
report() {
  local turn start code=0
  local -A most=([cold]=900 [warm]=360)
  for turn in cold warm; do
    start=$SECONDS
    "$client" report roi --device "$device" --html "$out/report-$turn.html" >"$out/report-$turn.md" 2>"$out/report-$turn.log" || code=1
    echo "report roi, $turn caches: $((SECONDS - start)) s of ${most[$turn]} s"
    ((SECONDS - start <= most[$turn])) || code=1
    tail -n 3 "$out/report-$turn.log"
  done
  return $code
}

# Wheels go where only this run looks; nothing is installed on the host.
stopwatch() {
  local -x PYTHONPATH=${PYTHONPATH:-}
  if [[ -n $wheels ]]; then
    python3 -m pip install --quiet --no-index --no-deps --no-compile --no-cache-dir --disable-pip-version-check --target "$home/site" \
      "$wheels"/*.whl || return
    PYTHONPATH=$home/site${PYTHONPATH:+:$PYTHONPATH}
  fi
  python3 "$here/stopwatch_compare.py" "$client" "$device" "$root/tests/libkbench-launchers.so" --out "$out" \
    ${stopwatch_options[@]+"${stopwatch_options[@]}"}
}

# An interpreter whose runner has the implementations of tests/worker/runner_py/fixture_kernels instead of kbench's own: a copy, for regression.py edits one.
python_fixtures() {
  cp -r "$here/../worker/runner_py/fixture_kernels" "$home/fixtures/fixture_kernels"
  cat >"$home/fixtures/python" <<END
#!/usr/bin/env bash
export PYTHONPATH="\$PYTHONPATH:$home/fixtures" PYTHONDONTWRITEBYTECODE=1
exec python3 "\$@" --kernels fixture_kernels
END
  chmod +x "$home/fixtures/python"
  printf '[env.fixtures]\npython = "%s"\n' "$home/fixtures/python" >"$home/fixtures/worker.toml"
}

# A coordinator and a worker of their own, whose runners hold kernels that crash, hang, lie, or become slower.
fixture_stack() {
  local address=unix:$home/fixtures/s.sock attempt config=()
  mkdir -p "$home/fixtures"
  if python3 -c 'import torch, triton' 2>/dev/null; then
    python_fixtures
    config=(--config "$home/fixtures/worker.toml")
  fi
  "$root/bin/kbench-server" --listen "$address" --metrics-listen 127.0.0.1:0 --data-dir "$home/fixtures/server" \
    >"$home/fixtures/server.log" 2>&1 &
  children+=($!)
  "$root/bin/kbench-worker" --server "$address" --device 0 --name "$device" --data-dir "$home/fixtures/worker" \
    --runner "$root/tests/kbench-runner-cuda-fixtures" ${config[@]+"${config[@]}"} >"$home/fixtures/worker.log" 2>&1 &
  children+=($!)
  export KBENCH_SERVER=$address
  for ((attempt = 0; attempt < 100; attempt++)); do
    "$client" devices 2>/dev/null | grep -q "$device" && break
    sleep 0.2
  done
}

fixtures() {
  local code=0
  python3 "$here/check_cells.py" "$client" "$here/fixtures.csv" "$capability" "$device" || code=1
  if [[ -e $home/fixtures/python ]]; then
    python3 "$here/check_cells.py" "$client" "$here/python_fixtures.csv" "$capability" "$device" || code=1
  else
    echo "python3 has no torch and Triton here: the Python fixtures are not run"
  fi
  return $code
}

tar -xJf "$bundle" -C "$home"
[[ -z $tests ]] || tar -xJf "$tests" -C "$home"
root=$(echo "$home"/kbench-*-linux-*)
client=$root/bin/kbench-client
nvidia-smi --query-gpu=name,compute_cap,driver_version --format=csv,noheader
"$client" version
"$client" up
"$client" devices
[[ $manifest == no ]] || part "manifest" python3 "$here/check_cells.py" "$client" "$here/manifest.csv" "$capability" "$device"
if [[ $compare_torch == yes ]]; then
  if python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
    part "torch" python3 "$here/torch_compare.py" "$client" "$device"
  else
    echo "torch cannot be imported here: not compared"
  fi
fi
[[ $stopwatch == no ]] || part "stopwatch" stopwatch
[[ $frameworks == no ]] || part "frameworks" frameworks
[[ $report == no ]] || part "report" report
[[ $repeatability == no ]] || part "repeatability" python3 "$here/repeatability.py" "$client" "$device" --out "$out" \
  ${repeatability_options[@]+"${repeatability_options[@]}"}
[[ $code == no ]] || part "device code and profiles" python3 "$here/code_and_profile.py" "$client" "$device"
[[ $library_table == no ]] || part "library table" python3 "$here/library_table.py" "$client" "$device" --out "$out" \
  ${table_options[@]+"${table_options[@]}"}
"$client" down
[[ $sanitize == no ]] || part "sanitizer" python3 "$here/sanitize.py" "$root/tests/kernel_lab"
[[ -z $tests || $programs == no ]] || part "test programs" gpu_programs
if [[ -n $tests && ($programs == yes || $regression == yes) ]]; then
  fixture_stack
  [[ $programs == no ]] || part "misbehaving kernels" fixtures
  [[ $regression == no ]] || part "regression" python3 "$here/regression.py" "$client" "$device" "$home/fixtures/fixture_kernels/torch/paced.py"
fi
echo "== tests/gpu took $SECONDS s; failed: ${failed[*]:-none}"
((${#failed[@]} == 0))
