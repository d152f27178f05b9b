"""deploy/prometheus: valid, every alert has its cases, its severity and its section of the runbook, and every series named is one that there is."""
import re
import subprocess

import pytest
import yaml

import contract
from expressions import RULES, rules
from scraped import DEPLOY, ROOT, program

CASES = sorted((ROOT / "tests" / "deploy" / "prometheus").glob("*.test.yml"))
ALERTS = {rule["alert"]: rule for rule in rules(DEPLOY / "alerts.yml") if "alert" in rule}
RECORDED = {rule["record"] for path in RULES for rule in rules(path) if "record" in rule}
# A recording rule's own name has a series of the contract between its colons.
NAMED = re.compile(r"(?<![\w:./])kbench_[a-z0-9_]+(?![\w:/])")
RECORDING = re.compile(r"\b[a-z_]+:[a-z0-9_]+:[a-z0-9_]+\b")


def promtool(*arguments):
    return subprocess.run([program("promtool"), *map(str, arguments)], capture_output=True, text=True, check=False)


def test_configuration_and_rules_are_valid():
    done = promtool("check", "config", DEPLOY / "prometheus.yml")
    assert done.returncode == 0 and "2 rule files found" in done.stdout, done.stdout + done.stderr
    for path in RULES:
        done = promtool("check", "rules", "--lint=all", "--lint-fatal", path)
        assert done.returncode == 0, done.stdout + done.stderr
    assert yaml.safe_load((DEPLOY / "targets.yml").read_text(encoding="utf-8")) == [{"targets": ["127.0.0.1:7601"]}]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_cases(path):
    done = promtool("test", "rules", path)
    assert done.returncode == 0, done.stdout + done.stderr


def cases():
    """(alert, fires) of every case of promtool's."""
    for path in CASES:
        for test in yaml.safe_load(path.read_text(encoding="utf-8"))["tests"]:
            for case in test.get("alert_rule_test", []):
                yield case["alertname"], bool(case["exp_alerts"])


def test_every_alert_has_cases_firing_and_silent():
    wanted = {(name, fires) for name in ALERTS for fires in (False, True)}
    assert wanted - set(cases()) == set()


@pytest.mark.parametrize("name", ALERTS)
def test_alert_says_how_bad_it_is_and_what_to_do(name):
    rule = ALERTS[name]
    assert rule["labels"] == {"severity": rule["labels"]["severity"]} and rule["labels"]["severity"] in ("critical", "warning")
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
    path, anchor = rule["annotations"]["runbook_url"].split("#")
    sections = re.split(r"^## ", (ROOT / path).read_text(encoding="utf-8"), flags=re.MULTILINE)
    section = next(section for section in sections if section.splitlines()[0].lower() == anchor)
    assert section.splitlines()[0] == name
    assert f"({rule['labels']['severity']})" in section
    assert all(word in section for word in ("**Means**", "**Look at**", "**Do**")) and ("kbench-client" in section or "kbench-server" in section)
    table = next(line for line in (DEPLOY / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith(f"| {name} |"))
    assert f"| {rule['labels']['severity']} |" in table


def test_the_runbook_has_no_other_sections():
    found = re.findall(r"^## (.*)$", (DEPLOY / "RUNBOOK.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sorted(found) == sorted(ALERTS)


@pytest.mark.parametrize("path", [*RULES, DEPLOY / "RUNBOOK.md", DEPLOY / "README.md", *CASES], ids=lambda path: path.name)
def test_every_series_named_is_one_that_there_is(path):
    text = path.read_text(encoding="utf-8")
    assert set(NAMED.findall(text)) - contract.series_names() == set()
    recorded = {name for name in RECORDING.findall(text) if "kbench_" in name}
    assert recorded - RECORDED == set()


def test_recorded_series_have_a_level_and_an_operation():
    for name in RECORDED:
        assert re.fullmatch(r"[a-z_]+:kbench_[a-z0-9_]+:[a-z0-9_]+", name), name
