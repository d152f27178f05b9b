#!/usr/bin/env python3
"""kbench's cublas against torch.matmul, fp16 4096, in the same minutes. Torch is timed as kbench times
(torch_stopwatch.py). Both are run in turns; the ratio of the two medians must be within 3 %.

    torch_compare.py CLIENT DEVICE [TURNS]
"""
import statistics
import sys

import cells
import torch
from torch_stopwatch import TorchStopwatch, uniform

LIMIT = 0.03
SIZE = 4096


def kbench_median(client, device):
    code, results, errors = cells.submit(client, "matmul", "fp16", str(SIZE), "--impl", "cublas", "--device", device)
    for result in results:
        if result.get("implementation") == "cublas" and cells.outcome(result) == "OK":
            return cells.median_seconds(result), " ".join([cells.verdict(result), *result.get("verdict_reasons", [])])
    raise cells.CellError(f"kbench gave no cublas result (exit code {code}): {errors or results}")


def main():
    client, device = sys.argv[1:3]
    turns = int(sys.argv[3]) if len(sys.argv) > 3 else 4
    print(f"torch {torch.__version__}, CUDA {torch.version.cuda}, {torch.cuda.get_device_name()}")
    a, b = (uniform(SIZE, SIZE, dtype=torch.float16, seed=seed) for seed in (1, 2))
    c = torch.empty_like(a)
    stopwatch = TorchStopwatch(lambda: torch.matmul(a, b, out=c))
    stopwatch.burst()
    print(f"one flush takes {stopwatch.flush_seconds * 1e6:.0f} us, a burst is blocked for {stopwatch.block_cycles / 1e6:.0f} M cycles")
    ours, theirs = [], []
    for turn in range(turns):
        theirs.append(stopwatch.median())
        seconds, word = kbench_median(client, device)
        ours.append(seconds)
        print(f"turn {turn}: torch {theirs[-1] * 1e6:.2f} us, kbench cublas {seconds * 1e6:.2f} us ({word})", flush=True)
    theirs.append(stopwatch.median())
    torch_seconds, kbench_seconds = statistics.median(theirs), statistics.median(ours)
    ratio = kbench_seconds / torch_seconds
    rate = 2.0 * SIZE**3
    print(f"torch  {torch_seconds * 1e6:.2f} us  {rate / torch_seconds / 1e12:.1f} TFLOP/s")
    print(f"kbench {kbench_seconds * 1e6:.2f} us  {rate / kbench_seconds / 1e12:.1f} TFLOP/s")
    print(f"ratio kbench/torch {ratio:.4f}: {'within' if abs(ratio - 1) <= LIMIT else 'NOT within'} {LIMIT:.0%}")
    return 0 if abs(ratio - 1) <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
