"""A case of three implementations: how long it takes with warm spares, and how much of that lies inside bursts."""
import statistics
import time

import cells
from repeat import exported
from repeat.spread import Check

MOST_SECONDS = 4.0
BURST_SHARE = 0.5
KERNEL, DTYPE, SIZE = "matmul", "fp16", "4096"
PREFERRED = ["cublas", "cublaslt"]  # first, where they are offered
SETTLE_SECONDS = 5.0  # for the last result to reach the counters


def three_implementations(device_record):
    """The vendor's first, then the others as the worker lists them."""
    offered = [one["name"] for one in device_record.get("implementations", [])
               if one.get("kernel") == KERNEL and DTYPE in one.get("dtypes", []) and not one.get("hidden")]
    return sorted(offered, key=lambda name: PREFERRED.index(name) if name in PREFERRED else len(PREFERRED))[:3]


def burst_seconds(url, device):
    return exported.busy_seconds(exported.fetch(url), device, "burst") or 0.0


def settled_burst_seconds(url, device, before):
    """The counter once it has moved and stands still, or as it is after a while."""
    give_up, last = time.monotonic() + SETTLE_SECONDS, before
    while time.monotonic() < give_up:
        time.sleep(0.3)
        now = burst_seconds(url, device)
        if now > before and now == last:
            return now
        last = now
    return last


def run(client, device, names, url, options, times):
    """(seconds of each submit, burst seconds of each, what went wrong). One submit before them makes the spares warm."""
    walls, bursts, wrong = [], [], []
    for number in range(times + 1):
        before = burst_seconds(url, device)
        start = time.monotonic()
        code, results, errors = cells.submit(client, KERNEL, DTYPE, SIZE, "--impl", ",".join(names), "--device", device, *options)
        wall = time.monotonic() - start
        after = settled_burst_seconds(url, device, before)
        bad = [f"{one.get('implementation')} {cells.outcome(one)}" for one in results if cells.outcome(one) != "OK"]
        if bad or len(results) != len(names):
            wrong.append(f"exit code {code}, {len(results)} results, {bad}: {errors}")
        print(f"pace {number}{' (warms up)' if number == 0 else ''}: {wall:.2f} s, of them {after - before:.2f} s in bursts; "
              f"{', '.join(cells.verdict(one) for one in results)}", flush=True)
        if number > 0:
            walls.append(wall)
            bursts.append(after - before)
    return walls, bursts, wrong


def check(names, walls, bursts, wrong, samples):
    label = f"{KERNEL} {DTYPE} {SIZE} with {', '.join(names) or 'no implementation'}"
    if len(names) < 3:
        return [Check("a case of three implementations", False, f"{label}: three have to be offered")]
    share = statistics.median(burst / wall for burst, wall in zip(bursts, walls)) if walls else 0.0
    gaps, phases = exported.gap_families(samples), exported.phases(samples)
    return [
        Check(f"{label}: every result OK", not wrong, "; ".join(wrong) or f"{len(walls)} submits"),
        Check(f"{label}: at most {MOST_SECONDS:.0f} s with warm spares", bool(walls) and statistics.median(walls) <= MOST_SECONDS,
              f"median {statistics.median(walls):.2f} s, longest {max(walls):.2f} s" if walls else "no submit"),
        Check(f"{label}: at least {BURST_SHARE:.0%} of it inside bursts", share >= BURST_SHARE, f"{share:.0%}"),
        Check("the gap between cases and the share spent measuring are exported", bool(gaps) and "burst" in phases,
              f"{', '.join(gaps) or 'no kbench_*gap*'}; {exported.BUSY} by phase: {', '.join(phases) or 'none'}"),
    ]
