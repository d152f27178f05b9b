"""Queue: what runs, what is next, who waits how long for what, and how well the coordinator keeps up."""
from kbench_dashboards import marks
from kbench_dashboards.board import Board, selector
from kbench_dashboards.panels import GREEN, RED, YELLOW, Column, bars, heatmap, stat, steps, table, timeseries

DEVICE = selector(["device"])
WAITS = steps(GREEN, (600, YELLOW), (1800, RED))
PAST_CAP = steps(GREEN, (0.75, YELLOW), (0.9, RED))


def per_minute(metric, by, matchers=""):
    chosen = f"{metric}{{{matchers}}}" if matchers else metric
    return f"60 * sum by ({by}) (rate({chosen}[$__rate_interval]))"


def quantile(share, metric, by=""):
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({share}, sum by ({labels}) (rate({metric}_bucket[$__rate_interval])))"


def at_a_glance():
    return [
        (4, stat("Waiting cases", "Cases of all classes that wait for a device.", "short", "sum(kbench_queue_cases)")),
        (4, stat("Waiting jobs", "Jobs of all classes that wait.", "short", "sum(kbench_queue_jobs)")),
        (4, stat("Running cases", "Cases that a worker is running.", "short", "sum(kbench_running_cases)")),
        (4, stat("Oldest interactive wait", "How long the oldest waiting interactive job has waited. A dash: none waits.", "s",
                 'max(class:kbench_queue_wait_seconds:oldest{class="interactive"})', thresholds=WAITS)),
        (4, stat("Jobs in the last hour", "Jobs that ended in the last hour, whatever their state.", "short",
                 "sum(increase(kbench_jobs_completed_total[1h]))", decimals=0)),
        (4, stat("Devices busy", "Part of the last five minutes that the selected devices spent in attempts.", "percentunit",
                 f"avg(device:kbench_device_busy_seconds:rate5m{{{DEVICE}}})")),
    ]


def now_and_next():
    running = f"max by (device, owner, class, case) (kbench_device_running_info{{{DEVICE}}})"
    return [
        (12, table("Now running", "What each device runs, whose it is, and since when. Empty: nothing of kbench's runs.",
                   {"device": "device", "case": "case", "owner": "owner", "class": "class"},
                   [Column("since", "dateTimeFromNow", f"1000 * {running} * on (device) group_left ()"
                           f" max by (device) (kbench_device_running_start_timestamp_seconds{{{DEVICE}}})")], sort_by="device")),
        (12, table("Next", "The first five waiting jobs, in the order in which they would start if nothing else came. "
                   "kbench-client queue has them all.",
                   {"position": "position", "case": "case", "owner": "owner", "class": "class", "selector": "devices"},
                   [Column("", "none", "max by (position, case, owner, class, selector) (kbench_queue_next_info)")], sort_by="position")),
    ]


def depth():
    return [
        (8, timeseries("Depth", "Cases that wait, by class.", "short", [("sum by (class) (kbench_queue_cases)", "{{class}}")], stacked=True,
                       minimum=0)),
        (8, timeseries("Waiting jobs", "Jobs that wait, by class.", "short", [("sum by (class) (kbench_queue_jobs)", "{{class}}")], stacked=True,
                       minimum=0)),
        (8, timeseries("Oldest wait", "Time since the submission of the oldest waiting job, by class. A class without a line has none.", "s",
                       [("class:kbench_queue_wait_seconds:oldest", "{{class}}")], minimum=0, lines=WAITS)),
    ]


def waits():
    return [
        (12, heatmap("Waits", "How many jobs waited how long from their submission to their start.", "s",
                     "sum by (le) (increase(kbench_job_queue_duration_seconds_bucket[$__rate_interval]))")),
        (12, timeseries("Waits and runs", "Quantiles: wait from submission to start, run from start to end.", "s",
                        [(quantile(share, f"kbench_job_{what}_duration_seconds"), f"{what} p{round(share * 100)}")
                         for what in ("queue", "run") for share in (0.5, 0.95)], minimum=0)),
    ]


def in_use(by):
    """Devices in use on average: at how many scrapes something ran, over the scrapes that there were."""
    seen = f"sum by ({by}) (sum_over_time(kbench_device_running_info{{{DEVICE}}}[$__range]))"
    return f'sort_desc({seen} / scalar(sum(count_over_time(up{{job="kbench"}}[$__range]))))'


def who():
    return [
        (8, bars("Devices in use, by owner", "How many devices an owner had in use, on average over the range shown, as the scrapes saw it.", "none",
                 in_use("owner"), "{{owner}}")),
        (8, bars("Devices in use, by class", "The same by class.", "none", in_use("class"), "{{class}}")),
        (8, timeseries("Devices in use", "Seconds of a second that each device spends in attempts; 1 is always.", "percentunit",
                       [(f"device:kbench_device_busy_seconds:rate5m{{{DEVICE}}}", "{{device}}")], minimum=0)),
    ]


def throughput():
    return [
        (8, timeseries("Jobs a minute", "Jobs submitted, and jobs that ended, by their final state.", "short",
                       [("60 * sum(rate(kbench_jobs_submitted_total[$__rate_interval]))", "submitted"),
                        (per_minute("kbench_jobs_completed_total", "state"), "{{state}}")], minimum=0)),
        (8, timeseries("Attempts a minute", "By outcome: infra is a fault of kbench or the machine, lost one whose worker did not answer.", "short",
                       [(per_minute("kbench_attempts_total", "outcome"), "{{outcome}}")], stacked=True, minimum=0)),
        (8, timeseries("Results a minute", "Rows stored, by device.", "short", [(per_minute("kbench_results_total", "device", DEVICE), "{{device}}")],
                       stacked=True, minimum=0)),
    ]


def jobs_and_gaps():
    return [
        (8, timeseries("Jobs that have not ended", "Queued and running.", "short", [("sum by (state) (kbench_jobs)", "{{state}}")], stacked=True,
                       minimum=0)),
        (8, timeseries("Gap between cases", "From the end of a case to the start of the next one of its job on the same device: "
                       "what kbench itself costs.", "s",
                       [(quantile(share, "kbench_case_gap_seconds"), f"p{round(share * 100)}") for share in (0.5, 0.95)], minimum=0)),
        (8, timeseries("Leases", "Held now; and, in each step of the chart, expired and stale ones (fenced off: a newer attempt held the case).",
                       "short",
                       [("sum(kbench_leases)", "held"), ("sum(increase(kbench_lease_expirations_total[$__rate_interval]))", "expired"),
                        ("sum(increase(kbench_stale_results_total[$__rate_interval]))", "stale results")], minimum=0)),
    ]


def schedules():
    return table("Schedules", "Suites that run at fixed times. Age is the time since the last run ended, in intervals of the schedule: at 2 an alert "
                 "is raised. No next run: it is paused.", {"schedule": "schedule"},
                 [Column("next run", "dateTimeFromNow", "1000 * max by (schedule) (kbench_schedule_next_timestamp_seconds)"),
                  Column("last ended", "dateTimeFromNow", "1000 * max by (schedule) (kbench_schedule_last_timestamp_seconds)"),
                  Column("interval", "s", "max by (schedule) (kbench_schedule_interval_seconds)"),
                  Column("age", "none", "max by (schedule) (schedule:kbench_schedule_age:intervals)", decimals=2,
                         thresholds=steps(GREEN, (1.5, YELLOW), (2, RED))),
                  Column("skipped", "short", "max by (schedule) (kbench_schedule_skipped_total)")], sort_by="schedule")


def coordinator():
    return [
        (8, [(8, timeseries("Calls", "gRPC calls a second by status code; streams count when they end.", "reqps",
                            [("sum by (code) (rate(kbench_grpc_server_handled_total[$__rate_interval]))", "{{code}}")], stacked=True, minimum=0)),
             (8, timeseries("Latency of calls", "99 % of the calls of a method take no longer. Streams are not in it.", "s",
                            [(quantile(0.99, "kbench_grpc_server_handling_seconds", "method"), "{{method}}")], logarithmic=True)),
             (8, timeseries("Commits", "Time of a commit of the store: what a submit waits for.", "s",
                            [(quantile(share, "kbench_store_commit_duration_seconds"), f"p{round(share * 100)}") for share in (0.5, 0.99)],
                            minimum=0))]),
        (8, [(8, timeseries("Kept by the coordinator", "Bytes by kind: results, samples, logs, artifacts, events, the file, its log and backups.",
                            "bytes",
                            [("sum by (kind) (kbench_store_bytes)", "{{kind}}")], minimum=0)),
             (8, bars("Of its cap", "Bytes kept as a share of what may be kept, where there is a cap. At the cap the oldest go.", "percentunit",
                      "sort_desc(max by (kind) (kbench_store_bytes / kbench_store_cap_bytes))", "{{kind}}", maximum=1, thresholds=PAST_CAP)),
             (4, timeseries("Watchers", "Open streams of people and programs that follow jobs or the queue.", "short",
                            [("sum(kbench_watchers)", "open")], minimum=0)),
             (4, table("Build", "The coordinator that is scraped, and whether it answers.", {"version": "version", "revision": "revision"},
                       [Column("answers", "none", "max by (version, revision) (kbench_build_info) * on () group_left () min(up{job=\"kbench\"})",
                               mappings={0: ("no", RED), 1: ("yes", GREEN)})]))]),
    ]


def dashboard():
    board = Board("kbench-queue", "kbench: Queue", "What runs and what is next, how deep the queue is and how long jobs wait, who uses what, "
                  "and the coordinator itself.", time_from="now-6h", refresh="15s")
    board.variables(["device"], "kbench_device_info")
    board.marks([marks.quarantine(), marks.drained(), marks.lent()])
    board.row("At a glance", (4, at_a_glance()))
    board.row("Now and next", (6, now_and_next()))
    board.row("Depth and waits", (8, depth()), (8, waits()))
    board.row("Who uses what", (8, who()))
    board.row("Throughput", (8, throughput()), (8, jobs_and_gaps()))
    board.row("Schedules", (6, [(24, schedules())]))
    board.row("The coordinator", *coordinator())
    return board
