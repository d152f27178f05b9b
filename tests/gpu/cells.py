"""Runs cells through kbench-client and reads its JSON lines. Standard library only: it runs on hosts that have nothing but Python."""
import csv
import json
import re
import subprocess


class CellError(Exception):
    """The client said something that cannot be read as a result."""


def read_table(path):
    """The rows of a CSV file as dictionaries; lines that start with # are comments."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    for row in rows:
        if None in row or None in row.values():
            raise CellError(f"{path}: a row has too many or too few columns: {row}")
    return rows


def read_manifest(path):
    """The rows of a manifest as dictionaries."""
    rows = read_table(path)
    for row in rows:
        for word in row["architectures"].split():
            if not re.fullmatch(r"all|sm_\d+\+?", word):
                raise CellError(f"{path}: architecture '{word}' should be all, sm_90 or sm_80+")
    return rows


def applies(architectures, capability):
    """Whether a row holds on a GPU of this compute capability ("9.0")."""
    major, minor = capability.split(".")
    here = int(major) * 10 + int(minor)
    for word in architectures.split():
        if word == "all":
            return True
        wanted = int(word[3:].rstrip("+"))
        if here == wanted or (word.endswith("+") and here > wanted):
            return True
    return False


def submit(client, kernel, dtype, size, *options, timeout=300):
    """One job. Returns (exit code, its results as dictionaries, what it said on stderr)."""
    done = subprocess.run([client, "submit", kernel, dtype, size, *options, "-o", "json"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, check=False)
    results = []
    for line in done.stdout.splitlines():
        try:
            record = json.loads(line)
        except ValueError as error:
            raise CellError(f"not a JSON line: {line[:200]}") from error
        if "result" in record:
            results.append(record["result"])
    return done.returncode, results, done.stderr.strip()


def outcome(result):
    return result.get("outcome", "OUTCOME_UNSPECIFIED").removeprefix("OUTCOME_")


def verdict(result):
    return result.get("verdict", "VERDICT_UNSPECIFIED").removeprefix("VERDICT_")


def median_seconds(result):
    return float(result.get("device_time", {}).get("median", 0.0))


def verified(result):
    return bool(result.get("verification", {}).get("verified", False))
