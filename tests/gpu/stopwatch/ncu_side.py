"""Nsight Compute's side: gpu__time_duration of the same launches, caches flushed before every kernel, clocks left alone. A launch of several
kernels counts as the sum of theirs (what lies between them is not in it)."""
import csv
import pathlib
import shutil
import statistics
import tempfile

from stopwatch import child
from stopwatch.study import Reading, SideError

DURATION = "gpu__time_duration.sum"
CYCLES = "sm__cycles_elapsed.max"
LAUNCHES = 18  # of each cell
WARM = 3       # of them looked at by nobody
MARKER = "NullKernel"  # stands before, between and after the cells
SECONDS = {"ns": 1e-9, "nsecond": 1e-9, "us": 1e-6, "usecond": 1e-6, "ms": 1e-3, "msecond": 1e-3, "s": 1.0, "second": 1.0}


def measure(ncu, launchers, cells):
    """Readings by the keys of the cells."""
    return readings(profile(ncu, child.command("ncu_target", launchers, LAUNCHES, *(cell.key for cell in cells))), cells)


def profile(ncu, target):
    """The kernels that a program runs between cudaProfilerStart and -Stop, see parse()."""
    path = find(ncu)
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "ncu.csv"
        child.run([path, "--target-processes", "all", "--profile-from-start", "off", "--cache-control", "all", "--clock-control", "none",
                   "--metrics", f"{DURATION},{CYCLES}", "--csv", "--print-units", "base", "--log-file", str(log), *target])
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    return parse(text)


def find(ncu):
    """On the PATH, or where the toolkit and the profiler's own package put it."""
    places = sorted(pathlib.Path("/opt/nvidia/nsight-compute").glob("*/ncu"), reverse=True)
    for place in (ncu, "/usr/local/cuda/bin/ncu", *map(str, places)):
        if path := shutil.which(place):
            return path
    raise SideError(f"{ncu} is not installed here: give --ncu PATH")


def parse(text):
    """The kernels of `ncu --csv` in the order they ran: {"name", "metrics"}, times in seconds. Reads one line a metric (the page "details")
    and one line a kernel (the page "raw"); lines before the header are ncu's own words."""
    rows = [row for row in csv.reader(text.splitlines()) if row]
    start = next((i for i, row in enumerate(rows) if row[0] == "ID" and "Kernel Name" in row), None)
    if start is None:
        raise SideError(f"ncu printed no table of kernels: {text[-1500:].strip() or 'nothing at all'}")
    header = rows[start]
    table = [dict(zip(header, row)) for row in rows[start + 1:] if len(row) == len(header)]
    long_form = "Metric Name" in header
    return _long(table) if long_form else _wide(table)


def _long(table):
    kernels = {}
    for row in table:
        kernel = kernels.setdefault(int(row["ID"]), {"name": row["Kernel Name"], "metrics": {}})
        _add(kernel["metrics"], row["Metric Name"], row["Metric Unit"], row["Metric Value"])
    return [kernels[number] for number in sorted(kernels)]


def _wide(table):
    units = table[0] if table and not table[0]["ID"] else {}
    kernels = []
    for row in table:
        if not row["ID"]:
            continue
        kernel = {"name": row["Kernel Name"], "metrics": {}}
        for metric in (DURATION, CYCLES):
            if metric in row:
                _add(kernel["metrics"], metric, units.get(metric, ""), row[metric])
        kernels.append(kernel)
    return kernels


def _add(metrics, name, unit, value):
    try:
        number = float(value.replace(",", ""))
    except ValueError:
        return  # "n/a": the device has no such counter
    if name == DURATION:
        if unit not in SECONDS:
            raise SideError(f"ncu gives {name} in '{unit}', which is none of {', '.join(SECONDS)}")
        number *= SECONDS[unit]
    metrics[name] = number


def readings(kernels, cells, launches=LAUNCHES, warm=WARM, marker=MARKER):
    """The kernels between two markers belong to one cell, in the cells' order; as many to every launch."""
    marks = [i for i, kernel in enumerate(kernels) if marker in kernel["name"]]
    if len(marks) != len(cells) + 1:
        raise SideError(f"ncu saw {len(kernels)} kernels and {len(marks)} markers, where {len(cells)} cells have {len(cells) + 1}")
    found = {}
    for cell, begin, end in zip(cells, marks, marks[1:]):
        found[cell.key] = _reading(cell, kernels[begin + 1:end], launches, warm)
    return found


def _reading(cell, kernels, launches, warm):
    each, left = divmod(len(kernels), launches)
    if each == 0 or left:
        raise SideError(f"{launches} launches of {cell.label} are no whole number of kernels each: ncu saw {len(kernels)}")
    durations, cycles = [], []
    for i in range(warm, launches):
        metrics = [kernel["metrics"] for kernel in kernels[i * each:(i + 1) * each]]
        if not all(metric.get(DURATION, 0) > 0 for metric in metrics):
            raise SideError(f"ncu has no {DURATION} of {cell.label}")
        durations.append(sum(metric[DURATION] for metric in metrics))
        cycles.append(sum(metric.get(CYCLES, 0.0) for metric in metrics))
    names = [kernel["name"] for kernel in kernels[:each]]
    return Reading(seconds=statistics.median(durations), cycles=statistics.median(cycles), details={"kernels": names, "durations": durations})
