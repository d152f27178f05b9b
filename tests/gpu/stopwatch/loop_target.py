"""Launches back to back for SECONDS and times the last LAST of them by events around batches: what a card does under steady load.

    python3 -m stopwatch.loop_target LIBRARY SECONDS LAST CELL...
"""
import json
import statistics
import sys
import time

from launchers import Launchers
from stopwatch.study import cells_of

BATCH_SECONDS = 0.05  # the wait for the batch's end is some tens of microseconds


def main():
    launchers = Launchers(sys.argv[1])
    seconds, last = float(sys.argv[2]), float(sys.argv[3])
    for cell in cells_of(sys.argv[4:]):
        launch = launchers.prepare(cell.kernel, cell.dtype, cell.size, cell.implementation)
        print(json.dumps({"cell": cell.key, **loop(launch.batch_seconds, seconds, last), "configuration": launch.configuration()}), flush=True)
        launch.close()


def loop(batch_seconds, seconds, last, now=time.monotonic):
    """The median over the batches that began in the last `last` of `seconds`, a launch."""
    batch_seconds(1)
    count = max(1, round(BATCH_SECONDS / (batch_seconds(10) / 10)))
    start = now()
    kept = []
    while (begun := now() - start) < seconds:
        one = batch_seconds(count) / count
        if begun >= seconds - last:
            kept.append(one)
    return {"seconds": statistics.median(kept), "batches": len(kept), "launches_per_batch": count}


if __name__ == "__main__":
    main()
