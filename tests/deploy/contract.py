"""The series that the coordinator promises: server/metrics/README.md, read."""
import pathlib
import re
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).parents[2]
README = ROOT / "server" / "metrics" / "README.md"
RESULT_LABELS = ("kernel", "implementation", "dtype", "size", "mode", "device")
SERIES = re.compile(r"`(kbench_[a-z0-9_]+)`")


@dataclass(frozen=True)
class Family:
    name: str
    kind: str  # gauge, counter, histogram
    labels: frozenset


def _labels(name, section, cells):
    """Second column; in the section of results it is the unit, and the labels are the same for all but the counter."""
    if section != "Results":
        return frozenset(re.findall(r"`([a-z_]+)`", cells[1]))
    if name.endswith("_total"):
        return frozenset()
    return frozenset(RESULT_LABELS) | frozenset(re.findall(r"state set `([a-z]+)`", cells[2]))


def _kind(name, text):
    if name.endswith("_total"):
        return "counter"
    return "histogram" if re.match(r"histograms?\b", text) else "gauge"


def families():
    """{name: Family} of every table row that begins with a series."""
    found, section = {}, ""
    for line in README.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line[3:]
        if not line.startswith("| `kbench_"):
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        for name in SERIES.findall(cells[0]):
            assert name not in found, f"{name} stands twice in {README}"
            found[name] = Family(name, _kind(name, cells[2]), _labels(name, section, cells))
    return found


def series_names():
    """As an expression may name them: a histogram has three."""
    names = set()
    for family in families().values():
        names |= {f"{family.name}_{part}" for part in ("bucket", "sum", "count")} if family.kind == "histogram" else {family.name}
    return names
