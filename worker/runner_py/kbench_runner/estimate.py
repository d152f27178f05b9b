"""How long one launch would take, found without launching it: smaller problems of the same kind are run and extrapolated. The rules and numbers
of worker/runner/estimate.cc, which says why they are what they are."""
import dataclasses

from kbench_runner.failures import Failure
from kbench_runner.opened import OpenInstance

SLOWEST_CPU_RATE = 2e7  # units of work a second
SLOWEST_GPU_RATE = 1e11
FIRST_WORK = 1e6
GROWTH = 10
CLEAR_SECONDS = 0.1
CLEAR_GROWTH = 3
LONG_SECONDS = 1
TELLING_SECONDS = 0.02
FAR_BEYOND = 4
SAFE_SHARE = 0.25
CALLS = 3
CALLS_SECONDS = 0.1


def _shortest_call(opened):
    """Of a few. The first may hold a compiler's work, seconds of it, and counts only until there is another."""
    shortest = opened.call()
    total = 0.0
    for _ in range(CALLS - 1):
        seconds = opened.call()
        shortest = min(shortest, seconds)
        total += seconds
        if total > CALLS_SECONDS:
            break
    return shortest


def _try(workplace, entry, scaled, options):
    """Seconds of a launch of the smaller problem; None where it failed in a way that the real one will tell better."""
    try:
        opened = OpenInstance(workplace, entry, scaled, options)
    except Failure as failure:
        if failure.fatal:
            raise
        return None
    try:
        return _shortest_call(opened)
    except Failure as failure:
        if failure.fatal:
            raise
        return None
    finally:
        opened.close()


def launch_seconds(workplace, entry, problem, options, limit_seconds):
    """None when the problem is so small that launching it is the better answer. Raises only a fatal Failure."""
    library = workplace.engine.library
    work = library.work(problem)
    slowest_rate = SLOWEST_CPU_RATE if workplace.context.device == "cpu" else SLOWEST_GPU_RATE
    if work < limit_seconds * slowest_rate:
        return None
    # Nothing is verified here; a candidate was chosen for another shape; one operand set is enough.
    scaled_options = dataclasses.replace(options, reference_dir="", candidate="")
    unsupported = entry.implementation.unsupported
    estimate = None
    tried = before = 0.0
    most = FIRST_WORK / GROWTH
    while (most := most * GROWTH) < work:
        scaled = dataclasses.replace(problem, shape=library.scaled_shape(problem, most), mode="cold")
        scaled_work = library.work(scaled)
        if scaled_work >= work:
            break  # there is no smaller one
        if scaled_work <= tried:
            continue  # rounds to the same shape
        tried = scaled_work
        if unsupported is not None and unsupported(scaled, workplace.context):
            continue
        seconds = _try(workplace, entry, scaled, scaled_options)
        if seconds is None:
            return None
        if seconds > scaled_work / slowest_rate:
            continue
        estimate = seconds * (work / scaled_work)
        if estimate <= SAFE_SHARE * limit_seconds or seconds >= LONG_SECONDS:
            break
        clear = TELLING_SECONDS if estimate > FAR_BEYOND * limit_seconds else CLEAR_SECONDS
        if seconds >= clear and seconds >= CLEAR_GROWTH * before and before > 0:
            break
        before = seconds
    return estimate
