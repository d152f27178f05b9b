"""The sides that are programs of ours printing JSON lines: do_bench, and the loop of seconds."""
from stopwatch import child
from stopwatch.study import Reading, SideError

LOOP_SECONDS = 5
LAST_SECONDS = 2


def do_bench(launchers, cells):
    return readings(child.run(child.command("do_bench_target", launchers, *(cell.key for cell in cells))), cells)


def loop(launchers, cell):
    return readings(child.run(child.command("loop_target", launchers, LOOP_SECONDS, LAST_SECONDS, cell.key)), [cell])[cell.key]


def readings(text, cells):
    found = {line["cell"]: line for line in child.json_lines(text) if "cell" in line}
    for cell in cells:
        if found.get(cell.key, {}).get("seconds", 0) <= 0:
            raise SideError(f"no figure for {cell.label}: {text[-500:]}")
    return {cell.key: Reading(seconds=found[cell.key]["seconds"], details=found[cell.key]) for cell in cells}
