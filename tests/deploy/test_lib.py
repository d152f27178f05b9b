"""deploy/lib.sh: how the quick start sees GPU, driver and nvcc. Stand-ins for nvidia-smi and nvcc lie on a PATH of the test's own."""
import os
import pathlib
import subprocess

import pytest

LIB = pathlib.Path(__file__).parents[2] / "deploy" / "lib.sh"


def program(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/bash\n" + text + "\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def nvcc(folder, version):
    return program(folder, "nvcc", f"echo 'Cuda compilation tools, release {version}, V{version}.1'")


def nvidia_smi(folder, capabilities, driver_cuda):
    rows = "\\n".join(capabilities)
    program(folder, "nvidia-smi", 'if [[ "$*" == *compute_cap* ]]; then printf "' + rows + '\\n"; exit; fi\n'
            f"echo '| NVIDIA-SMI 580.1   Driver Version: 580.1   CUDA Version: {driver_cuda}     |'")


def call(command, path=None, **environment):
    paths = ([str(path)] if path else []) + ["/usr/bin", "/bin"]
    done = subprocess.run(["bash", "-c", f"set -euo pipefail; source '{LIB}'; {command}"], capture_output=True, text=True, check=False,
                          env={"PATH": os.pathsep.join(paths), "HOME": "/nonexistent", **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("capabilities,architectures", [
    ("9.0", "90a"), ("8.9", "89"), ("8.0 8.6", "80;86"), ("10.0", "100"), ("12.0", "120"), ("7.5 9.0", "90a"), ("7.5", "")])
def test_architectures(capabilities, architectures):
    assert call(f"cuda_architectures '{capabilities}'") == architectures


def test_capabilities_are_those_of_all_gpus_once(tmp_path):
    nvidia_smi(tmp_path, ["9.0", "8.9", "9.0"], "13.0")
    assert call("gpu_capabilities", tmp_path) == "8.9 9.0"
    assert call("driver_cuda_version", tmp_path) == "13.0"


def test_a_driver_that_does_not_answer_is_no_gpu(tmp_path):
    program(tmp_path, "nvidia-smi", "echo 'NVIDIA-SMI has failed because it could not communicate with the driver'; exit 9")
    assert call("gpu_capabilities", tmp_path) == ""
    assert call("driver_cuda_version", tmp_path) == ""


def test_an_old_nvcc_is_none(tmp_path):
    old = nvcc(tmp_path, "11.8")
    assert call("find_nvcc 13.0", tmp_path) != str(old)
    assert call("find_nvcc 13.0", tmp_path, CUDACXX=str(nvcc(tmp_path / "new", "12.8"))) != str(old)


def test_nvcc_must_suit_the_driver(tmp_path):
    newer = nvcc(tmp_path / "a", "12.9")
    assert call("find_nvcc 12.4", CUDACXX=str(newer)) == str(newer)
    assert call("find_nvcc 11.8", CUDACXX=str(newer)) == ""


@pytest.mark.parametrize("driver,package", [("13.0", "cuda-toolkit-13-0"), ("12.4", "cuda-toolkit-12-8"), ("", "cuda-toolkit-12-8")])
def test_the_install_line_fits_the_driver(driver, package):
    line = call(f"nvcc_install_line '{driver}'")
    assert line.endswith(package) and "\n" not in line


def test_a_failed_step_says_so_and_fails():
    done = subprocess.run(["bash", "-c", f"source '{LIB}'; TMPDIR=/tmp quiet_step build bash -c 'echo boom error; exit 3'"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "boom error" in done.stdout and "build failed with exit code 3" in done.stderr
