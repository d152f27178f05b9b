#!/usr/bin/env python3
"""The best CUDA kernels compile for every GPU architecture of the design, without spills: ptxas's own warnings are errors. Sources that the build
compiles for 89 and 90a anyway are compiled here for the rest. Needs nvcc, no GPU.

    architectures.py NVCC [SOURCE]...      all of BEST without a SOURCE
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
REST = ["80", "86", "100", "120"]
# By source: cuda/wgmma and cuda/flash-wgmma are code of 90a alone, which the build compiles.
BEST = {f"kernels/cuda/{name}.cu": REST
        for name in ["vectorized_sum", "registers_softmax", "register_tiled_matmul", "mma_matmul", "flash_mma_attention", "flash_fp32_attention", "fused_chain"]}


def command(nvcc, source, architecture, out):
    return [nvcc, "-std=c++20", "-O3", "-DNDEBUG", f"-I{ROOT}", f"-arch=sm_{architecture}", "-cubin", "-Xptxas", "-warn-spills,-Werror",
            str(ROOT / source), "-o", str(out)]


def known_architectures(nvcc):
    """What this toolkit knows: an older one leaves the newest GPUs out."""
    listed = subprocess.run([nvcc, "--list-gpu-code"], capture_output=True, text=True, check=True)
    return {line.strip().removeprefix("sm_") for line in listed.stdout.splitlines()}


def compile_one(nvcc, source, architecture):
    """What nvcc complained of, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command(nvcc, source, architecture, pathlib.Path(folder) / "out.cubin"), capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"{source} for sm_{architecture}:\n{done.stdout}{done.stderr}"


def main():
    nvcc, *chosen = sys.argv[1:]
    known = known_architectures(nvcc)
    work = [(source, architecture) for source in chosen or BEST for architecture in BEST[source] if architecture in known]
    left_out = sorted(set(REST) - known)
    if left_out:
        print(f"{nvcc} knows no {', '.join(left_out)}: left out")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = [one for one in pool.map(lambda item: compile_one(nvcc, *item), work) if one]
    print("\n".join(complaints))
    print(f"{len(work) - len(complaints)} of {len(work)} compile without spills")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
