"""What ncu looks at: LAUNCHES launches of each cell, one at a time, markers around the cells.

    python3 -m stopwatch.ncu_target LIBRARY LAUNCHES CELL...
"""
import sys

from launchers import Launchers
from stopwatch.study import cells_of


def main():
    launchers = Launchers(sys.argv[1])
    launches = int(sys.argv[2])
    marker = launchers.prepare("null", "fp32", "1", "cuda/naive")
    prepared = [launchers.prepare(cell.kernel, cell.dtype, cell.size, cell.implementation) for cell in cells_of(sys.argv[3:])]
    for one in (marker, *prepared):  # loads modules, and lets cuBLAS choose, before anyone looks
        one.launch()
    launchers.synchronize()
    launchers.profile(True)
    marker.launch()
    for one in prepared:
        for _ in range(launches):
            one.launch()
            launchers.synchronize()
        marker.launch()
    launchers.synchronize()
    launchers.profile(False)


if __name__ == "__main__":
    main()
