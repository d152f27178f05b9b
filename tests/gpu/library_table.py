#!/usr/bin/env python3
"""Our best kernels beside the best library: the rows of library_table.csv, measured now, one case each, paired by round.

    library_table.py CLIENT DEVICE [--only KERNEL]... [--mode cold|steady]... [--dtype DTYPE]... [--size SIZE]... [--budget SECONDS] [--out FOLDER]

Cold rows are measured to the default precision, and once more to 0.9 % where that does not converge; steady ones to 0.9 % at once, because a card at its power
limit swings by more. Prints a Markdown table and what it misses; leaves library_table.json in FOLDER. Exits 1 when a floor is missed or a number is not VALID. --budget ends
the run in time: rows that no longer fit are named and count as missed.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import time

import cells

HERE = pathlib.Path(__file__).parent
COARSE = "0.9%"  # a precision that still gets the full effort: only from 1 % on is a job a quick one
ROOFS = {"read": "read_bandwidth", "copy": "copy_bandwidth"}


class Row:
    """A line of the table: a cell in a mode, with what was found."""

    def __init__(self, wanted, mode):
        self.wanted, self.mode = wanted, mode
        self.ours = self.library = self.ratio = self.low = self.high = self.share = None
        self.verdict = None  # of the two numbers of the ratio: VALID, or those of them that are not
        self.notes = []
        self.target = None  # the precision it was measured to
        self.results = []  # what each implementation measured

    @property
    def title(self):
        return f"{self.wanted['kernel']} {self.wanted['dtype']} {self.wanted['size']}"

    @property
    def trusted(self):
        return self.verdict == "VALID"

    @property
    def holds(self):
        return self.trusted and self.low is not None and self.low >= float(self.wanted["floor"])

    @property
    def reached(self):
        """aim, floor, or what is missing. Numbers that are not VALID reach nothing."""
        if self.low is None:
            return "no figure"
        if not self.trusted:
            return f"nothing: {self.verdict}"
        if self.low < float(self.wanted["floor"]):
            return "BELOW the floor"
        if self.low < float(self.wanted["aim"]):
            return "floor"
        return "aim" if self.share is None or self.share >= float(self.wanted["share"]) else "floor: share of the roof below the aim"


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("client")
    parser.add_argument("device")
    parser.add_argument("--only", action="append", metavar="KERNEL")
    parser.add_argument("--dtype", action="append")
    parser.add_argument("--size", action="append")
    parser.add_argument("--mode", action="append", choices=["cold", "steady"])
    parser.add_argument("--budget", type=float, default=1e9)
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


def wanted_rows(path, kernels=None, modes=None, dtypes=None, sizes=None):
    rows = []
    for mode in ("cold", "steady"):
        for wanted in cells.read_table(path):
            fits = (not kernels or wanted["kernel"] in kernels) and (not dtypes or wanted["dtype"] in dtypes) and \
                (not sizes or wanted["size"] in sizes)
            if fits and mode in wanted["modes"].split("|") and (not modes or mode in modes):
                rows.append(Row(wanted, mode))
    return rows


def fastest(results, names):
    """The fastest result with a time among these implementations, or None."""
    timed = [one for one in results if one.get("implementation") in names and cells.outcome(one) == "OK" and cells.median_seconds(one) > 0]
    return min(timed, key=cells.median_seconds, default=None)


def compare(client, ours, library):
    """The ratio of throughput of two results, and its interval."""
    done = subprocess.run([client, "compare", *(one["name"].removeprefix("results/") for one in (ours, library)), "-o", "json"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    for line in done.stdout.splitlines():
        comparison = json.loads(line).get("compared", {}).get("comparison", {})
        if comparison.get("low", 0) > 0:
            return comparison["speedup"], comparison["low"], comparison["high"]
    raise cells.CellError(f"no comparison of {ours['name']} and {library['name']}: {done.stderr.strip() or done.stdout[:300]}")


def describe(result):
    seconds = cells.median_seconds(result)
    throughput = result.get("throughput", {})
    flops, byte_rate = throughput.get("flops_per_second", 0.0), throughput.get("bytes_per_second", 0.0)
    rate = f"{flops / 1e12:.1f} TFLOP/s" if result["case"]["kernel"] in ("matmul", "attention") else f"{byte_rate / 1e9:.0f} GB/s"
    candidate = result.get("configuration", {}).get("candidate")
    return f"{result['implementation']}{f' ({candidate})' if candidate else ''} {seconds * 1e6:.2f} us, {rate}"


def facts(result):
    """What tells one run from another: the times, how sure they are, what was chosen, what the card did."""
    times, telemetry, configuration = (result.get(field, {}) for field in ("device_time", "telemetry", "configuration"))
    return {"implementation": result.get("implementation"), "outcome": cells.outcome(result), "verdict": cells.verdict(result),
            "reasons": result.get("verdict_reasons", []), **{field: times.get(field) for field in ("median", "low", "high", "rounds", "samples")},
            "candidate": configuration.get("candidate"), "tuned": configuration.get("tuned"), "clock_hertz": telemetry.get("sm_clock_hertz"),
            "power_watts": telemetry.get("power_watts")}


def verdict_of(results):
    """VALID, or the verdicts that are something else."""
    return " ".join(sorted({cells.verdict(one) for one in results} - {"VALID"})) or "VALID"


def measure(client, device, row, roofs, offered):
    """Fills the row. A library that is not offered (torch, where no Python has it) is left out and named."""
    wanted = row.wanted
    ours_names, library_names = wanted["ours"].split("|"), wanted["libraries"].split("|")
    absent = [name for name in library_names if name not in offered.get(wanted["kernel"], ())]
    row.notes += [f"{name} is not offered here" for name in absent]
    named = [name for name in ours_names + library_names if name not in absent]
    results, errors = [], ""
    for target in ("0.5%", COARSE) if row.mode == "cold" else (COARSE,):
        _, results, errors = cells.submit(client, wanted["kernel"], wanted["dtype"], wanted["size"], "--mode", row.mode, "--impl", ",".join(named),
                                          "--device", device, "--fresh", "--target", target)
        if not any("NOT_CONVERGED" in result.get("verdict_reasons", []) for result in results):
            break
        row.notes.append(f"not converged to {target}")
    row.target = target
    row.results = [facts(result) for result in results]
    ours, library = fastest(results, ours_names), fastest(results, library_names)
    for result in results:
        if cells.outcome(result) != "OK":
            row.notes.append(f"{result['implementation']} {cells.outcome(result)}: {result.get('message', '')}")
        elif cells.verdict(result) != "VALID":
            row.notes.append(f"{result['implementation']} {cells.verdict(result)} {' '.join(result.get('verdict_reasons', []))}")
    if ours is None or library is None:
        row.notes.append(errors or "nothing to compare")
        return
    row.verdict = verdict_of([ours, library])
    row.ours, row.library = describe(ours), describe(library)
    row.ratio, row.low, row.high = compare(client, ours, library)
    if wanted["roof"]:
        row.share = ours["throughput"]["bytes_per_second"] / roofs[wanted["roof"]]


def offered_implementations(client, patience=120.0):
    """The names of the implementations of each kernel that the connected devices have. Waits for Python runners that are starting, `patience` seconds at most."""
    deadline = time.monotonic() + patience
    while True:
        done = subprocess.run([client, "kernels", "-o", "json"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True)
        records = [json.loads(line) for line in done.stdout.splitlines()]
        starting = any(record.get("absent", {}).get("framework", {}).get("starting") for record in records)
        if not starting or time.monotonic() >= deadline:
            kernels = [record["kernel"] for record in records if "kernel" in record]
            return {kernel["name"]: {one["name"] for one in kernel.get("implementations", [])} for kernel in kernels}
        time.sleep(1)


def calibrated_roofs(client, device):
    done = subprocess.run([client, "devices", "-o", "json"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True)
    for line in done.stdout.splitlines():
        record = json.loads(line).get("device", {})
        if record.get("name") == device:
            return {word: float(record["calibration"][field]) for word, field in ROOFS.items()}
    raise cells.CellError(f"there is no device {device}")


def markdown(rows):
    lines = ["| cell | mode | to | ours | best library | ratio [interval] | verdict | floor / aim | reached |", "|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        ratio = "-" if row.low is None else f"{row.ratio:.3f} [{row.low:.3f}, {row.high:.3f}]"
        share = "" if row.share is None else f", {row.share:.3f} of the {row.wanted['roof']} roof"
        lines.append(f"| {row.title} | {row.mode} | {row.target or '-'} | {row.ours or '-'}{share} | {row.library or '-'} | {ratio} | {row.verdict or '-'} | "
                     f"{row.wanted['floor']} / {row.wanted['aim']} | {row.reached} |")
    return "\n".join(lines)


def main():
    chosen = options()
    rows = wanted_rows(HERE / "library_table.csv", chosen.only, chosen.mode, chosen.dtype, chosen.size)
    cells.submit(chosen.client, "null", "fp32", "1", "--device", chosen.device)  # waits for the calibration
    roofs = calibrated_roofs(chosen.client, chosen.device)
    begin = time.monotonic()
    offered = offered_implementations(chosen.client)
    for row in rows:
        if time.monotonic() - begin > chosen.budget:
            row.notes.append("not measured: out of time")
            continue
        try:
            measure(chosen.client, chosen.device, row, roofs, offered)
        except (cells.CellError, subprocess.TimeoutExpired) as error:
            row.notes.append(str(error))
        print(f"{row.title} {row.mode}: {row.reached} {row.ratio or 0:.3f} {'; '.join(row.notes)}", flush=True)
    print(markdown(rows))
    if chosen.out:
        record = [{**row.wanted, **{key: value for key, value in vars(row).items() if key != "wanted"}, "reached": row.reached} for row in rows]
        (chosen.out / "library_table.json").write_text(json.dumps({"roofs": roofs, "rows": record}, indent=1), encoding="utf-8")
    missed = [row for row in rows if not row.holds]
    print(f"{len(rows) - len(missed)} of {len(rows)} rows hold their floor with VALID numbers")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
