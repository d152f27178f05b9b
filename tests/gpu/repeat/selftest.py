"""Reads what `kbench-client selftest -o json` prints: {"selftest": {"passed": ..., "checks": [{"name", "state", "text", counts ...}]}}. Pure."""
import json

from repeat.spread import Check

MOST_FALSE_SHARE = 1 / 100
FOUND_SHARE = 19 / 20
SAME, MORE = "same twice", "2% more work"


def check(text, wanted_pairs):
    """The two checks of the selftest's output."""
    by_name = {one["name"]: one for one in _checks(text)}
    return [_same(by_name.get(SAME), wanted_pairs), _more(by_name.get(MORE))]


def _checks(text):
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                return json.loads(line)["selftest"]["checks"]
            except (ValueError, KeyError, TypeError):
                continue  # another program's line; the raw text is kept beside
    return []


def _same(record, wanted):
    name = f"A/A: at most {MOST_FALSE_SHARE:.0%} false verdicts over {wanted} pairs"
    if record is None:
        return Check(name, False, f"selftest printed no check '{SAME}'")
    false, pairs = int(record["false"]), int(record["pairs"])
    return Check(name, pairs >= wanted and false <= MOST_FALSE_SHARE * pairs, f"{false} false of {pairs} pairs")


def _more(record):
    name = f"2 % more work: found slower in at least {FOUND_SHARE:.0%}"
    if record is None:
        return Check(name, False, f"selftest printed no check '{MORE}'")
    found, tries = int(record["found"]), int(record["pairs"])
    return Check(name, tries >= 20 and found >= FOUND_SHARE * tries, f"{found} of {tries}")
