#!/usr/bin/env python3
"""kbench's stopwatch against Nsight Compute, NVBench, do_bench and a plain loop: the same kernels over the same data, in turns in the same
minutes. Prints two markdown tables (times; what must hold) and leaves them with every reading in OUT/stopwatch.md and OUT/stopwatch.json.
Exits 1 if anything does not hold.

    stopwatch_compare.py CLIENT DEVICE LAUNCHERS [--turns 3] [--steady-turns 1] [--require-nvbench] [--ncu PATH] [--out DIR] [--cell KEY]...
"""
import argparse
import dataclasses
import json
import os
import pathlib
import sys
import time

from stopwatch import checks, kbench_side, loop_sides, ncu_side, nvbench_side, table
from stopwatch.study import SideAbsent, SideError, cells_of, middle


class Comparison:
    """All readings, and what went wrong. A side that fails in one turn may still answer in the next."""

    def __init__(self, options):
        self.options = options
        self.cells = cells_of(options.cell)
        self.readings = {cell.key: {} for cell in self.cells}
        self.errors = []
        self.nvbench_absent = False

    def run(self):
        sides = [("clean", lambda: self.submits("--flush", "clean")), ("ncu", self.ncu), ("dirty", lambda: self.submits("--flush", "dirty")),
                 ("nvbench", self.nvbench), ("do_bench", self.do_bench)]
        for turn in range(self.options.turns):
            for name, measure in sides if turn % 2 == 0 else reversed(sides):
                self.side(f"turn {turn}: {name}", name, measure)
        for turn in range(self.options.steady_turns):
            for cell in self.cells:
                self.side(f"turn {turn}: steady {cell.key}", "steady", lambda one=cell: {one.key: self.submit(one, "--mode", "steady")})
                self.side(f"turn {turn}: loop {cell.key}", "loop", lambda one=cell: {one.key: loop_sides.loop(self.options.launchers, one)})

    def side(self, title, name, measure):
        start = time.monotonic()
        try:
            found = measure()
        except SideAbsent as error:
            self.nvbench_absent = not self.options.require_nvbench
            self.fail(title, error)
            return
        except SideError as error:
            self.fail(title, error)
            return
        for key, reading in found.items():
            self.readings[key].setdefault(name, []).append(reading)
        figures = ", ".join(f"{key} {reading.seconds * 1e6:.2f}{' ' + reading.note if reading.note else ''}" for key, reading in found.items())
        print(f"{title} ({time.monotonic() - start:.1f} s), us: {figures}", flush=True)

    def fail(self, title, error):
        self.errors.append(f"{title}: {error}")
        print(f"{title} FAILED: {error}", flush=True)

    def submit(self, cell, *options):
        return kbench_side.measure(self.options.client, self.options.device, cell, *self.options.fresh, *options)

    def submits(self, *options):
        found = {}
        for cell in self.cells:
            try:
                found[cell.key] = self.submit(cell, *options)
            except SideError as error:
                self.fail(f"{cell.key} {' '.join(options)}", error)
        return found

    def ncu(self):
        return ncu_side.measure(self.options.ncu, self.options.launchers, self.cells)

    def nvbench(self):
        return {} if self.nvbench_absent else nvbench_side.measure(self.options.launchers, self.cells)

    def do_bench(self):
        return loop_sides.do_bench(self.options.launchers, self.cells)

    def event_cost(self):
        try:
            return kbench_side.event_cost(self.options.client, self.options.device)
        except SideError as error:
            self.fail("calibration", error)
            return 0.0, {}


def parse_arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("client")
    parser.add_argument("device", help="the device's name, gpu0; the other sides take CUDA's first device")
    parser.add_argument("launchers", help="libkbench-launchers.so")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--steady-turns", type=int, default=1)
    parser.add_argument("--require-nvbench", action="store_true")
    parser.add_argument("--ncu", default="ncu")
    parser.add_argument("--out", default=os.environ.get("OUT", "."))
    parser.add_argument("--cell", action="append", default=[])
    return parser.parse_args(argv)


def main():
    options = parse_arguments(sys.argv[1:])
    options.fresh = kbench_side.fresh_options(options.client)
    comparison = Comparison(options)
    before, _ = comparison.event_cost()
    print(f"event cost {before * 1e6:.2f} us, {options.turns} turns, submits with {' '.join(options.fresh) or 'no --fresh: the client has none'}")
    comparison.run()
    event_cost, calibration = comparison.event_cost()
    by_cell = {key: {name: middle(turns) for name, turns in sides.items()} for key, sides in comparison.readings.items()}
    found = [check for cell in comparison.cells
             for check in checks.check_cell(cell, by_cell[cell.key], event_cost, comparison.nvbench_absent)]
    text = f"Event cost {event_cost * 1e6:.2f} us.\n\n{table.results(comparison.cells, by_cell, event_cost)}\n\n{table.checks(found)}\n"
    write(pathlib.Path(options.out), text, comparison, found, {"event_cost_seconds": event_cost, "calibration": calibration})
    print(f"\n{text}")
    failed = [check for check in found if check.passed is False]
    print(f"{sum(check.passed is True for check in found)} hold, {len(failed)} do not, {sum(check.passed is None for check in found)} not compared;"
          f" {len(comparison.errors)} failures of a side")
    return 1 if failed or not found else 0


def write(folder, text, comparison, found, record):
    (folder / "stopwatch.md").write_text(text, encoding="utf-8")
    record["readings"] = {key: {name: [dataclasses.asdict(turn) for turn in turns] for name, turns in sides.items()}
                          for key, sides in comparison.readings.items()}
    record["checks"] = [dataclasses.asdict(check) for check in found]
    record["errors"] = comparison.errors
    (folder / "stopwatch.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
