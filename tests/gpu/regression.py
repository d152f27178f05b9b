#!/usr/bin/env python3
"""A kernel becomes slower by 5 % and is itself again: prints what kbench thinks of it meanwhile, exits 1 where that is not as it must be.

    regression.py CLIENT DEVICE KERNEL_FILE [--repeats N]

KERNEL_FILE is the fixture torch/paced of an environment "fixtures" of the device's worker: its number is edited here, as a change of a kernel would.
First N results of the unchanged kernel, each of a job of its own, may raise at most one confirmed alarm among 200. Then a slow one must be suspected,
measured again and confirmed, `why` must name the kernel, and the first results of the restored kernel must clear it.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

import cells

CELL = ("sum", "fp32", "2^28")
NAME = "torch/paced@fixtures"
LEARNED = 5          # results, before which nothing can be doubted
PATIENCE = 90.0      # seconds for three fresh sessions, each with its own interpreter
SUSPICION = 10.0     # seconds until a stored result is taken up
SLOWER = 0.05
CLEARED_RESULTS = 3  # two clear it; one that is not VALID may stand between


def set_extra(path, ratio):
    text, count = re.subn(r"^EXTRA = .*$", f"EXTRA = {ratio}", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if count != 1:
        raise cells.CellError(f"{path} has {count} lines that begin with 'EXTRA = ', not one")
    path.write_text(text, encoding="utf-8")


class Lab:
    def __init__(self, client, device, kernel):
        self.client, self.device, self.kernel = client, device, kernel

    def ask(self, *arguments):
        done = subprocess.run([self.client, *arguments, "-o", "json"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            raise cells.CellError(f"{' '.join(arguments)}: {done.stderr.strip()}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def history(self):
        return self.ask("history", *CELL, "--impl", NAME, "--mode", "cold", "--on", self.device)[0]["history"]

    def measure(self, *options):
        _, results, said = cells.submit(self.client, *CELL, "--impl", NAME, "--device", self.device, "--fresh", *options)
        if len(results) != 1 or cells.outcome(results[0]) != "OK":
            raise cells.CellError(f"{' '.join(CELL)} {NAME} has no number: {said}")
        return results[0]

    def edit(self, ratio):
        """The next interpreter has it; the one that waits with everything imported has not, so it is used up."""
        set_extra(self.kernel, ratio)
        self.measure("--quick")

    def state(self):
        return self.history()["state"]

    def wait(self, wanted, seconds):
        end = time.monotonic() + seconds
        while (now := self.state()).get("state") not in wanted and time.monotonic() < end:
            time.sleep(0.5)
        return now


def told(what, state):
    print(f"{what:28} {state.get('state', ''):12} {state.get('message', '')}", flush=True)
    return state.get("state")


def confirmed(history):
    return history["state"].get("state") == "CONFIRMED"


def unchanged(lab, repeats):
    alarms, was = 0, False
    for _ in range(repeats):
        lab.measure()
        now = confirmed(lab.history())
        alarms += now and not was
        was = now
    told(f"unchanged, {repeats} results", lab.state())
    return f"{alarms} confirmed alarms in {repeats} results of the same kernel" if alarms > 1 else ""


def slowed(lab):
    lab.edit(SLOWER)
    result = lab.measure()
    print(f"{'slowed':28} {cells.median_seconds(result) * 1e6:.1f} us {cells.verdict(result)}")
    if told("then", lab.wait(("SUSPECTED", "CONFIRMED"), SUSPICION)) not in ("SUSPECTED", "CONFIRMED"):
        return "the slower kernel raised no suspicion"
    if told("after three fresh sessions", lab.wait(("CONFIRMED", "NONE"), PATIENCE)) != "CONFIRMED":
        return "the suspicion was not confirmed"
    cause = lab.ask("why", *CELL, "--impl", NAME, "--on", lab.device)[0]["cause"]
    print(f"{'why':28} {cause['verdict']:12} {cause['sentence']}")
    return "" if cause["verdict"] == "KERNEL" else f"why says {cause['verdict']}, not KERNEL"


def restored(lab):
    lab.edit(0.0)
    for _ in range(CLEARED_RESULTS):
        lab.measure()
        if lab.state().get("state") == "NONE":
            break
    return "" if told("restored", lab.wait(("NONE",), PATIENCE)) == "NONE" else "the restored kernel did not clear the regression"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("client")
    parser.add_argument("device")
    parser.add_argument("kernel", type=pathlib.Path)
    parser.add_argument("--repeats", type=int, default=LEARNED + 3)
    options = parser.parse_args()
    lab = Lab(options.client, options.device, options.kernel)
    failures = [unchanged(lab, max(options.repeats, LEARNED))]
    failures.append(slowed(lab))
    failures.append(restored(lab) if not failures[-1] else "")
    said = [failure for failure in failures if failure]
    print("\n".join(f"FAILED: {failure}" for failure in said))
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
