"""What ncu and CUPTI look at of a cell of torch's or Triton's: LAUNCHES launches over operands of its own, with the candidate that kbench chose.

    python3 -m stopwatch.python_target ncu LAUNCHES KEY=CANDIDATE...      one launch at a time, a spin kernel between the cells
    python3 -m stopwatch.python_target cupti LAUNCHES KEY=CANDIDATE...    each behind a clean flush and a spin kernel; a JSON line a cell

Needs nothing else of kbench than kernels/python.
"""
import importlib
import json
import pathlib
import pkgutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "kernels" / "python"), str(ROOT / "tests" / "kernels" / "python")]

import torch  # noqa: E402

import kernel_problems as kp  # noqa: E402
from kbench_kernels.implementation import Context, Problem  # noqa: E402
from stopwatch import cupti_side, python_study  # noqa: E402

BLOCK_CYCLES = 2_000_000  # longer than the host takes to enqueue a launch of thirty kernels


def implementation_of(cell):
    family = cell.implementation.split("/", 1)[0]
    package = importlib.import_module(f"kbench_kernels.{family}")
    for found in pkgutil.iter_modules(package.__path__):
        for one in importlib.import_module(f"kbench_kernels.{family}.{found.name}").IMPLEMENTATIONS:
            if (one.name, one.kernel) == (cell.implementation, cell.kernel):
                return one
    raise SystemExit(f"there is no {cell.implementation} of {cell.kernel}")


def plain(size):
    """64Mi and 2^28 in digits."""
    base, power, exponent = size.partition("^")
    if power:
        return str(int(base) ** int(exponent))
    return str(int(size[:-2]) << 20) if size.endswith("Mi") else size


def prepare(cell, candidate):
    properties = torch.cuda.get_device_properties(0)
    context = Context("cuda", 1, (properties.major, properties.minor), properties.multi_processor_count, candidate)
    problem = Problem(cell.kernel, cell.dtype, kp.canonical(cell.kernel, plain(cell.size)))
    return implementation_of(cell).create(problem, kp.operands(problem, "cuda"), context).launch


class Flush:
    """Clean, as kbench's: write twice the L2, then read as much."""

    def __init__(self):
        words = 2 * torch.cuda.get_device_properties(0).L2_cache_size // 4
        self.written = torch.empty(words, dtype=torch.int32, device="cuda")
        self.read = torch.zeros(words, dtype=torch.float32, device="cuda")

    def __call__(self):
        self.written.zero_()
        torch.sum(self.read, dim=0)


def under_ncu(cells, launches):
    prepared = [prepare(cell, candidate) for cell, candidate in cells]
    for launch in prepared:
        launch()
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStart()
    torch.cuda._sleep(1)
    for launch in prepared:
        for _ in range(launches):
            launch()
            torch.cuda.synchronize()
        torch.cuda._sleep(1)
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStop()


def under_cupti(cells, launches):
    flush = Flush()
    for cell, candidate in cells:
        launch = prepare(cell, candidate)
        launch()
        flush()
        torch.cuda.synchronize()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
            for _ in range(launches):
                flush()
                torch.cuda._sleep(BLOCK_CYCLES)
                launch()
                torch.cuda._sleep(1)  # ends the launch
            torch.cuda.synchronize()
        kernels = sorted(((event.start_ns(), event.start_ns() + event.duration_ns(), event.name()) for event in
                          profiler.profiler.kineto_results.events() if str(event.device_type()).endswith("CUDA")), key=lambda one: one[0])
        print(json.dumps({"cell": cell.key, "seconds": cupti_side.spans(kernels, launches)}), flush=True)


def main():
    what, launches = sys.argv[1], int(sys.argv[2])
    cells = []
    for word in sys.argv[3:]:
        key, _, candidate = word.partition("=")
        cells.append((python_study.cells_of([key])[0], candidate))
    (under_ncu if what == "ncu" else under_cupti)(cells, launches)


if __name__ == "__main__":
    main()
