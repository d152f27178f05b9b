"""Performance: how long kernels take, on which implementation, how near to the roof, and what changed."""
from kbench_dashboards import marks
from kbench_dashboards.board import RESULT_LABELS, Board, selector
from kbench_dashboards.panels import GREEN, GREY, RED, YELLOW, Column, bars, stat, states, steps, table, timeseries

CELL = ", ".join(RESULT_LABELS)
HEADINGS = {"kernel": "kernel", "dtype": "dtype", "size": "size", "mode": "mode", "implementation": "implementation", "device": "device"}
LEGEND = "{{implementation}} {{dtype}} {{size}} {{mode}} {{device}}"
ALERTING = {0: ("none", GREEN), 1: ("suspected", YELLOW), 2: ("confirmed", RED)}
SHARES = steps((None, RED), (0.5, YELLOW), (0.8, GREEN))
CHANGES = steps((None, GREEN), (0.02, YELLOW), (0.05, RED))


def of(metric, **more):
    return f"{metric}{{{selector(**more)}}}"


def cells(expr):
    """Without the labels that Prometheus adds, so that the columns of a table fit each other."""
    return f"max by ({CELL}) ({expr})"


def one_of(metric, label, codes):
    """The number of the state that a state set has, for each cell."""
    terms = [f"{code} * {of(metric, **{label: state})}" for state, code in codes.items()]
    return f"max by ({CELL}) ({' or '.join(f'({term} > 0)' for term in terms)})"


def at_a_glance():
    return [
        (4, stat("Cells", "Results that the variables above select: rows of kernel, implementation, dtype, size, mode and device.", "short",
                 f"count({of('kbench_result_timestamp_seconds')})", no_value="0")),
        (4, stat("Confirmed regressions", "Cells slower than their baseline, and slower again when measured again. "
                 "kbench-client why KERNEL DTYPE SIZE says what changed.", "short",
                 f"sum({of('kbench_result_regression_state', state='confirmed')})", thresholds=steps(GREEN, (1, RED)))),
        (4, stat("Suspected", "Cells that are being measured again, because their newest result is slower by every gate.", "short",
                 f"sum({of('kbench_result_regression_state', state='suspected')})", thresholds=steps(GREEN, (1, YELLOW)))),
        (4, stat("Not VALID", "Cells whose newest result is SUSPECT or INVALID: something else moved while it was measured.", "short",
                 f"sum({of('kbench_result_verdict', verdict='suspect')}) + sum({of('kbench_result_verdict', verdict='invalid')})",
                 thresholds=steps(GREEN, (1, YELLOW)))),
        (4, stat("Change against baselines", "Geometric mean of time over baseline, less 1, of the cells selected that have a baseline. "
                 "Above 0 is slower.", "percentunit", f"exp(avg(ln(1 + {of('kbench_result_change_ratio')}))) - 1", thresholds=CHANGES, decimals=2)),
        (4, stat("Newest result", "When the newest of the selected results was stored.", "dateTimeFromNow",
                 f"1000 * max({of('kbench_result_timestamp_seconds')})")),
    ]


def of_a_kernel():
    return [
        (9, [(12, timeseries("Time: $kernel", "Median device time of a launch, newest result of each cell. Lower is better; logarithmic.", "s",
                             [(of("kbench_result_duration_seconds"), LEGEND)], logarithmic=True)),
             (12, bars("Implementations against each other: $kernel", "Speed as a share of the fastest implementation of the same case: dtype, size, "
                       "mode and device. The fastest is at 100 %, also where the variables hide it.", "percentunit",
                       f"sort_desc({of('cell:kbench_result_speed:ratio_fastest')})", LEGEND, maximum=1, thresholds=SHARES))]),
        (8, [(8, timeseries("Throughput: $kernel", "FLOP/s at the median time, by the catalog's model of the kernel. Higher is better.", "flops",
                            [(of("kbench_result_flops_per_second"), LEGEND)], minimum=0)),
             (8, timeseries("Bandwidth: $kernel", "Bytes that the kernel must move, over the median time. Higher is better.", "Bps",
                            [(of("kbench_result_bytes_per_second"), LEGEND)], minimum=0)),
             (8, timeseries("Share of the roof: $kernel", "Of the roof that limits the cell, compute or memory, as the calibration of the device "
                            "measured it. At 100 % nothing is left to gain.", "percentunit",
                            [(of("cell:kbench_result_roof_ratio:max"), LEGEND)], minimum=0))]),
    ]


def roofline():
    percent = "percentunit"
    return table(
        "Roofline", "One row a cell: time, work and traffic, their ratio (FLOP a byte), and the shares of the datasheet's peak and of the measured "
        "roof. A low intensity meets the bandwidth's roof, a high one the compute roof.", HEADINGS,
        [Column("time", "s", cells(of("kbench_result_duration_seconds"))),
         Column("FLOP/s", "flops", cells(of("kbench_result_flops_per_second"))),
         Column("B/s", "Bps", cells(of("kbench_result_bytes_per_second"))),
         Column("FLOP/B", "none", cells(f"{of('kbench_result_flops_per_second')} / {of('kbench_result_bytes_per_second')}"), decimals=1),
         Column("of compute peak", percent, cells(of("kbench_result_peak_flops_ratio")), decimals=1),
         Column("of bandwidth peak", percent, cells(of("kbench_result_peak_bandwidth_ratio")), decimals=1),
         Column("of compute roof", percent, cells(of("kbench_result_roof_flops_ratio")), decimals=1),
         Column("of bandwidth roof", percent, cells(of("kbench_result_roof_bandwidth_ratio")), decimals=1),
         Column("of its roof", percent, cells(of("cell:kbench_result_roof_ratio:max")), decimals=1, thresholds=SHARES)],
        sort_by="of its roof", descending=True)


def verdicts():
    return table(
        "Verdicts and baselines", "One row a cell: may the number be trusted, and how does it stand to its baseline. Noise is the half-width of "
        "the 95 % interval over the median. LEARNING: too few results in this environment; INCOMPARABLE: the pinned baseline is of another one.",
        HEADINGS,
        [Column("verdict", "none", one_of("kbench_result_verdict", "verdict", {"valid": 1, "suspect": 2, "invalid": 3}),
                mappings={1: ("VALID", GREEN), 2: ("SUSPECT", YELLOW), 3: ("INVALID", RED)}),
         Column("regression", "none", one_of("kbench_result_regression_state", "state",
                                             {"none": 1, "learning": 2, "incomparable": 3, "suspected": 4, "confirmed": 5}),
                mappings={1: ("NONE", GREEN), 2: ("LEARNING", GREY), 3: ("INCOMPARABLE", GREY), 4: ("SUSPECTED", YELLOW), 5: ("CONFIRMED", RED)}),
         Column("change", "percentunit", cells(of("kbench_result_change_ratio")), decimals=2, thresholds=CHANGES),
         Column("time", "s", cells(of("kbench_result_duration_seconds"))),
         Column("baseline", "s", cells(of("kbench_result_baseline_duration_seconds"))),
         Column("noise", "percentunit", cells(of("kbench_result_noise_ratio")), decimals=2),
         Column("error", "sci", cells(of("kbench_result_verified_error_ratio"))),
         Column("measured", "dateTimeFromNow", f"1000 * {cells(of('kbench_result_timestamp_seconds'))}")],
        sort_by="change", descending=True)


def regressions():
    named = [f"{code} * {of('kbench_result_regression_state', state=state)}" for code, state in ((1, "suspected"), (2, "confirmed"))]
    devices = selector(["device"])
    return [
        (14, states("Regressions over time", "Cells that were suspected or confirmed at some time of the range shown: "
                    "when it began, and when it was over.",
                    [(f"sum by ({CELL}) ({named[0]} or {named[1]})"
                      f" and on ({CELL}) (max_over_time({of('kbench_result_regression_state', state='suspected')}[$__range]) == 1"
                      f" or max_over_time({of('kbench_result_regression_state', state='confirmed')}[$__range]) == 1)",
                      "{{kernel}} " + LEGEND)], ALERTING)),
        (10, timeseries("Suspicions and what became of them", "Rejected ones are false alarms that measuring again found out; "
                         "lapsed ones were not measured again in time.", "short",
                        [(f"sum(increase(kbench_regressions_{what}_total{{{devices}}}[$__rate_interval]))", what)
                         for what in ("suspected", "confirmed", "rejected", "lapsed", "cleared")], bars=True, minimum=0)),
    ]


def closely():
    return [
        (9, [(12, timeseries("Median with its interval and the samples' range",
                             "Meant for one cell: choose kernel, implementation, dtype, size, mode and "
                             "device above. Low and high are the ends of the 95 % interval of the median; baseline is what it is compared with.", "s",
                             [(of(f"kbench_result_duration_{part}seconds"), f"{name} {LEGEND}")
                              for part, name in (("", "median"), ("low_", "low"), ("high_", "high"), ("min_", "minimum"), ("p99_", "p99"))]
                             + [(of("kbench_result_baseline_duration_seconds"), f"baseline {LEGEND}")])),
             (12, timeseries("Change against the baseline", "Time over the baseline's, less 1; above 0 is slower.", "percentunit",
                             [(of("kbench_result_change_ratio"), "{{kernel}} " + LEGEND)], lines=CHANGES))]),
        (8, [(8, timeseries("Cost of a launch on the host", "Median time to enqueue a launch. Where it exceeds the device's time, "
                            "the launch decides.", "s",
                            [(of("kbench_result_host_submit_seconds"), "{{kernel}} " + LEGEND)], minimum=0)),
             (8, timeseries("Energy", "Of a launch, where the device tells it.", "joule",
                            [(of("kbench_result_energy_joules"), "{{kernel}} " + LEGEND)], minimum=0)),
             (8, timeseries("Noise", "Half-width of the 95 % interval over the median.", "percentunit",
                            [(of("kbench_result_noise_ratio"), "{{kernel}} " + LEGEND)], minimum=0))]),
    ]


def series_kept():
    return [
        (12, timeseries("Results stored", "Results by verdict.", "short",
                        [(f"sum by (verdict) (increase(kbench_results_total{{{selector(['device'])}}}[$__rate_interval]))", "{{verdict}}")],
                        bars=True, stacked=True, minimum=0)),
        (12, timeseries("Label sets that went", "Results of ad-hoc cells leave Prometheus when newer ones need their place; in kbench they stay. "
                        "--ad-hoc-series of the coordinator is how many are kept.", "short",
                        [("sum(increase(kbench_result_series_evicted_total[$__rate_interval]))", "evicted")], bars=True, minimum=0)),
    ]


def dashboard():
    board = Board("kbench-performance", "kbench: Performance",
                  "Newest result of every cell at default flush and precision: time, throughput, share of the roof, "
                  "implementations against each other, verdicts and regressions.", time_from="now-7d", refresh="1m")
    board.variables(RESULT_LABELS, "kbench_result_timestamp_seconds", {"mode": "cold"})
    board.marks([marks.regressions(), marks.environment(), marks.baselines(), marks.quarantine()])
    board.row("At a glance", (4, at_a_glance()))
    board.row("$kernel", *of_a_kernel(), repeat="kernel")
    board.row("Roofline", (10, [(24, roofline())]))
    board.row("Verdicts and regressions", (10, [(24, verdicts())]), (9, regressions()))
    board.row("A cell from close by", *closely())
    board.row("What is kept", (7, series_kept()))
    return board
