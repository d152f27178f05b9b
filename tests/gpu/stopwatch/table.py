"""The comparison as markdown, for worker/README.md. Pure."""
COLUMNS = [("ncu", "ncu"), ("clean", "kbench clean"), ("dirty", "kbench dirty"), ("nvbench", "NVBench"), ("do_bench", "do_bench"),
           ("steady", "kbench steady"), ("loop", "5 s loop")]
WORDS = {True: "pass", False: "**FAIL**", None: "not compared"}


def microseconds(seconds):
    return f"{seconds * 1e6:.2f}"


def line(words):
    return "| " + " | ".join(words) + " |"


def results(cells, by_cell, event_cost):
    """A line a cell: every side's median in microseconds; `by_cell` holds the sides' readings by the cell's key."""
    head = ["cell (us)", *(title for _, title in COLUMNS[:2]), "less event cost", "off ncu", *(title for _, title in COLUMNS[2:]), "limit"]
    lines = [line(head), line(["---"] * len(head))]
    for cell in cells:
        sides = by_cell[cell.key]
        texts = {name: microseconds(sides[name].seconds) if name in sides else "-" for name, _ in COLUMNS}
        less = off = "-"
        if "clean" in sides and event_cost > 0:
            corrected = sides["clean"].seconds - event_cost
            less = microseconds(corrected)
            if "ncu" in sides:
                off = f"{corrected / sides['ncu'].seconds - 1:+.1%}"
        limited = "power" if "clean" in sides and sides["clean"].power_limited else ""
        lines.append(line([f"{cell.label} {cell.implementation}", texts["ncu"], texts["clean"], less, off,
                           *(texts[name] for name, _ in COLUMNS[2:]), limited]))
    return "\n".join(lines)


def checks(found):
    lines = [line(["cell", "what must hold", "figure", ""]), line(["---"] * 4)]
    lines += [line([check.cell, check.name, check.figure, WORDS[check.passed]]) for check in found]
    return "\n".join(lines)
