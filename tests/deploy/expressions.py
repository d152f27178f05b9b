"""Every PromQL expression of dashboards and rules, with the name by which a test may call it."""
import json
import pathlib
import re
from dataclasses import dataclass

import yaml

ROOT = pathlib.Path(__file__).parents[2]
DASHBOARDS = sorted((ROOT / "deploy" / "grafana" / "dashboards").glob("*.json"))
RULES = [ROOT / "deploy" / "prometheus" / name for name in ("recording.yml", "alerts.yml")]
VARIABLES = {"$__rate_interval": "15s", "$__range": "1m", "$__interval": "15s"}
LABEL_VALUES = re.compile(r"^label_values\((?P<expr>.*), *(?P<label>\w+)\)$")


@dataclass(frozen=True)
class Expression:
    source: str  # "performance", "queue", "devices", "recording", "alerts"
    kind: str    # panel, mark, variable, record, alert
    name: str    # "Depth A", "KbenchWorkerDown"
    text: str

    @property
    def key(self):
        return f"{self.source}: {self.name}"


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def plain(text):
    """As Prometheus gets it, with everything selected."""
    for name, value in VARIABLES.items():
        text = text.replace(name, value)
    return re.sub(r'"\$\w+"', '".+"', text)


def of_dashboard(path):
    board, source = load(path), path.stem
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            yield Expression(source, "panel", f"{panel['title']} {target['refId']}", plain(target["expr"]))
    for mark in board["annotations"]["list"]:
        yield Expression(source, "mark", f"mark {mark['name']}", plain(mark["expr"]))
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            yield Expression(source, "variable", f"variable {variable['name']}", plain(LABEL_VALUES.match(variable["query"]["query"])["expr"]))


def rules(path):
    for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]:
        yield from group["rules"]


def of_rules(path):
    for rule in rules(path):
        kind = "record" if "record" in rule else "alert"
        yield Expression(path.stem, kind, rule[kind], rule["expr"])


def everything():
    return [expression for path in DASHBOARDS for expression in of_dashboard(path)] + [expression for path in RULES for expression in of_rules(path)]
