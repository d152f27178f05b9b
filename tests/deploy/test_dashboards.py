"""deploy/grafana: the committed JSON is what the code makes, and what Grafana's file provisioning and its classic model take."""
import importlib.util
import json
import re
import subprocess
import sys

import pytest
import yaml
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import units
from grafana_foundation_sdk.models.dashboard import Dashboard

import contract
from expressions import DASHBOARDS, LABEL_VALUES, RULES, everything, load, rules
from scraped import ROOT, program

GRAFANA = ROOT / "deploy" / "grafana"
# In Grafana's core from 10 to 13; `graph` and `singlestat` are gone, others are plugins.
KINDS = {"row", "timeseries", "stat", "table", "heatmap", "state-timeline", "bargauge"}
UNITS = {value for name, value in vars(units).items() if not name.startswith("_") and isinstance(value, str)}
BUILT_IN = {"__rate_interval", "__range", "__interval", "__all"}
VARIABLES = {"performance": ["datasource", "device", "kernel", "implementation", "dtype", "size", "mode"], "queue": ["datasource", "device"],
             "devices": ["datasource", "device"]}
RECORDED = {rule["record"] for path in RULES for rule in rules(path) if "record" in rule}
TOKEN = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")

boards = pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)


def panels(path):
    return load(path)["panels"]


def drawn(path):
    return [panel for panel in panels(path) if panel["type"] != "row"]


def test_there_are_three():
    assert {path.stem for path in DASHBOARDS} == set(VARIABLES)


def test_the_committed_json_is_what_the_code_makes(tmp_path):
    subprocess.run([sys.executable, GRAFANA / "generate.py", tmp_path], check=True)
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in DASHBOARDS}
    for path in DASHBOARDS:
        assert (tmp_path / path.name).read_text(encoding="utf-8") == path.read_text(encoding="utf-8"), f"run {GRAFANA}/generate.py"


@boards
def test_grafanas_own_schema_reads_it_and_writes_the_same(path):
    """A field that the classic model of Grafana 11.6 does not have would be lost on the way, one that it lacks would come about."""
    plugins.register_default_plugins()
    wanted = load(path)
    for annotation in wanted["annotations"]["list"]:
        for own in ("titleFormat", "textFormat", "tagKeys", "step", "useValueForTime"):  # Prometheus's, which the common model has not
            del annotation[own]
    written = json.loads(json.dumps(Dashboard.from_json(wanted), cls=JSONEncoder))
    for panel in written["panels"]:
        if panel["type"] == "heatmap" and panel["fieldConfig"]["defaults"].get("custom") == {}:
            del panel["fieldConfig"]["defaults"]["custom"]
    assert {"id": None, **written} == wanted


@boards
def test_it_can_be_provisioned(path):
    board, text = load(path), path.read_text(encoding="utf-8")
    assert "__inputs" not in text and "DS_PROMETHEUS" not in text and "__requires" not in text
    assert board["id"] is None and board["uid"] == f"kbench-{path.stem}" and len(board["uid"]) <= 40
    assert 36 <= board["schemaVersion"] <= 41 and "kbench" in board["tags"]
    assert board["title"].startswith("kbench: ") and board["description"]
    link, = board["links"]
    assert link["type"] == "dashboards" and link["tags"] == ["kbench"] and link["includeVars"] and link["keepTime"]


@boards
def test_variables(path):
    listed = load(path)["templating"]["list"]
    assert [variable["name"] for variable in listed] == VARIABLES[path.stem]
    assert (listed[0]["type"], listed[0]["query"]) == ("datasource", "prometheus")
    for index, variable in enumerate(listed[1:], start=1):
        assert variable["type"] == "query" and variable["multi"] and variable["includeAll"] and variable["allValue"] == ".+"
        query = LABEL_VALUES.match(variable["query"]["query"])
        assert query["label"] == variable["name"]
        # Chained: each is chosen among what all before it leave.
        assert re.findall(r"\$(\w+)", query["expr"]) == [before["name"] for before in listed[1:index]]


@boards
def test_every_panel_is_described_and_has_a_unit_and_a_kind_of_grafanas_core(path):
    for panel in panels(path):
        assert panel["type"] in KINDS and panel["title"], panel
    for panel in drawn(path):
        assert len(panel["description"]) > 15 and panel["description"].endswith("."), panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS, panel["title"]
        for override in panel["fieldConfig"]["overrides"]:
            unit, = [item["value"] for item in override["properties"] if item["id"] == "unit"]
            assert unit in UNITS, panel["title"]
        if panel["type"] == "heatmap":
            assert panel["options"]["yAxis"]["unit"] in UNITS


@boards
def test_every_shown_column_of_a_table_is_named_and_has_a_unit(path):
    for panel in drawn(path):
        if panel["type"] != "table":
            continue
        organize, = [item["options"] for item in panel["transformations"] if item["id"] == "organize"]
        values = ["Value"] if len(panel["targets"]) == 1 else [f"Value #{target['refId']}" for target in panel["targets"]]
        overridden = {override["matcher"]["options"] for override in panel["fieldConfig"]["overrides"]}
        shown = {organize["renameByName"][value] for value in values if not organize["excludeByName"].get(value)}
        assert overridden == shown, panel["title"]
        # What is left of a row are the labels that its queries keep, all of them named.
        labels = set(organize["renameByName"]) - set(values)
        for target in panel["targets"]:
            by = re.search(r"\b(?:max|sum) by \(([^)]*)\)", target["expr"])[1]
            assert {label.strip() for label in by.split(",")} == labels, f"{panel['title']} {target['refId']}"
        assert all(sort["displayName"] in organize["renameByName"].values() for sort in panel["options"].get("sortBy", []))


@boards
def test_references(path):
    board = load(path)
    datasource = {"type": "prometheus", "uid": "${datasource}"}
    known = {variable["name"] for variable in board["templating"]["list"]} | BUILT_IN
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)
    for panel in drawn(path):
        assert panel["datasource"] == datasource
        names = [target["refId"] for target in panel["targets"]]
        assert names and names == [chr(ord("A") + index) for index in range(len(names))], panel["title"]
        for target in panel["targets"]:
            assert target["datasource"] == datasource
            assert target["instant"] != target["range"]
            assert target["format"] == {"table": "table", "heatmap": "heatmap"}.get(panel["type"], "time_series"), panel["title"]
            # A legend names labels that the query keeps, where it says which.
            kept = re.match(r"(?:max|sum|count) by \(([^)]*)\)", target["expr"])
            if kept:
                assert set(re.findall(r"{{(\w+)}}", target.get("legendFormat", ""))) <= set(re.split(", *", kept[1])), panel["title"]
    for annotation in board["annotations"]["list"]:
        assert annotation["datasource"] == datasource and annotation["expr"] and annotation["tagKeys"]
    for variable in board["templating"]["list"][1:]:
        assert variable["datasource"] == datasource
    used = set(re.findall(r"\$\{?(\w+)", path.read_text(encoding="utf-8")))
    assert used <= known, used - known
    repeated = {panel["repeat"] for panel in board["panels"] if panel.get("repeat")}
    assert repeated <= known


@boards
def test_panels_lie_within_24_columns_and_none_on_another(path):
    taken = {}
    for panel in panels(path):
        place = panel["gridPos"]
        assert place["w"] > 0 and place["h"] > 0 and place["x"] >= 0 and place["x"] + place["w"] <= 24, panel["title"]
        for column in range(place["x"], place["x"] + place["w"]):
            for line in range(place["y"], place["y"] + place["h"]):
                assert (column, line) not in taken, f"{panel['title']} lies on {taken[column, line]}"
                taken[column, line] = panel["title"]
    # A full line everywhere: no holes either, but beneath a row's heading.
    lines = {line for _, line in taken}
    assert lines == set(range(len(lines)))
    assert all((column, line) in taken for column in range(24) for line in lines)


@boards
def test_what_matters_most_is_on_the_first_screen(path):
    """1080 lines are some 25 of the grid beneath Grafana's own bars: figures first, and a chart or table without scrolling."""
    first = [panel["type"] for panel in drawn(path) if panel["gridPos"]["y"] + panel["gridPos"]["h"] <= 25]
    assert first.count("stat") == 6 and len(first) > 7


def test_every_expression_parses(tmp_path):
    listed = [{"record": f"job:test{index}:sum", "expr": expression.text} for index, expression in enumerate(everything())]
    path = tmp_path / "expressions.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": listed}]}), encoding="utf-8")
    done = subprocess.run([program("promtool"), "check", "rules", "--lint=none", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(listed)} rules found" in done.stdout


def test_every_series_of_an_expression_is_one_that_there_is():
    names = contract.series_names() | RECORDED
    for expression in everything():
        outside = re.sub(r'"(?:[^"\\]|\\.)*"', '""', expression.text)
        used = {token for token in TOKEN.findall(outside) if "kbench_" in token}
        assert used <= names, expression
        assert used or re.search(r"\b(up|ALERTS)\b", outside), expression


def test_every_series_of_results_devices_and_queue_is_shown_or_not_meant_for_a_chart():
    """What nobody looks at would be exported for nothing."""
    shown = {token for expression in everything() for token in TOKEN.findall(expression.text)}
    unseen = {family.name for family in contract.families().values()
              if not ({family.name} | {f"{family.name}_{part}" for part in ("bucket", "sum", "count")}) & shown}
    # The second is for the words of an alert.
    assert unseen == {"kbench_device_canary_timestamp_seconds", "kbench_device_quarantine_info"}


def test_marks_fire_for_what_they_are_for(tmp_path):
    """Each mark by promtool, over a timeline on which that very thing happens at half past."""
    expressions = {expression.name: expression.text for expression in everything() if expression.kind == "mark"}
    cell = 'kernel="k",implementation="triton",dtype="fp16",size="1",mode="cold",device="gpu0"'
    series = {
        f'kbench_result_regression_state{{{cell},state="confirmed"}}': "0x29 1x5 0x25",
        'kbench_device_info{device="gpu0",epoch=""}': "1x9 stale",
        'kbench_device_info{device="gpu0",epoch="a"}': "_x10 1x19 stale",
        'kbench_device_info{device="gpu0",epoch="b"}': "_x29 1x30",
        f"kbench_result_baseline_duration_seconds{{{cell}}}": "2x29 2.2x30",
        **{f'kbench_device_blocked{{device="gpu0",kind="{kind}"}}': "0x29 1x5 0x25" for kind in ("quarantine", "drain", "hold")},
    }
    one = {"mark Confirmed regressions": ('{device="gpu0",implementation="triton"}', 1), "mark Changed environment": ('{device="gpu0"}', 2),
           "mark Baseline moved": ('{device="gpu0",implementation="triton"}', 1),
           **{f"mark {name}": ('{device="gpu0"}', 1) for name in ("Quarantine", "Drained", "Lent")}}
    assert set(expressions) == set(one)
    cases = [{"expr": expressions[name], "eval_time": when, "exp_samples": [{"labels": labels, "value": value}] if fires else []}
             for name, (labels, value) in one.items() for when, fires in (("12m", False), ("20m", False), ("32m", True), ("50m", False))]
    path = tmp_path / "marks.test.yml"
    path.write_text(yaml.safe_dump({"tests": [{"interval": "1m", "promql_expr_test": cases,
                                               "input_series": [{"series": name, "values": values} for name, values in series.items()]}]}),
                    encoding="utf-8")
    done = subprocess.run([program("promtool"), "test", "rules", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_line_that_is_too_wide_is_refused():
    spec = importlib.util.spec_from_file_location("generate", GRAFANA / "generate.py")
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    from kbench_dashboards.board import Board
    from kbench_dashboards.panels import stat
    board = Board("x", "x", "x", time_from="now-1h", refresh="1m")
    with pytest.raises(ValueError, match="28 columns"):
        board.row("wide", (4, [(14, stat("a", "b", "s", "up")), (14, stat("c", "d", "s", "up"))]))


def test_names_of_provisioning():
    """Data source and provider are files without secrets; addresses come from the environment of whoever starts Grafana."""
    source, = yaml.safe_load((GRAFANA / "provisioning/datasources/prometheus.yaml").read_text(encoding="utf-8"))["datasources"]
    assert source["type"] == "prometheus" and source["uid"] == "kbench-prometheus" and source["url"] == "$KBENCH_PROMETHEUS_URL"
    provider, = yaml.safe_load((GRAFANA / "provisioning/dashboards/kbench.yaml").read_text(encoding="utf-8"))["providers"]
    assert provider["type"] == "file" and provider["options"]["path"] == "$KBENCH_DASHBOARDS" and provider["allowUiUpdates"] is False
