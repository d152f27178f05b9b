#!/usr/bin/env python3
"""Every cell of the manifest that holds on this GPU must come back with its outcome, and verified where that is OK. Prints a table; exit code 1
if any cell does not.

    check_cells.py CLIENT MANIFEST CAPABILITY DEVICE
"""
import re
import sys
import time

import cells

ROW = "{:<10} {:<7} {:<34} {:<19} {:<14} {:>11} {:>10} {:<8} {:>5}"


def reason_matches(row, result):
    """Whether the result's reason is one of the row's words; a manifest without the column asks for none."""
    words = row.get("reason", "-").split()
    return words == ["-"] or result.get("reason", "") in words


def names_both_numbers(message):
    """Whether the text of an OUT_OF_MEMORY says how much is free, and how much was needed or that this is unknown."""
    return re.search(r"needed: (\d+ bytes|unknown); free: \d+ bytes|need \d+ bytes.* \d+ are free", message) is not None


def cell_of(row):
    return row["kernel"], row["dtype"], row["size"]


def jobs_of(rows):
    """Rows that stand together and name one cell are one job, except where a kernel is to misbehave: that one is alone."""
    jobs = []
    for row in rows:
        together = jobs and cell_of(jobs[-1][0]) == cell_of(row) and {row["outcome"], jobs[-1][0]["outcome"]} <= {"OK", "UNSUPPORTED"}
        if together:
            jobs[-1].append(row)
        else:
            jobs.append([row])
    return jobs


def run(client, rows, device):
    """Runs rows of one cell as one job; (passed, the printed line, a remark) of each."""
    start = time.monotonic()
    names = ",".join(row["implementation"] for row in rows)
    code, results, errors = cells.submit(client, *cell_of(rows[0]), "--impl", names, "--device", device, "--quick")
    seconds = time.monotonic() - start
    return [check(row, results, seconds, f"client exit code {code}: {errors}") for row in rows]


def check(row, results, seconds, said):
    """(passed, the printed line, a remark) of a row, from its job's results."""
    name = (*cell_of(row), row["implementation"])
    mine = [result for result in results if result.get("implementation") == name[3]]
    if len(mine) != 1:
        return False, ROW.format(*name, "NO RESULT", "-", "-", "-", f"{seconds:.1f}"), said
    result = mine[0]
    passed = cells.outcome(result) == row["outcome"] and reason_matches(row, result)
    if row["outcome"] == "OK":
        passed = passed and cells.verified(result) and cells.median_seconds(result) > 0
    if row["outcome"] == "OUT_OF_MEMORY":
        passed = passed and names_both_numbers(result.get("message", ""))
    error = result.get("verification", {}).get("relative_error", 0.0)
    line = ROW.format(*name, cells.outcome(result), f"{cells.median_seconds(result) * 1e6:.2f} us", f"{error:.1e}",
                      cells.verdict(result), f"{seconds:.1f}")
    expected = " ".join([row["outcome"], row.get("reason", "")])
    return passed, line, "" if passed else f"expected {expected}; {result.get('reason', '')}: {result.get('message', '')}"


def main():
    client, manifest, capability, device = sys.argv[1:5]
    rows = cells.read_manifest(manifest)
    mine = [row for row in rows if cells.applies(row["architectures"], capability)]
    print(ROW.format("kernel", "dtype", "size", "impl", "outcome", "median", "error", "verdict", "s"))
    failed = 0
    for job in jobs_of(mine):
        for passed, line, remark in run(client, job, device):
            failed += not passed
            print(line + ("" if passed else f"\n    FAILED: {remark}"), flush=True)
    print(f"{len(mine) - failed} passed, {failed} failed, {len(rows) - len(mine)} skipped")
    return 1 if failed or not mine else 0


if __name__ == "__main__":
    sys.exit(main())
