"""A real Prometheus with our rules scrapes an exposition: every expression of every panel, mark, variable and rule gives data there, or stands below with
the reason why it rightly does not. KBENCH_METRICS=HOST:PORT puts a running stack in the place of the made-up exposition."""
import os

import pytest

import contract
import exposition
from expressions import everything
from scraped import Prometheus, get, until

# On a day on which nothing is wrong. {key of the expression: why it is empty}
CALM = {
    "performance: mark Confirmed regressions": "nothing has slowed",
    "performance: mark Changed environment": "one environment",
    "performance: mark Baseline moved": "baselines stand; the mark looks back five minutes (test_dashboards.py tries it on a timeline)",
    "performance: mark Quarantine": "no device is in quarantine",
    "performance: Regressions over time A": "shows cells that were suspected or confirmed",
    "queue: mark Quarantine": "no device is in quarantine",
    "queue: mark Drained": "no device is drained",
    "queue: mark Lent": "no device is lent",
    "devices: mark Changed environment": "one environment",
    "devices: mark Quarantine": "no device is in quarantine",
    "devices: mark Drained": "no device is drained",
    "devices: mark Lent": "no device is lent",
    "devices: Set aside A": "no device is drained or lent",
    "devices: Alerts A": "no alert fires",
    "devices: Firing alerts A": "no alert fires",
    **{expression.key: "nothing is wrong" for expression in everything() if expression.kind == "alert"},
}
# On a day on which everything is wrong at once.
TROUBLED = {
    "performance: mark Baseline moved": "looks back five minutes, the test lasts one; test_dashboards.py tries it on a timeline",
    "queue: mark Lent": "a device is drained in its place",
    "devices: mark Lent": "a device is drained in its place",
    "alerts: KbenchCoordinatorDown": "the coordinator is scraped; prometheus/service.test.yml tries it",
}


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
    prometheus, _ = day
    until(lambda: contract.series_names() <= prometheus.metric_names(), "all series")


def test_one_alert_for_a_library_with_many_slow_cells(day):
    prometheus, troubled = day
    if not troubled:
        assert prometheus.query('ALERTS{alertname="KbenchRegressionConfirmed"}') == []
        return
    found = until(lambda: prometheus.query('ALERTS{alertname="KbenchRegressionConfirmed",alertstate="firing"}'), "the alert")
    assert [(one["metric"]["device"], one["metric"]["implementation"]) for one in found] == [("gpu0", "triton")]
    assert prometheus.query('count(kbench_result_regression_state{state="confirmed"} == 1)')[0]["value"][1] == "6"


@pytest.mark.skipif("KBENCH_METRICS" not in os.environ, reason="KBENCH_METRICS names no running stack")
def test_a_running_stack_gives_every_series_that_is_named(tmp_path):
    """What the stack does not tell, because nothing of that kind has happened in it, is listed rather than passed over."""
    target = os.environ["KBENCH_METRICS"]
    assert "kbench_build_info" in get(f"http://{target}/metrics")
    prometheus = Prometheus(tmp_path, target)
    try:
        until(lambda: prometheus.query("kbench_build_info"), "the first scrape")
        missing = contract.series_names() - prometheus.metric_names()
        allowed = set(os.environ.get("KBENCH_METRICS_ABSENT", "").split())
        assert missing <= allowed, f"not exposed by {target}: {sorted(missing - allowed)}"
        assert prometheus.rule_errors() == {}
    finally:
        prometheus.close()
