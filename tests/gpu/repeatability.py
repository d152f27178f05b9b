#!/usr/bin/env python3
"""Whether kbench says the same thing twice: twenty separate submits of two cells, A/A pairs and a fixture with 2 % more work (selftest), and
how long a case of three implementations takes. Prints what must hold, and leaves everything in OUT/repeatability.json and
OUT/repeatability.md. Exits 1 if anything does not hold.

    repeatability.py CLIENT DEVICE [--only spread|selftest|pace]... [--submits 20] [--pairs 100] [--out DIR]
"""
import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import time

import cells
from repeat import exported, pace, selftest, spread
from stopwatch import kbench_side
from stopwatch.study import SideError

CELLS = [("matmul", "bf16", "4096", "cublas"), ("sum", "fp32", "2^26", "cuda/naive")]
ENOUGH_CANARIES = 5


def wait_for_canaries(options):
    """History intervals rest on canaries, which the worker runs while the device is idle. Returns how many there are in the end."""
    give_up = time.monotonic() + options.canary_wait
    while True:
        calibration = kbench_side.device_record(options.client, options.device).get("calibration", {})
        canaries = int(calibration.get("canaries", 0))
        if canaries >= ENOUGH_CANARIES or time.monotonic() > give_up:
            break
        time.sleep(1)
    print(f"{canaries} canaries, between-session deviation {calibration.get('between_session_ratio', 0.0):.3%}"
          f"{'' if canaries >= ENOUGH_CANARIES else f' (waited {options.canary_wait:.0f} s for {ENOUGH_CANARIES}: the prior stands in)'}", flush=True)
    return canaries


def run_spread(options, record):
    record["canaries"] = wait_for_canaries(options)
    runs = {cell: [] for cell in CELLS}
    for number in range(options.submits):
        for cell in CELLS:  # in turns
            kernel, dtype, size, implementation = cell
            code, results, errors = cells.submit(options.client, kernel, dtype, size, "--impl", implementation, "--device", options.device,
                                                 *options.fresh)
            mine = [one for one in results if one.get("implementation") == implementation and cells.outcome(one) == "OK"]
            if len(mine) != 1:
                print(f"{number} {' '.join(cell)}: no figure (exit code {code}): {errors}", flush=True)
                continue
            note = " ".join([cells.verdict(mine[0]), *mine[0].get("verdict_reasons", [])])
            runs[cell].append(spread.Run.of(mine[0], note))
            last = runs[cell][-1]
            print(f"{number} {' '.join(cell)}: {last.median * 1e6:.2f} us, history {last.history_low * 1e6:.2f} to "
                  f"{last.history_high * 1e6:.2f}, {note}", flush=True)
    record["spread"] = {" ".join(cell): [dataclasses.asdict(one) for one in found] for cell, found in runs.items()}
    return [check for cell, found in runs.items() for check in spread.check(" ".join(cell), found, options.submits)]


def run_selftest(options, record):
    """The client's own self-test; its output is kept as it is."""
    argv = [options.client, "selftest", "--pairs", str(options.pairs), "-o", "json"]
    if kbench_side.has_option(options.client, "selftest", "--device"):
        argv += ["--device", options.device]
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=options.selftest_timeout, check=False)
    except subprocess.TimeoutExpired as error:
        record["selftest"] = (error.stdout or b"").decode(errors="replace")
        return [spread.Check("selftest", False, f"it had not ended after {options.selftest_timeout:.0f} s")]
    record["selftest"] = done.stdout
    print(done.stdout.rstrip(), flush=True)
    ended = spread.Check("selftest ends with exit code 0", done.returncode == 0,
                         f"exit code {done.returncode}{' (the client has no such verb or option?)' if done.returncode == 2 else ''}: "
                         f"{done.stderr.strip()[-500:]}")
    return [ended, *selftest.check(done.stdout, options.pairs)]


def run_pace(options, record):
    names = options.implementations or pace.three_implementations(kbench_side.device_record(options.client, options.device))
    if len(names) < 3:
        return pace.check(names, [], [], [], [])
    url = options.metrics or exported.address()
    walls, bursts, wrong = pace.run(options.client, options.device, names, url, options.fresh, options.pace_submits)
    record["pace"] = {"implementations": names, "wall_seconds": walls, "burst_seconds": bursts}
    return pace.check(names, walls, bursts, wrong, exported.fetch(url))


PARTS = {"spread": run_spread, "selftest": run_selftest, "pace": run_pace}


def parse_arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("client")
    parser.add_argument("device")
    parser.add_argument("--only", action="append", choices=PARTS, default=[])
    parser.add_argument("--submits", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--pace-submits", type=int, default=5)
    parser.add_argument("--implementations", type=lambda text: text.split(","), help="three of matmul fp16 (default: as the worker lists them)")
    parser.add_argument("--metrics", help="the address of /metrics (default: where `kbench-client up` noted it)")
    parser.add_argument("--canary-wait", type=float, default=120, help="seconds")
    parser.add_argument("--selftest-timeout", type=float, default=540, help="seconds")
    parser.add_argument("--out", default=os.environ.get("OUT", "."))
    return parser.parse_args(argv)


def main():
    options = parse_arguments(sys.argv[1:])
    options.fresh = kbench_side.fresh_options(options.client)
    print(f"submits with {' '.join(options.fresh) or 'no --fresh: the client has none'}")
    record, found = {}, []
    for name in options.only or PARTS:
        try:
            found += PARTS[name](options, record)
        except (cells.CellError, SideError, OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
            found.append(spread.Check(name, False, f"{type(error).__name__}: {error}"))
    text = table(found)
    folder = pathlib.Path(options.out)
    record["checks"] = [dataclasses.asdict(check) for check in found]
    (folder / "repeatability.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    (folder / "repeatability.md").write_text(text, encoding="utf-8")
    print(f"\n{text}")
    failed = sum(not check.passed for check in found)
    print(f"{len(found) - failed} hold, {failed} do not")
    return 1 if failed or not found else 0


def table(found):
    lines = ["| what must hold | figure | |", "| --- | --- | --- |"]
    lines += [f"| {check.name} | {check.figure} | {'pass' if check.passed else '**FAIL**'} |" for check in found]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
