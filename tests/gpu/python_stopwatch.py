#!/usr/bin/env python3
"""kbench's times of torch and Triton cells against Nsight Compute (a launch of one kernel) and a CUPTI span (of several): the same implementation
and candidate, over data of the same kind, in the same minutes. Prints a markdown table and exits 1 if a row does not hold.

    python_stopwatch.py CLIENT DEVICE [--turns 1] [--ncu PATH] [--cell KEY]...
"""
import argparse
import sys

import cells as jobs
from stopwatch import checks, child, cupti_side, kbench_side, ncu_side, python_study, table
from stopwatch.study import SideError, middle

NCU_MARKER = cupti_side.SPIN
COLUMNS = ["cell (us)", "kernels", "kbench", "less event cost", "ncu", "CUPTI span", "what must hold", ""]


def submit(client, device, cells):
    """(readings, candidates) by the cells' keys; cells of one problem are one job."""
    readings, candidates = {}, {}
    for problem in dict.fromkeys((cell.kernel, cell.dtype, cell.size) for cell in cells):
        mine = {cell.implementation: cell for cell in cells if (cell.kernel, cell.dtype, cell.size) == problem}
        code, results, errors = jobs.submit(client, *problem, "--impl", ",".join(mine), "--device", device, "--fresh")
        for result in results:
            cell = mine.get(result.get("implementation"))
            if cell is not None and jobs.outcome(result) == "OK" and jobs.verified(result) and jobs.median_seconds(result) > 0:
                readings[cell.key] = kbench_side.reading_of(result)
                candidates[cell.key] = result.get("configuration", {}).get("candidate", "")
            else:
                print(f"{' '.join(problem)} {result.get('implementation')}: {jobs.outcome(result)} {result.get('message', '')}", flush=True)
        if not results:
            print(f"{' '.join(problem)}: exit code {code}, {errors}", flush=True)
    return readings, candidates


def ncu(path, cells, candidates):
    words = [f"{cell.key}={candidates[cell.key]}" for cell in cells]
    kernels = ncu_side.profile(path, child.command("python_target", "ncu", ncu_side.LAUNCHES, *words))
    return ncu_side.readings(kernels, cells, marker=NCU_MARKER)


def turn(options, cells):
    """{cell's key: {side: Reading}}; a cell that kbench has no figure of is left out."""
    ours, candidates = submit(options.client, options.device, cells)
    here = [cell for cell in cells if cell.key in ours]
    sides = {cell.key: {"clean": ours[cell.key]} for cell in here}
    for name, measure in (("ncu", lambda: ncu(options.ncu, here, candidates)), ("cupti", lambda: cupti_side.measure(here, candidates))):
        try:
            for key, reading in measure().items():
                sides[key][name] = reading
        except SideError as error:
            print(f"{name} FAILED: {error}", flush=True)
    return sides


def check(cell, sides, event_cost):
    """A launch of one kernel is held against Nsight Compute, one of several against CUPTI's span."""
    single = len(sides.get("ncu", sides["clean"]).details.get("kernels", [])) == 1
    if single or "cupti" not in sides:
        return checks.near_ncu(cell, sides, event_cost)
    # CUPTI tells no cycles: at the power limit two runs have two clocks.
    return checks.near_span(cell, sides, event_cost)


def row(cell, sides, event_cost, found):
    texts = {name: table.microseconds(reading.seconds) for name, reading in sides.items()}
    kernels = sides["ncu"].details["kernels"] if "ncu" in sides else []
    return table.line([f"{cell.label} {cell.implementation}", str(len(kernels) or "?"), texts["clean"],
                       table.microseconds(sides["clean"].seconds - event_cost), texts.get("ncu", "-"), texts.get("cupti", "-"),
                       f"{found.name}: {found.figure}", table.WORDS[found.passed]])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("client")
    parser.add_argument("device")
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--ncu", default="ncu")
    parser.add_argument("--cell", action="append", default=[])
    options = parser.parse_args()
    cells = python_study.cells_of(options.cell)
    turns = [turn(options, cells) for _ in range(options.turns)]
    event_cost, _ = kbench_side.event_cost(options.client, options.device)
    lines, failed = [table.line(COLUMNS), table.line(["---"] * len(COLUMNS))], 0
    for cell in cells:
        readings = [sides[cell.key] for sides in turns if cell.key in sides]
        if not readings:
            failed += 1
            lines.append(table.line([f"{cell.label} {cell.implementation}", *["-"] * 5, "kbench has a figure", table.WORDS[False]]))
            continue
        merged = {name: middle([one[name] for one in readings if name in one]) for name in {name for one in readings for name in one}}
        if "ncu" in merged:
            merged["ncu"].details = next(one["ncu"].details for one in readings if "ncu" in one)
        found = check(cell, merged, event_cost)
        failed += found.passed is not True
        lines.append(row(cell, merged, event_cost, found))
    print(f"Event cost {event_cost * 1e6:.2f} us.\n\n" + "\n".join(lines), flush=True)
    print(f"{len(cells) - failed} hold, {failed} do not")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
