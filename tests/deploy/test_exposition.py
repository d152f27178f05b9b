"""The made-up exposition is what server/metrics/README.md promises: each series with its very labels, and clean."""
import subprocess
import time

import pytest

import contract
import exposition
from rightly_empty import CALM_SERIES
from scraped import program


def told(troubled):
    """{name: [labels]} of a day five and more seconds old."""
    day = exposition.Day(troubled, time.time() - 20)
    found = {}
    for name, labels, _ in exposition.samples(day, time.time()):
        found.setdefault(name, []).append(labels)
    for name, labels, *_ in exposition._histograms(day, time.time()):
        found.setdefault(name, []).append(labels)
    return found


@pytest.mark.parametrize("troubled", [False, True])
def test_every_promised_series_is_there_with_exactly_its_labels(troubled):
    promised, found = contract.families(), told(troubled)
    assert set(promised) - set(found) == (set() if troubled else set(CALM_SERIES))
    assert set(found) <= set(promised)
    for name, label_sets in found.items():
        for labels in label_sets:
            assert frozenset(labels) == promised[name].labels, name


@pytest.mark.parametrize("troubled", [False, True])
def test_promtool_has_nothing_to_say(troubled):
    text = exposition.text(exposition.Day(troubled, time.time() - 20), time.time())
    done = subprocess.run([program("promtool"), "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_contract_is_read_whole():
    """The reader of tables must not pass over a row in silence: what the text names in backticks is in a table."""
    named = set(contract.SERIES.findall(contract.README.read_text(encoding="utf-8")))
    assert named == set(contract.families())
    kinds = {family.kind for family in contract.families().values()}
    assert kinds == {"gauge", "counter", "histogram"}
    assert contract.families()["kbench_result_verdict"].labels == frozenset(contract.RESULT_LABELS) | {"verdict"}
