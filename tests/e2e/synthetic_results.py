"""Results of a GPU that there is not, as `-o json` writes them: every number follows from a few lines of arithmetic, so a test can say what the report
must find in them. Nothing here was measured.

    python3 tests/e2e/synthetic_results.py > made_up.jsonl
"""
import json
import math
import random

DEVICE = "Synthetic GPU"
BANDWIDTH = 4e12  # the roof, byte/s
PEAK_BANDWIDTH = 5e12
FLOPS = {"fp32": 50e12, "tf32": 350e12, "fp16": 700e12}  # roofs
PEAK = {dtype: 1.25 * flops for dtype, flops in FLOPS.items()}
NULL_KERNEL = 2.5e-6
ROUNDS = 12

# implementation: (share of the roof, host submit, launches, what a call costs beyond submit and device)
COSTS = {
    "cuda": (0.98, 3e-6, 6e-6),
    "library": (1.00, 3.5e-6, 6.5e-6),
    "torch": (0.93, 8e-6, 7e-6),
    "triton": (0.94, 28e-6, 7e-6),
    "triton-aot": (0.94, 3.4e-6, 6e-6),
}
NAMES = {
    "sum": {"cuda": "cuda/vectorized", "library": "cub", "torch": "torch", "triton": "triton", "triton-aot": "triton-aot"},
    "softmax": {"cuda": "cuda/registers", "library": "cudnn", "torch": "torch", "triton": "triton", "triton-aot": "triton-aot"},
    "matmul": {"cuda": "cuda/wgmma", "library": "cublas", "torch": "torch", "triton": "triton", "triton-aot": "triton-aot"},
    "attention": {"cuda": "cuda/flash-wgmma", "library": "cudnn", "torch": "torch/flash", "triton": "triton", "triton-aot": "triton-aot"},
    "chain": {"cuda": "cuda/fused", "library": None, "torch": "torch/compile", "triton": "triton", "triton-aot": "triton-aot"},
}


def cases():
    for power in range(16, 31, 2):
        yield "sum", "fp32", f"n={2**power}", 2**power, 4 * 2**power
    for rows in (16, 64, 256, 1024, 4096, 16384, 65536):
        yield "softmax", "fp32", f"rows={rows},cols=4096", 5 * rows * 4096, 8 * rows * 4096
    for dtype in ("tf32", "fp16"):
        for m in (256, 512, 1024, 2048, 4096, 8192):
            yield "matmul", dtype, f"m={m},n={m},k={m},layout=nn", 2 * m**3, 3 * m * m * (2 if dtype == "fp16" else 4)
    for dtype in ("fp32", "fp16"):
        for s in (512, 1024, 2048, 4096, 8192, 16384):
            yield "attention", dtype, f"b=1,h=16,s={s},d=64", 4 * 16 * s * s * 64, 4 * 16 * s * 64 * (2 if dtype == "fp16" else 4)
    for depth in (1, 4, 16, 64):
        yield "chain", "fp32", f"n=1048576,depth={depth}", depth * 2**20, 8 * 2**20
    for power in range(10, 27, 2):
        yield "chain", "fp32", f"n={2**power},depth=30", 30 * 2**power, 8 * 2**power


def share(role, kernel, dtype, flops, noise):
    base = COSTS[role][0]
    if kernel == "matmul" and role.startswith("triton"):
        base = 1.06 if dtype == "fp16" else 0.6  # ahead of the library, and truncating TF32 through registers
    if kernel == "attention" and dtype == "fp32" and role == "torch":
        base = 0.4
    return base * (1 + 0.001 * noise)


def distribution(median, rounds):
    ordered = sorted(rounds)
    return {"median": median, "low": ordered[2], "high": ordered[-3], "confidence": 0.95, "rounds": len(rounds), "samples": 20 * len(rounds),
            "history_low": ordered[2] * 0.994, "history_high": ordered[-3] * 1.006}


def result(index, cell, case, role, name, rng):
    kernel, dtype, shape, flops, size = case
    submit, rest = COSTS[role][1:]
    ideal = max(size / BANDWIDTH, flops / FLOPS[dtype])
    # Small work does not fill the device.
    device = NULL_KERNEL + ideal / share(role, kernel, dtype, flops, rng.uniform(-1, 1)) * (1 + 0.4 * math.exp(-ideal / 2e-5) * (role == "triton"))
    rounds = [device * (1 + 0.002 * rng.gauss(0, 1)) for _ in range(ROUNDS)]
    device = sorted(rounds)[ROUNDS // 2 - 1] / 2 + sorted(rounds)[ROUNDS // 2] / 2
    time = distribution(device, rounds) | {"round_medians": rounds, "round_numbers": list(range(ROUNDS)), "round_clocks": [1.755e9] * ROUNDS}
    calls = [device + submit + rest + 3e-7 * abs(rng.gauss(0, 1)) for _ in range(7)]
    compute = flops / FLOPS[dtype] > size / BANDWIDTH
    regime = "launch-bound" if submit > device or NULL_KERNEL > device / 2 else "compute-bound" if compute else "memory-bound"
    error = {"fp32": 2e-7, "tf32": 7.8e-4 if role.startswith("triton") else 3e-4, "fp16": 2.1e-4}[dtype]
    return {
        "name": f"results/made0up1-{index}-{cell}", "job": "jobs/made0up1", "case_index": index, "attempt": 1, "implementation": name,
        "case": {"kernel": kernel, "dtype": dtype, "size": shape, "mode": "cold", "shape": shape}, "device": "gpu0", "outcome": "OUTCOME_OK",
        "verdict": "VERDICT_VALID", "device_time": time,
        "host_submit_time": distribution(submit, [submit * (1 + 0.02 * rng.gauss(0, 1)) for _ in range(ROUNDS)]),
        "end_to_end_seconds": sorted(calls)[3],
        "end_to_end_time": {"median": sorted(calls)[3], "low": min(calls), "high": max(calls), "confidence": 0.95, "samples": 7, "rounds": 7},
        "throughput": {"flops": flops, "bytes": size, "flops_per_second": flops / device, "bytes_per_second": size / device,
                       "peak_flops_ratio": flops / device / PEAK[dtype], "roof_flops_ratio": flops / device / FLOPS[dtype],
                       "peak_bandwidth_ratio": size / device / PEAK_BANDWIDTH, "roof_bandwidth_ratio": size / device / BANDWIDTH},
        "regime": regime, "regime_reason": "made up", "verification": {"verified": True, "relative_error": error, "tolerance": 1e-3},
        "telemetry": {"sm_clock_hertz": 1.755e9}, "null_kernel_seconds": NULL_KERNEL, "event_floor_seconds": 1.3e-6,
        "compile_seconds": 0.8 if role == "triton" else 0, "autotune_seconds": 1.7 if role == "triton" and kernel == "matmul" else 0,
        "first_call_seconds": 0.9 if role == "triton" else 0.01, "create_time": f"2026-11-30T20:{index // 2:02d}:00Z",
        "environment": {"device_name": DEVICE, "device_uuid": "GPU-made-up", "driver": "0.0", "kbench_version": "0.1.0", "engine_version": "made up",
                        "hostname": "nowhere", "libraries": {"torch": "0.0"}, "settings": {"power_limit_watts": "700", "ecc": "on"}},
    }


def results(seed=1):
    rng = random.Random(seed)
    for index, case in enumerate(cases()):
        cell = 0
        for role, name in NAMES[case[0]].items():
            if name is not None:
                yield result(index, cell, case, role, name, rng)
                cell += 1


if __name__ == "__main__":
    for one in results():
        print(json.dumps({"result": one}))
