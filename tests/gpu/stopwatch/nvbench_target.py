"""Runs under NVBench: one benchmark a cell.

    python3 -m stopwatch.nvbench_target LIBRARY JSON CELL...

The extension module is taken as it is: the package's own choice between CUDA 12 and 13 asks for cuda-bindings, which nothing here needs.
"""
import importlib
import sys

from launchers import Launchers
from stopwatch import nvbench_side
from stopwatch.study import cells_of


def main():
    library, path, *keys = sys.argv[1:]
    try:
        nvbench = importlib.import_module(nvbench_side.MODULE)
    except ModuleNotFoundError as error:
        print(error, file=sys.stderr)
        return nvbench_side.ABSENT
    launchers = Launchers(library)
    for cell in cells_of(keys):
        launch = launchers.prepare(cell.kernel, cell.dtype, cell.size, cell.implementation)
        nvbench.register(benchmark_of(launch)).set_name(cell.key)
    nvbench.run_all_benchmarks(["nvbench_target", *nvbench_side.options(path)])
    return 0


def benchmark_of(launch):
    def benchmark(state):
        state.exec(lambda running: launch.launch(running.get_stream().addressof()), batched=False)

    return benchmark


if __name__ == "__main__":
    sys.exit(main())
