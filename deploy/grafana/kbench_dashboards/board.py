"""A dashboard: variables, marks, rows of panels on Grafana's grid of 24 columns, and its JSON."""
import json

from grafana_foundation_sdk.builders import dashboard as builder
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard as model

from kbench_dashboards.panels import DATASOURCE

# Labels of a result, in the order in which one narrows down; each is chosen among what the ones before leave.
RESULT_LABELS = ["device", "kernel", "implementation", "dtype", "size", "mode"]
ALL = ".+"


def selector(labels=None, **more):
    """Label matchers for the variables of these names: `device=~"$device",...`."""
    parts = [f'{label}=~"${label}"' for label in (RESULT_LABELS if labels is None else labels)]
    return ",".join(parts + [f'{label}="{value}"' for label, value in more.items()])


def _datasource_variable():
    return builder.DatasourceVariable("datasource").label("Data source").type("prometheus").description("The Prometheus that scrapes the coordinator")


def _label_variable(label, metric, before, chosen):
    query = {"qryType": 1, "query": f"label_values({metric}{{{selector(before)}}}, {label})" if before else f"label_values({metric}, {label})",
             "refId": "PrometheusVariableQueryEditor-VariableQuery"}
    text, value = ("All", "$__all") if chosen is None else (chosen, chosen)
    variable = builder.QueryVariable(label).label(label.capitalize()).datasource(DATASOURCE).query(query)
    variable.multi(True).include_all(True).all_value(ALL).refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED)
    variable.sort(model.VariableSort.NATURAL_ASC)
    return variable.current(model.VariableOption(selected=True, text=[text], value=[value]))


def mark(name, color, expr, title, text, labels):
    """A mark on every chart where `expr` is above 0; `text` may name labels as {{label}}."""
    return {"name": name, "color": color, "expr": expr, "title": title, "text": text, "labels": labels}


class Board:
    """Rows are added from top to bottom; a panel's width is given in columns, its height by its row."""

    def __init__(self, uid, title, description, *, time_from, refresh):
        self._marks = []
        self._y = 0
        self._next_id = 1
        self._builder = (builder.Dashboard(title).uid(uid).description(description).tags(["kbench"]).editable().timezone("browser")
                         .tooltip(model.DashboardCursorSync.CROSSHAIR).time(time_from, "now").refresh(refresh).version(1).preload(False))
        self._builder.link(builder.DashboardLink("kbench").type(model.DashboardLinkType.DASHBOARDS).tags(["kbench"])
                           .include_vars(True).keep_time(True).icon("external link").tooltip("The other dashboards of kbench"))
        self._builder.with_variable(_datasource_variable())

    def variables(self, labels, metric, chosen=None):
        """One variable a label, each narrowed by those before it; `chosen` has those that do not begin at All."""
        for index, label in enumerate(labels):
            self._builder.with_variable(_label_variable(label, metric, labels[:index], (chosen or {}).get(label)))

    def marks(self, marks):
        self._marks += marks
        for one in marks:
            self._builder.annotation(builder.AnnotationQuery().name(one["name"]).datasource(DATASOURCE).enable(True).hide(False)
                                     .icon_color(one["color"]).expr(one["expr"]))

    def row(self, title, *lines, repeat=None):
        """`lines` are (height, [(width, panel), ...]), each at most 24 columns wide."""
        row = builder.Row(title).id(self._take_id()).grid_pos(model.GridPos(h=1, w=24, x=0, y=self._y))
        self._builder.with_row(row.repeat(repeat) if repeat else row)
        self._y += 1
        for height, panels in lines:
            x = 0
            for width, panel in panels:
                self._builder.with_panel(panel.id(self._take_id()).grid_pos(model.GridPos(h=height, w=width, x=x, y=self._y)))
                x += width
            if x > 24:
                raise ValueError(f"row {title!r}: {x} columns, there are 24")
            self._y += height

    def _take_id(self):
        self._next_id += 1
        return self._next_id - 1

    def json(self):
        plain = json.loads(json.dumps(self._builder.build(), cls=JSONEncoder))
        plain["id"] = None  # a provisioned dashboard has none of its own
        # What Prometheus's annotations have beyond the model that all data sources share.
        for annotation, one in zip(plain["annotations"]["list"], self._marks, strict=True):
            annotation.update(titleFormat=one["title"], textFormat=one["text"], tagKeys=",".join(one["labels"]), step="60s", useValueForTime=False)
        return json.dumps(plain, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
