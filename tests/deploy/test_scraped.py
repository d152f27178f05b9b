"""A real Prometheus with our rules scrapes an exposition: every expression of every panel, mark, variable and rule gives data there, or stands
in rightly_empty.py with the reason why it does not. So it is of a made-up exposition with everything in it, and of a running stack: one of this
machine's CPU, or that of KBENCH_METRICS=HOST:PORT."""
import os
import re
import subprocess
import time

import pytest

import contract
import exposition
import running as running_stack
from expressions import everything
from rightly_empty import CALM, CALM_SERIES, CPU_STACK, IDLE_STACK, LENT, TROUBLED, YOUNG
from scraped import Prometheus, get, program, until

@pytest.fixture(scope="module", params=["calm", "troubled"])
def day(request, tmp_path_factory):
    """(Prometheus, whether the day is a bad one)."""
    exporter = exposition.Exporter(request.param == "troubled")
    prometheus = Prometheus(tmp_path_factory.mktemp(request.param), exporter.address)
    yield prometheus, request.param == "troubled"
    prometheus.close()
    exporter.close()


def empty_ones(prometheus):
    return {expression.key for expression in everything() if not prometheus.query(expression.text)}


def check(prometheus, rightly_empty):
    """Waits until nothing is empty that should not be, then holds what is empty against the list."""
    wanted = set(rightly_empty)
    assert wanted <= {expression.key for expression in everything()}, "a name in the list is no expression's"
    until(lambda: empty_ones(prometheus) <= wanted, lambda: f"data from {sorted(empty_ones(prometheus) - wanted)}")
    assert prometheus.rule_errors() == {}


def test_every_expression_gives_data_or_is_rightly_empty(day):
    prometheus, troubled = day
    check(prometheus, TROUBLED if troubled else CALM)
    # And the list has nothing in it that does give data: on a calm day no alert is raised.
    assert empty_ones(prometheus) == set(TROUBLED if troubled else CALM)


def test_every_series_promised_is_scraped(day):
    prometheus, troubled = day
    due = contract.series_names() - (set() if troubled else set(CALM_SERIES))
    until(lambda: due <= prometheus.metric_names(), lambda: f"the series {sorted(due - prometheus.metric_names())}")


def test_one_alert_for_a_library_with_many_slow_cells(day):
    prometheus, troubled = day
    if not troubled:
        assert prometheus.query('ALERTS{alertname="KbenchRegressionConfirmed"}') == []
        return
    found = until(lambda: prometheus.query('ALERTS{alertname="KbenchRegressionConfirmed",alertstate="firing"}'), "the alert")
    assert [(one["metric"]["device"], one["metric"]["implementation"]) for one in found] == [("gpu0", "triton")]
    assert prometheus.query('count(kbench_result_regression_state{state="confirmed"} == 1)')[0]["value"][1] == "6"


def exposed(text):
    """{name: {label sets}} of an exposition."""
    found = {}
    for name, inside in re.findall(r'^(kbench_\w+)(?:{((?:[^"}]|"(?:[^"\\]|\\.)*")*)})? ', text, flags=re.MULTILINE):
        found.setdefault(name, set()).add(frozenset(re.findall(r'(\w+)="(?:[^"\\]|\\.)*"', inside)) - {"le"})
    return found


def promised():
    """{name of a series: its labels}, a histogram by its three."""
    for family in contract.families().values():
        for name in [f"{family.name}_{part}" for part in ("bucket", "sum", "count")] if family.kind == "histogram" else [family.name]:
            yield name, family.labels


def whole(target, names):
    """The exposition, once all these series are in it."""
    text = get(f"http://{target}/metrics")
    return text if names <= set(exposed(text)) else None


def test_the_reader_of_expositions():
    day = exposition.Day(True, time.time() - 20)
    assert exposed(exposition.text(day, time.time())) == {name: {labels} for name, labels in promised()}


@pytest.fixture(scope="module")
def running():
    """(address of a running stack's /metrics, {series that it rightly has not: reason})"""
    if given := os.environ.get("KBENCH_METRICS"):
        yield given, {} if "KBENCH_METRICS_WHOLE" in os.environ else CPU_STACK | IDLE_STACK
        return
    if program("prometheus") is None:
        pytest.skip("there is no prometheus (deploy/setup.sh test brings one)")
    with running_stack.cpu_stack() as stack:
        yield stack.note()["metrics"], CPU_STACK


def test_a_running_stack_keeps_the_promise(running, tmp_path):
    """KBENCH_METRICS_WHOLE=1: also what rightly_empty.py lists for a CPU must be there."""
    target, absent = running
    assert set(absent) <= set(contract.families())
    wanted = dict(promised())
    # Some series come with a young stack's first report or count.
    due = set(wanted) - set(absent)
    text = until(lambda: whole(target, due), lambda: f"{target} to expose {sorted(due - set(exposed(get(f'http://{target}/metrics'))))}")
    linted = subprocess.run([program("promtool"), "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (linted.returncode, linted.stdout, linted.stderr) == (0, "", "")
    found = exposed(text)
    wrong = {name: found[name] for name in found if name not in wanted or found[name] != {wanted[name]}}
    assert not wrong, "not as server/metrics/README.md has it"
    prometheus = Prometheus(tmp_path, target)
    try:
        excused = {expression.key for expression in everything() if any(re.search(rf"\b{name}\b", expression.text) for name in absent)}
        # What rules record from an absent series is absent too.
        excused |= {expression.key for expression in everything() if any(name in expression.text for name in recorded_from(absent))}
        excused |= set(CALM) | set(YOUNG) | set(LENT)
        until(lambda: empty_ones(prometheus) <= excused, lambda: f"data from {sorted(empty_ones(prometheus) - excused)}")
        assert prometheus.rule_errors() == {}
    finally:
        prometheus.close()


def recorded_from(absent):
    return {expression.name for expression in everything() if expression.kind == "record" and any(name in expression.text for name in absent)}
