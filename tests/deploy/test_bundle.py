"""The bundle is relocatable: unpacked anywhere, in an empty environment, its programs find their libraries inside it and run a job."""
import json
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
BIN = pathlib.Path(os.environ.get("KBENCH_BIN", ROOT / "build/release/bin"))
HOSTS = re.compile(r"(ld-linux.*|linux-vdso|lib(c|m|dl|rt|pthread|resolv|stdc\+\+|gcc_s|cuda|cudart|cublas|cublasLt))\.so(\..*)?")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    if not (BIN / "kbench-client").exists():
        pytest.fail(f"no kbench-client in {BIN}: build first, or set KBENCH_BIN")
    build = BIN.parent
    subprocess.run(["cmake", "--build", build, "--target", "bundle"], check=True, capture_output=True, env=os.environ | {"XZ_OPT": "-T0 -1"})
    archive, = build.glob("kbench-*-linux-x86_64.tar.xz")
    folder = tmp_path_factory.mktemp("bundle")
    subprocess.run(["tar", "-xJf", archive, "-C", folder], check=True)
    unpacked, = folder.iterdir()
    return unpacked


def libraries(file):
    """(name, path) of everything the loader would load for a file, in an empty environment."""
    done = subprocess.run(["/usr/bin/ldd", file], capture_output=True, text=True, check=True, env={})
    return re.findall(r"^\s*(\S+) => (.*?)(?: \(0x[0-9a-f]+\))?$", done.stdout, re.M)


def test_every_library_lies_inside_or_is_the_hosts(bundle):
    files = [file for folder in ("bin", "lib") for file in (bundle / folder).iterdir() if file.is_file()]
    assert len(files) > 20
    outside = [(file.name, name, path) for file in files for name, path in libraries(file)
               if not HOSTS.fullmatch(name) and bundle not in pathlib.Path(path).resolve().parents]
    assert not outside


def test_the_hosts_libraries_are_left_out(bundle):
    inside = [file.name for file in (bundle / "lib").iterdir() if HOSTS.fullmatch(file.name)]
    assert not inside
    assert (bundle / "lib/libgomp.so.1").exists()


def test_no_tests_and_no_symbols_inside(bundle):
    programs = {file.name for file in (bundle / "bin").iterdir()}
    assert {"kbench", "kbench-client", "kbench-server", "kbench-worker", "kbench-runner", "libkbench-engine.so"} <= programs
    assert not [name for name in programs if "fixture" in name or "test" in name]
    assert (bundle / "LICENSE").exists()


def test_the_python_runner_answers_from_inside(bundle):
    """With the host's own interpreter, which may have no torch."""
    done = subprocess.run(["/usr/bin/python3", "-B", "-m", "kbench_runner", "--framework", "torch", "--device", "cpu", "--stdio", "--engine",
                           bundle / "bin/libkbench-engine.so"], input=b'{"id":"1","hello":{}}\n{"id":"2","calibrate":{}}\n',
                          capture_output=True, check=False, timeout=120,
                          env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(bundle / "lib/kbench/python")})
    assert done.returncode == 0, done.stderr
    hello, calibrated = map(json.loads, done.stdout.splitlines())
    assert hello["hello"]["runner"] == "kbench-runner-torch"
    assert "calibrated" in calibrated


def test_python_packages_hold_nothing_but_sources(bundle):
    files = [file for file in (bundle / "lib/kbench/python").rglob("*") if file.is_file()]
    assert {file.relative_to(bundle / "lib/kbench/python").parts[0] for file in files} == {"kbench_kernels", "kbench_runner"}
    assert not [file for file in files if file.suffix != ".py"]


def test_the_suites_lie_inside(bundle):
    env = {"HOME": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent", "XDG_RUNTIME_DIR": "/nonexistent"}
    command = [bundle / "bin/kbench-client", "suite", "list", "-o", "json"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=True)
    suites = [json.loads(line)["suite"] for line in done.stdout.splitlines()]
    assert {suite["name"] for suite in suites} == {path.stem for path in (ROOT / "deploy/suites").glob("*.textproto")}
    assert all(suite["good"] and pathlib.Path(suite["path"]).is_relative_to(bundle) for suite in suites), suites


def test_runs_a_job_in_an_empty_environment(bundle, tmp_path):
    for folder in ("run", "state", "config"):
        (tmp_path / folder).mkdir(mode=0o700)
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "KBENCH_LOCK_DIR": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run"),
           "XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path / "config")}

    def client(*arguments):
        return subprocess.run([bundle / "bin/kbench-client", *arguments], env=env, capture_output=True, text=True, timeout=120,
                              stdin=subprocess.DEVNULL, check=False)

    try:
        up = client("up")
        assert up.returncode == 0, up.stderr
        done = client("submit", "sum", "fp32", "4096", "--impl", "cpu/naive", "--device", "cpu", "--quick", "-o", "json")
        results = [json.loads(line)["result"] for line in done.stdout.splitlines() if '"result"' in line[:12]]
        assert [result["outcome"] for result in results] == ["OUTCOME_OK"], done.stderr
    finally:
        down = client("down")
    assert down.returncode == 0, down.stderr
