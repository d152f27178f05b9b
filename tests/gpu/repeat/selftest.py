"""Reads what `kbench-client selftest -o json` prints: JSON lines, one of which is about pairs of the same implementation (A/A) and one about
an implementation with 2 % more work. Pure. A record is known by its name, and its counts by the verdicts' own words or by pairs and false
(found) ones; a record without counts is taken at its own `passed`."""
import json
import re

from repeat.spread import Check

MOST_FALSE_SHARE = 1 / 100
FOUND_SHARE = 19 / 20
NAMES = ("name", "step", "check", "test", "title")
SAME = re.compile(r"\ba[ /_-]?a\b|same[ _-]implementation")
MORE = re.compile(r"more[ _-]work|2 ?%|detect")
VERDICTS = ("faster", "slower", "equivalent", "inconclusive")
TOTALS = ("pairs", "total", "tried", "runs")
FALSE = ("false", "false_verdicts", "false_positives")
FOUND = ("found", "detected", "found_slower")


def records(text):
    """Every JSON object in the lines, with those inside it."""
    found = []
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                _walk(json.loads(line), found, "")
            except ValueError:
                continue  # another program's line; the raw text is kept beside
    return found


def _walk(value, found, key):
    if isinstance(value, dict):
        found.append({"name": key, **value})
        for name, inner in value.items():
            _walk(inner, found, name)
    elif isinstance(value, list):
        for inner in value:
            _walk(inner, found, key)


def about(all_records, pattern):
    for record in all_records:
        if any(isinstance(record.get(key), str) and pattern.search(record[key].lower()) for key in NAMES):
            return record
    return None


def tally(record, event_keys, event_verdicts):
    """(events, pairs) of a record, or nothing when it has no counts."""
    flat = {}
    for one in (record, *(value for value in record.values() if isinstance(value, dict))):
        flat.update({key: value for key, value in one.items() if isinstance(value, (int, float, str)) and _is_count(value)})
    verdicts = {word: int(flat[word]) for word in VERDICTS if word in flat}
    if verdicts and sum(verdicts.values()) > 0:
        return sum(verdicts.get(word, 0) for word in event_verdicts), sum(verdicts.values())
    total = next((int(flat[key]) for key in TOTALS if key in flat), 0)
    events = next((int(flat[key]) for key in event_keys if key in flat), None)
    if total > 0 and events is not None:
        return events, total
    return None


def _is_count(value):
    return not isinstance(value, bool) and re.fullmatch(r"\d+", str(value)) is not None


def check(text, wanted_pairs):
    """The two checks of the selftest's output."""
    every = records(text)
    return [_same(about(every, SAME), wanted_pairs), _more(about(every, MORE))]


def _same(record, wanted):
    name = f"A/A: at most {MOST_FALSE_SHARE:.0%} false verdicts over {wanted} pairs"
    if record is None:
        return Check(name, False, "selftest printed no record of pairs of the same implementation")
    counts = tally(record, FALSE, ("faster", "slower"))
    if counts is None:
        return _own_word(name, record)
    false, pairs = counts
    return Check(name, pairs >= wanted and false <= MOST_FALSE_SHARE * pairs, f"{false} false of {pairs} pairs")


def _more(record):
    name = f"2 % more work: found slower in at least {FOUND_SHARE:.0%}"
    if record is None:
        return Check(name, False, "selftest printed no record of the implementation with more work")
    counts = tally(record, FOUND, ("slower",))
    if counts is None:
        return _own_word(name, record)
    found, tries = counts
    return Check(name, tries >= 20 and found >= FOUND_SHARE * tries, f"{found} of {tries}")


def _own_word(name, record):
    passed = record.get("passed")
    return Check(name, passed is True, f"selftest's own word: passed={passed}; it gives no counts: {json.dumps(record)[:300]}")
