"""What the readings must show. Pure: readings in, checks out."""
import dataclasses

NCU_RATIO, NCU_SECONDS = 0.02, 1e-6
NVBENCH_RATIO, NVBENCH_SECONDS = 0.01, 0.5e-6
STEADY_RATIO = 0.02


@dataclasses.dataclass(frozen=True)
class Check:
    """passed is None where a side that may be missing is missing."""
    cell: str
    name: str
    passed: bool | None
    figure: str


def check_cell(cell, sides, event_cost, nvbench_absent=False):
    """`sides` holds a reading by the name of each side that could measure: clean dirty steady ncu nvbench do_bench loop. event_cost in
    seconds, 0 when it is not known."""
    checks = [near_ncu(cell, sides, event_cost)]
    if cell.memory_bound:
        checks += [nearer_than(cell, sides, event_cost, side, nvbench_absent) for side in ("nvbench", "do_bench")]
    checks += [dirty_as_nvbench(cell, sides, nvbench_absent), steady_as_loop(cell, sides)]
    return checks


def missing(cell, name, sides, wanted, event_cost=1.0, may_miss=()):
    """A check that cannot be made, or nothing."""
    lacking = [side for side in wanted if side not in sides]
    if not event_cost > 0:
        lacking.append("event cost")
    if not lacking:
        return None
    forgiven = all(side in may_miss for side in lacking)
    return Check(cell.label, name, None if forgiven else False, f"no figure from: {', '.join(lacking)}")


def less_cost(reading, event_cost):
    return reading.seconds - event_cost


def near_ncu(cell, sides, event_cost):
    """Seconds; cycles where the card was at its power limit, because two sides then run at two clocks."""
    name = "clean less event cost = ncu"
    if check := missing(cell, name, sides, ("clean", "ncu"), event_cost):
        return check
    clean, ncu = sides["clean"], sides["ncu"]
    ours, theirs, unit, floor = less_cost(clean, event_cost), ncu.seconds, "us", NCU_SECONDS
    if clean.power_limited:
        if clean.cycles <= 0 or ncu.cycles <= 0:
            return Check(cell.label, name, False, "power-limited, and a side knows no cycles")
        clock = clean.cycles / clean.seconds
        ours, theirs, unit, floor = ours * clock, ncu.cycles, "cycles", NCU_SECONDS * clock
    return _within(cell, name, ours, theirs, max(NCU_RATIO * theirs, floor), unit)


def near_span(cell, sides, event_cost):
    """Several kernels a launch: from the first one's beginning to the last one's end. CUPTI tells no cycles."""
    name = "clean less event cost = CUPTI span"
    if check := missing(cell, name, sides, ("clean", "cupti"), event_cost):
        return check
    theirs = sides["cupti"].seconds
    return _within(cell, name, less_cost(sides["clean"], event_cost), theirs, max(NCU_RATIO * theirs, NCU_SECONDS), "us")


def nearer_than(cell, sides, event_cost, other, nvbench_absent):
    name = f"nearer to ncu than {other}"
    if check := missing(cell, name, sides, ("clean", "ncu", other), event_cost, ("nvbench",) if nvbench_absent else ()):
        return check
    ncu = sides["ncu"].seconds
    ours, theirs = abs(less_cost(sides["clean"], event_cost) - ncu), abs(sides[other].seconds - ncu)
    raw = abs(sides["clean"].seconds - ncu)
    return Check(cell.label, name, ours < theirs,
                 f"off by {ours * 1e6:.2f} us against {theirs * 1e6:.2f} us (with the event cost in it: {raw * 1e6:.2f} us)")


def dirty_as_nvbench(cell, sides, nvbench_absent):
    name = "dirty = NVBench"
    if check := missing(cell, name, sides, ("dirty", "nvbench"), 1.0, ("nvbench",) if nvbench_absent else ()):
        return check
    dirty, nvbench = sides["dirty"], sides["nvbench"]
    ours, theirs, unit, floor = dirty.seconds, nvbench.seconds, "us", NVBENCH_SECONDS
    if dirty.power_limited:
        if dirty.cycles <= 0 or nvbench.cycles <= 0:
            return Check(cell.label, name, False, "power-limited, and a side knows no cycles")
        ours, theirs, unit, floor = dirty.cycles, nvbench.cycles, "cycles", NVBENCH_SECONDS * dirty.cycles / dirty.seconds
    return _within(cell, name, ours, theirs, max(NVBENCH_RATIO * theirs, floor), unit)


def steady_as_loop(cell, sides):
    name = "steady = loop of seconds"
    if check := missing(cell, name, sides, ("steady", "loop")):
        return check
    theirs = sides["loop"].seconds
    return _within(cell, name, sides["steady"].seconds, theirs, STEADY_RATIO * theirs, "us")


def _within(cell, name, ours, theirs, limit, unit):
    scale = 1e6 if unit == "us" else 1.0
    off = ours - theirs
    figure = f"{ours * scale:.2f} against {theirs * scale:.2f} {unit}: {off * scale:+.2f} ({off / theirs:+.2%}), limit {limit * scale:.2f}"
    return Check(cell.label, name, abs(off) <= limit, figure)
