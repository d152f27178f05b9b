"""CUPTI's side, through torch's profiler: from the beginning of a launch's first kernel to the end of its last, which is what kbench's events
enclose where a launch has several. Standard library only."""
import statistics

from stopwatch import child
from stopwatch.study import Reading, SideError

LAUNCHES = 18  # of each cell
WARM = 3       # of them looked at by nobody
SPIN = "spin_kernel"  # torch.cuda._sleep: before a launch, and behind it


def spans(kernels, launches):
    """Seconds of each launch; `kernels`: (begin, end in nanoseconds, name) in the order they ran. A launch lies between the first and the second
    spin kernel of each pair; what is outside of pairs is flushing."""
    marks = [at for at, (_, _, name) in enumerate(kernels) if SPIN in name]
    if len(marks) != 2 * launches:
        raise SideError(f"CUPTI saw {len(kernels)} kernels and {len(marks)} spin kernels, where {launches} launches have {2 * launches}")
    found = []
    for first, last in zip(marks[::2], marks[1::2]):
        inside = kernels[first + 1:last]
        if not inside:
            raise SideError("CUPTI saw no kernel between two spin kernels")
        found.append((max(end for _, end, _ in inside) - inside[0][0]) * 1e-9)
    return found


def measure(cells, candidates):
    """Readings by the keys of the cells; `candidates` by the same."""
    words = [f"{cell.key}={candidates.get(cell.key, '')}" for cell in cells]
    return readings(child.run(child.command("python_target", "cupti", LAUNCHES, *words)), cells)


def readings(text, cells):
    found = {line["cell"]: line["seconds"] for line in child.json_lines(text) if "cell" in line}
    for cell in cells:
        if len(found.get(cell.key, [])) <= WARM:
            raise SideError(f"no figure for {cell.label}: {text[-500:]}")
    return {key: Reading(seconds=statistics.median(seconds[WARM:]), details={"seconds": seconds}) for key, seconds in found.items()}
