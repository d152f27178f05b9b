#!/usr/bin/env bash
# Installs what kbench is built from (`build`), what its Python runner runs (`torch`: 5 GB in .venv-torch) and what it is tested with (`test`, which
# includes both) on Debian 12 or Ubuntu 24.04. Runs as root or as a user with sudo, can be run again, and asks the network for nothing when nothing
# is missing.
set -euo pipefail

mode=${1:-build}
[[ $mode == build || $mode == torch || $mode == test ]] || {
  echo "setup.sh: unknown argument '$mode'; use: deploy/setup.sh [build|torch|test]" >&2
  exit 2
}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

build_packages=(
  ca-certificates cmake g++ ninja-build patchelf pkg-config python3 python3-venv xz-utils
  libabsl-dev libcivetweb-dev libcli11-dev libdnnl-dev libfmt-dev libgrpc++-dev libopenblas-dev libprotobuf-dev
  libspdlog-dev libsqlite3-dev libssl-dev prometheus-cpp-dev protobuf-compiler protobuf-compiler-grpc)
test_packages=(ccache clang clang-tidy libclang-rt-dev libgmock-dev libgtest-dev shellcheck)

as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "setup.sh: cannot install packages: run it as root, or install sudo" >&2
    return 1
  fi
}

# Another apt may hold a lock for minutes on a machine that has just booted; apt-get waits for dpkg's lock by itself, but not for
# that of the package lists.
apt_get() {
  local attempt attempts=4
  for ((attempt = 1; attempt <= attempts; attempt++)); do
    if as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
      apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 -o Acquire::Retries=3 \
      "$@" </dev/null; then
      return 0
    fi
    ((attempt == attempts)) && return 1
    echo "setup.sh: apt-get $1 failed (attempt $attempt of $attempts); trying again in $((attempt * 5)) s" >&2
    sleep $((attempt * 5))
  done
}

installed() { [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

install_packages() {
  local missing=() package
  for package in "$@"; do
    installed "$package" || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  command -v apt-get >/dev/null || {
    echo "setup.sh: needs apt-get (Debian 12 or Ubuntu 24.04); install by hand: ${missing[*]}" >&2
    return 1
  }
  echo "installing ${missing[*]}"
  # A source that does not answer (a third party's, say) must not stop what the distribution itself can deliver.
  apt_get update || echo "setup.sh: some package lists could not be refreshed; going on with those at hand" >&2
  apt_get install -y --no-install-recommends "${missing[@]}" >/dev/null || {
    echo "setup.sh: apt-get could not install: ${missing[*]} (on Ubuntu the 'universe' component must be enabled)" >&2
    return 1
  }
}

# install_wheels LIST VENV: a stamp is the hash of what was asked for, so that a second run installs nothing.
install_wheels() {
  local venv=$root/$2 list=$root/deploy/requirements-$1.txt stamp=$root/$2/.kbench-$1 wanted
  wanted=$({ /usr/bin/python3 --version && cat "$list"; } | sha256sum | cut -d' ' -f1)
  [[ -x $venv/bin/python && -f $stamp && $(<"$stamp") == "$wanted" ]] && return 0
  echo "installing $(basename "$list") into $2"
  "$venv/bin/python" -c 'import pip' 2>/dev/null || /usr/bin/python3 -m venv "$venv"
  # Every wheel is named with its version, so nothing is resolved: --no-deps.
  "$venv/bin/python" -m pip install --quiet --no-input --disable-pip-version-check --retries 5 --no-deps -r "$list" </dev/null
  echo "$wanted" >"$stamp"
}

# promtool (and a Prometheus to scrape with) for the tests. Unpacked beside the build rather than installed: the package would start a service.
fetch_prometheus() {
  local cache=$root/.cache/prometheus
  command -v promtool >/dev/null && command -v prometheus >/dev/null && return 0
  [[ -x $cache/usr/bin/promtool ]] && return 0
  echo "fetching promtool into .cache/prometheus"
  mkdir -p "$cache"
  (cd "$cache" && { apt-get -qq download prometheus 2>/dev/null || { apt_get update && apt-get -qq download prometheus; }; } &&
    dpkg -x prometheus_*.deb . && rm -f prometheus_*.deb)
}

case $mode in
  build)
    install_packages "${build_packages[@]}"
    install_wheels build .venv
    ;;
  torch)
    install_packages python3 python3-venv
    install_wheels torch .venv-torch
    ;;
  test)
    install_packages "${build_packages[@]}" "${test_packages[@]}"
    install_wheels build .venv
    install_wheels test .venv
    install_wheels torch .venv-torch
    fetch_prometheus
    ;;
esac
