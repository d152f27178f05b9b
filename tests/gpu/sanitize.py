#!/usr/bin/env python3
"""compute-sanitizer over small shapes of every CUDA kernel of ours: the cells of sanitize.csv, with every candidate.

    sanitize.py KERNEL_LAB [--tool memcheck|racecheck|synccheck]... [--jobs N]

Exits 1 when a tool complains, a result is wrong, a cell takes too long or the sanitizer is not there.
"""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import time

import cells

HERE = pathlib.Path(__file__).parent
TOOLS = ("memcheck", "racecheck")
COMPLAINED = 86  # compute-sanitizer's exit code when it found something; kernel_lab has 0, 1 and 2
LIMIT_SECONDS = 240


def sanitizer():
    for folder in (None, "/usr/local/cuda/bin"):
        if path := shutil.which("compute-sanitizer", path=folder):
            return path
    sys.exit("sanitize.py: compute-sanitizer is neither on PATH nor in /usr/local/cuda/bin")


def run_cell(program, lab, tool, row):
    """What is wrong with the cell under this tool ("" for nothing), and how many rows it checked."""
    words = [row["kernel"], row["dtype"], row["size"], row["implementations"].replace("|", ",")]
    command = [program, "--tool", tool, "--error-exitcode", str(COMPLAINED), lab, "--candidates", "--check-only", *words]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=LIMIT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"no end after {LIMIT_SECONDS} s", 0
    checked = done.stdout.count(": checked")
    if done.returncode != 0 or "ERROR SUMMARY: 0 errors" not in done.stdout and "RACECHECK SUMMARY: 0 hazards" not in done.stdout:
        return f"exit code {done.returncode}: {done.stdout[-1500:]}", checked
    return ("" if checked else f"nothing was checked: {done.stdout[-500:]}"), checked


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernel_lab")
    parser.add_argument("--tool", action="append")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 1) - 1))
    chosen = parser.parse_args()
    program = sanitizer()
    work = [(tool, row) for row in cells.read_table(HERE / "sanitize.csv") for tool in chosen.tool or TOOLS]
    failed, checked, begin = 0, 0, time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(chosen.jobs) as pool:
        runs = [pool.submit(run_cell, program, chosen.kernel_lab, tool, row) for tool, row in work]
        for (tool, row), ran in zip(work, runs, strict=True):
            wrong, count = ran.result()
            checked += count
            failed += bool(wrong)
            print(f"{tool} {row['kernel']} {row['dtype']} {row['size']}: {wrong or f'clean, {count} checked'}", flush=True)
    print(f"{len(work) - failed} of {len(work)} runs are clean; {checked} instances were checked in {time.monotonic() - begin:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
