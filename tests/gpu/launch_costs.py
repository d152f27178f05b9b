#!/usr/bin/env python3
"""What a launch costs through each path, and what Triton does to TF32 operands: prints both, exits 1 where one is not as it must be.

    launch_costs.py CLIENT DEVICE

sum fp32 2^20 is small enough for its launch to count. Triton compiled ahead of time is launched as a CUDA kernel is, so its host submit time may be at
most 2 us above that one's. Triton truncates TF32 operands where cuBLAS rounds them: the error of a product tells.
"""
import sys

import cells

CELL = ("sum", "fp32", "2^20")
PATHS = ("cuda/vectorized", "triton-aot", "triton", "torch")
MOST_AOT_SECONDS = 2e-6
TRUNCATED, ROUNDED = (6e-4, 9e-4), (2e-4, 4e-4)  # relative errors of a product in TF32: about 7.8e-4 and 3e-4


def by_name(results):
    return {result["implementation"]: result for result in results if cells.outcome(result) == "OK"}


def interval(result, field):
    times = result.get(field, {})
    return " ".join(f"{times.get(name, 0) * 1e6:8.2f}" for name in ("median", "low", "high"))


def launch_costs(client, device):
    _, results, errors = cells.submit(client, *CELL, "--impl", ",".join(PATHS), "--device", device, "--fresh")
    found = by_name(results)
    print(f"{' '.join(CELL):18} host submit (us): median, low, high    end to end (us): median, low, high    device (us)")
    for name in PATHS:
        if name in found:
            print(f"{name:18} {interval(found[name], 'host_submit_time'):>38} {interval(found[name], 'end_to_end_time'):>38} "
                  f"{cells.median_seconds(found[name]) * 1e6:12.2f} {cells.verdict(found[name])}")
    if set(found) != set(PATHS):
        return f"no figure of {', '.join(sorted(set(PATHS) - set(found)))}: {errors}"
    more = found["triton-aot"]["host_submit_time"]["median"] - found["cuda/vectorized"]["host_submit_time"]["median"]
    print(f"triton-aot's host submit less cuda's: {more * 1e6:+.2f} us")
    return "" if more <= MOST_AOT_SECONDS else f"triton-aot's host submit is {more * 1e6:.2f} us above cuda's; 2 us are allowed"


def truncation(client, device):
    expected = {"cublas": ROUNDED, "triton": TRUNCATED, "triton-aot": TRUNCATED}
    _, results, errors = cells.submit(client, "matmul", "tf32", "4096", "--impl", ",".join(expected), "--device", device, "--fresh", "--quick")
    found = {name: result.get("verification", {}).get("relative_error", 0.0) for name, result in by_name(results).items()}
    print("matmul tf32 4096, relative error: " + ", ".join(f"{name} {error:.2e}" for name, error in found.items()))
    if set(found) != set(expected):
        return f"no figure of {', '.join(sorted(set(expected) - set(found)))}: {errors}"
    wrong = [f"{name} {found[name]:.2e}, not {low:.0e} to {high:.0e}" for name, (low, high) in expected.items() if not low < found[name] < high]
    return "; ".join(wrong)


def main():
    client, device = sys.argv[1:3]
    failures = [said for said in (launch_costs(client, device), truncation(client, device)) if said]
    print("\n".join(f"FAILED: {said}" for said in failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
