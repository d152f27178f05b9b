"""NVBench's side: the wheel cuda-bench times the same launches, isolated, behind its blocking kernel, each after a memset of the L2 (a dirty
flush). Read from the JSON it writes."""
import json
import pathlib
import tempfile

from stopwatch import child
from stopwatch.study import Reading, SideAbsent, SideError

MODULE = "cuda.bench.cu13._nvbench"
MEDIAN = "nv/cold/time/gpu/median"
CLOCK = "nv/cold/sm_clock_rate/mean"
SAMPLES = "nv/cold/sample_size"
ABSENT = 3  # the target's exit code where the wheel is not installed


def options(path):
    """NVBench's command line: a fixed number of samples or 4 s, whichever comes first; the throttle threshold of 1 % keeps the clock it
    measures and throws nothing away (a card at its power limit is what it is)."""
    return ["--devices", "0", "--json", str(path), "--stopping-criterion", "sample-count", "--target-samples", "1000", "--min-samples", "100",
            "--timeout", "4", "--cold-warmup-runs", "50", "--throttle-threshold", "1"]


def measure(launchers, cells):
    """Readings by the keys of the cells."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "nvbench.json"
        try:
            child.run(child.command("nvbench_target", launchers, path, *(cell.key for cell in cells)))
        except child.ChildFailed as error:
            if error.code == ABSENT:
                raise SideAbsent("the wheel cuda-bench is not installed here: give --wheels DIR to run.sh") from error
            raise
        text = path.read_text(encoding="utf-8") if path.exists() else ""
    return parse(text, cells)


def parse(text, cells):
    """A benchmark a cell, each with one state."""
    try:
        benchmarks = {benchmark["name"]: benchmark for benchmark in json.loads(text)["benchmarks"]}
    except (ValueError, KeyError) as error:
        raise SideError(f"NVBench wrote no results: {text[:200] or 'nothing at all'}") from error
    return {cell.key: _reading(cell, benchmarks.get(cell.key)) for cell in cells}


def _reading(cell, benchmark):
    states = (benchmark or {}).get("states") or []
    if len(states) != 1 or states[0].get("is_skipped"):
        why = states[0].get("skip_reason", "skipped") if states else "no such benchmark"
        raise SideError(f"NVBench has no figure for {cell.label}: {why}")
    summaries = {summary["tag"]: summary for summary in states[0].get("summaries") or []}
    seconds = _value(summaries, MEDIAN)
    if seconds <= 0:
        raise SideError(f"NVBench gives no {MEDIAN} for {cell.label}: it has {', '.join(sorted(summaries))}")
    clock = _value(summaries, CLOCK)
    return Reading(seconds=seconds, cycles=seconds * clock,
                   details={"samples": _value(summaries, SAMPLES), "sm_clock_hertz": clock})


def _value(summaries, tag):
    """Numbers stand in NVBench's JSON as texts."""
    for entry in summaries.get(tag, {}).get("data", []):
        if entry.get("name") == "value" and entry.get("value") is not None:
            return float(entry["value"])
    return 0.0
