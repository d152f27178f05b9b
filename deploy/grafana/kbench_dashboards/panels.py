"""The kinds of panel that the dashboards use, each with what every panel must have: title, description, unit, data source and queries named A, B, ...

Only kinds that Grafana 10 to 13 have in its core, and only the classic model.
"""
import string
from dataclasses import dataclass, field

from grafana_foundation_sdk.builders import bargauge, common, heatmap as heatmap_builder, prometheus, stat as stat_builder, statetimeline
from grafana_foundation_sdk.builders import dashboard as dashboard_builder
from grafana_foundation_sdk.builders import table as table_builder
from grafana_foundation_sdk.builders import timeseries as timeseries_builder
from grafana_foundation_sdk.models import common as common_model
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models import heatmap as heatmap_model
from grafana_foundation_sdk.models import prometheus as prometheus_model

DATASOURCE = model.DataSourceRef(type_val="prometheus", uid="${datasource}")

GREEN, YELLOW, RED, BLUE, GREY, PURPLE = "green", "yellow", "red", "blue", "#808080", "purple"


def _query(index, expr, legend, *, instant=False, shape=prometheus_model.PromQueryFormat.TIME_SERIES):
    query = prometheus.Dataquery().datasource(DATASOURCE).ref_id(string.ascii_uppercase[index]).expr(expr).format(shape)
    if legend:
        query.legend_format(legend)
    return query.instant() if instant else query.range()


def _dress(panel, title, description, unit):
    return panel.title(title).description(description).unit(unit).datasource(DATASOURCE)


def steps(*pairs):
    """Thresholds: the colour below the first value, then (value, colour) pairs."""
    first, *rest = pairs
    values = [model.Threshold(value=None, color=first)] + [model.Threshold(value=value, color=color) for value, color in rest]
    return dashboard_builder.ThresholdsConfig().mode(model.ThresholdsMode.ABSOLUTE).steps(values)


def words(named):
    """Value mappings: {number: (text, colour)}."""
    return [model.ValueMap(options={str(value): model.ValueMappingResult(text=text, color=color, index=index)
                                    for index, (value, (text, color)) in enumerate(named.items())})]


def timeseries(title, description, unit, queries, *, stacked=False, logarithmic=False, minimum=None, maximum=None, bars=False, lines=None):
    """`queries` are (expression, legend); `lines` are thresholds drawn as lines."""
    panel = _dress(timeseries_builder.Panel(), title, description, unit)
    for index, (expr, legend) in enumerate(queries):
        panel.with_target(_query(index, expr, legend))
    legend = common.VizLegendOptions().display_mode(common_model.LegendDisplayMode.TABLE).placement(common_model.LegendPlacement.RIGHT)
    panel.legend(legend.show_legend(True).calcs(["lastNotNull"]).sort_by("Last *").sort_desc(True))
    panel.tooltip(common.VizTooltipOptions().mode(common_model.TooltipDisplayMode.MULTI).sort(common_model.SortOrder.DESCENDING))
    panel.line_width(1).show_points(common_model.VisibilityMode.NEVER).color_scheme(
        dashboard_builder.FieldColor().mode(model.FieldColorModeId.PALETTE_CLASSIC_BY_NAME))
    panel.fill_opacity(25 if stacked or bars else 0)
    if stacked:
        panel.stacking(common.StackingConfig().mode(common_model.StackingMode.NORMAL).group("A"))
    if bars:
        panel.draw_style(common_model.GraphDrawStyle.BARS)
    if logarithmic:
        panel.scale_distribution(common.ScaleDistributionConfig().type(common_model.ScaleDistribution.LOG).log(10))
    if minimum is not None:
        panel.min(minimum)
    if maximum is not None:
        panel.max(maximum)
    if lines is not None:
        panel.thresholds(lines)
        panel.thresholds_style(common.GraphThresholdsStyleConfig().mode(common_model.GraphThresholdsStyleMode.DASHED))
    return panel


def stat(title, description, unit, expr, *, thresholds=None, no_value="-", decimals=None):
    panel = _dress(stat_builder.Panel(), title, description, unit).no_value(no_value)
    panel.with_target(_query(0, expr, "", instant=True))
    panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    panel.graph_mode(common_model.BigValueGraphMode.NONE)
    panel.color_mode(common_model.BigValueColorMode.VALUE)
    panel.thresholds(thresholds or steps(BLUE))
    return panel.decimals(decimals) if decimals is not None else panel


def bars(title, description, unit, expr, legend, *, maximum=None, thresholds=None):
    panel = _dress(bargauge.Panel(), title, description, unit)
    panel.with_target(_query(0, expr, legend, instant=True))
    panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    panel.orientation(common_model.VizOrientation.HORIZONTAL).display_mode(common_model.BarGaugeDisplayMode.BASIC)
    panel.thresholds(thresholds or steps(BLUE)).min(0)
    return panel.max(maximum) if maximum is not None else panel


def states(title, description, queries, named):
    """A band for each series, coloured by the number it holds; `named` as for words(). A number here is a name, so it has no unit."""
    panel = _dress(statetimeline.Panel(), title, description, "none")
    for index, (expr, legend) in enumerate(queries):
        panel.with_target(_query(index, expr, legend))
    panel.mappings(words(named)).merge_values(True).show_value(common_model.VisibilityMode.AUTO).row_height(0.8)
    panel.line_width(0).fill_opacity(70)
    panel.legend(common.VizLegendOptions().display_mode(common_model.LegendDisplayMode.LIST)
                 .placement(common_model.LegendPlacement.BOTTOM).show_legend(True))
    return panel


def heatmap(title, description, unit, expr):
    """Of a histogram: `expr` gives the increase of its buckets by `le`."""
    panel = _dress(heatmap_builder.Panel(), title, description, "short")
    panel.with_target(_query(0, expr, "{{le}}", shape=prometheus_model.PromQueryFormat.HEATMAP))
    panel.calculate(False).y_axis(heatmap_builder.YAxisConfig().unit(unit))
    return panel.color(heatmap_builder.HeatmapColorOptions().mode(heatmap_model.HeatmapColorMode.SCHEME).scheme("Oranges").steps(64))


@dataclass
class Column:
    """A value of a table's rows, from an instant query that keeps the table's labels."""
    heading: str  # empty: not shown, the labels say it all
    unit: str
    expr: str
    decimals: int | None = None
    mappings: dict = field(default_factory=dict)  # as for words()
    thresholds: object = None


def _override(column):
    properties = [model.DynamicConfigValue(id_val="unit", value=column.unit)]
    if column.decimals is not None:
        properties.append(model.DynamicConfigValue(id_val="decimals", value=column.decimals))
    if column.mappings:
        properties.append(model.DynamicConfigValue(id_val="mappings", value=words(column.mappings)))
    if column.thresholds is not None:
        properties.append(model.DynamicConfigValue(id_val="thresholds", value=column.thresholds.build()))
    if column.mappings or column.thresholds is not None:
        properties.append(model.DynamicConfigValue(id_val="custom.cellOptions", value={"type": "color-text"}))
    return properties


def table(title, description, labels, columns, *, sort_by=None, descending=False):
    """A row for each set of `labels` ({label: heading}), merged from the columns' queries, which must give these labels and no others."""
    panel = _dress(table_builder.Panel(), title, description, "none").filterable(True).cell_height(common_model.TableCellHeight.SM)
    names, hidden = dict(labels), {"Time": True}
    for index, column in enumerate(columns):
        panel.with_target(_query(index, column.expr, "", instant=True, shape=prometheus_model.PromQueryFormat.TABLE))
        value = "Value" if len(columns) == 1 else f"Value #{string.ascii_uppercase[index]}"
        if column.heading:
            names[value] = column.heading
            panel.override_by_name(column.heading, _override(column))
        else:
            hidden[value] = True
    panel.with_transformation(model.DataTransformerConfig(id_val="merge", options={}))
    panel.with_transformation(model.DataTransformerConfig(id_val="organize", options={
        "excludeByName": hidden, "indexByName": {name: index for index, name in enumerate(names)}, "renameByName": names}))
    if sort_by is not None:
        panel.sort_by([common.TableSortByFieldState().display_name(sort_by).desc(descending)])
    return panel
