"""Devices: what state they are in and why, clocks, power and throttling, what they spend their time on, and their canaries."""
from kbench_dashboards import marks
from kbench_dashboards.board import Board, selector
from kbench_dashboards.panels import BLUE, GREEN, GREY, PURPLE, RED, YELLOW, Column, stat, states, steps, table, timeseries

DEVICE = selector(["device"])
NAME = {"device": "device"}
STATES = {"CALIBRATING": PURPLE, "READY": GREEN, "BUSY": BLUE, "HELD": "light-blue", "DRAINING": "light-orange", "DRAINED": "orange",
          "QUARANTINED": YELLOW, "OFFLINE": GREY, "WEDGED": RED, "FAILED": "dark-red"}
CODES = {code: (name, color) for code, (name, color) in enumerate(STATES.items(), start=1)}
CANARY = steps(RED, (0.97, GREEN), (1.03, RED))


def of(metric, more=""):
    return f"{metric}{{{DEVICE}{',' if more else ''}{more}}}"


def by_device(metric):
    return f"max by (device) ({of(metric)})"


def state_code():
    """The number of the state that a device is in."""
    terms = [f"({code} * kbench_device_state{{{DEVICE},state=\"{name}\"}} > 0)" for code, (name, _) in CODES.items()]
    return f"max by (device) ({' or '.join(terms)})"


def at_a_glance():
    def count(name, description, expr, thresholds):
        return 4, stat(name, description, "short", expr, thresholds=thresholds, no_value="0")
    usable = of("kbench_device_state", 'state=~"READY|BUSY|HELD"')
    lost = of("kbench_device_state", 'state=~"OFFLINE|WEDGED|FAILED"')
    set_aside = of("kbench_device_blocked", 'kind=~"drain|hold"')
    quarantined = of("kbench_device_blocked", 'kind="quarantine"')
    return [
        count("Usable", "Devices that take cases, have one, or are lent.", f"sum({usable})", steps(RED, (1, GREEN))),
        count("Set aside", "Devices that somebody drains or has lent. Their alerts are silent.",
              f"count(max by (device) ({set_aside}) == 1)", steps(GREEN, (1, YELLOW))),
        count("In quarantine", "Devices whose numbers are not trusted.", f"sum({quarantined})", steps(GREEN, (1, RED))),
        count("Lost", "Devices that are offline, do not answer, or failed their calibration.", f"sum({lost})", steps(GREEN, (1, RED))),
        count("Canaries that drift", "Devices that are not what they were: their results are SUSPECT.", f"sum({of('kbench_device_canary_drifting')})",
              steps(GREEN, (1, YELLOW))),
        count("Alerts", "Alerts of kbench that fire, of all devices and the coordinator.", 'count(ALERTS{alertname=~"Kbench.*",alertstate="firing"})',
              steps(GREEN, (1, RED))),
    ]


def facts():
    return table("Facts", "Each device known: what it is, where, with which driver, and when its worker was last heard. The epoch changes with its "
                 "environment (driver, engine, clock policy, ECC, MIG profile).",
                 {"device": "device", "model": "model", "architecture": "architecture", "kind": "kind", "driver": "driver", "hostname": "host",
                  "epoch": "epoch", "uuid": "UUID"},
                 [Column("heard", "dateTimeFromNow",
                         f"1000 * max by (device, model, architecture, kind, driver, hostname, epoch, uuid) ({of('kbench_device_info')})"
                         f" * on (device) group_left () {by_device('kbench_worker_last_heartbeat_timestamp_seconds')}")], sort_by="device")


def alerts():
    return table("Firing alerts", "What deploy/prometheus/RUNBOOK.md has a section for. Empty is good.",
                 {"alertname": "alert", "severity": "severity", "device": "device", "implementation": "implementation", "schedule": "schedule",
                  "class": "class", "kind": "kind"},
                 [Column("", "none", 'max by (alertname, severity, device, implementation, schedule, class, kind)'
                         ' (ALERTS{alertname=~"Kbench.*",alertstate="firing"})')], sort_by="severity")


def condition():
    return [
        (16, states("State", "What each device is: READY takes cases, BUSY runs one, HELD is lent.", [(state_code(), "{{device}}")], CODES)),
        (8, states("Worker", "Whether the worker of each device is connected.", [(by_device("kbench_worker_up"), "{{device}}")],
                   {0: ("away", RED), 1: ("up", GREEN)})),
    ]


def telemetry():
    def chart(title, description, unit, metric, **options):
        return timeseries(title, description, unit, [(of(metric), "{{device}}")], **options)
    return [
        (8, [(8, chart("Clock", "Of the SMs; of a CPU the mean of its cores. As of the worker's last heartbeat.", "hertz",
                       "kbench_device_clock_hertz")),
             (8, chart("Memory clock", "Of the device's memory; seldom changes but with a power state.", "hertz",
                       "kbench_device_memory_clock_hertz")),
             (8, chart("Temperature", "Of the device. Near its limit it lowers its clocks: see Throttling.", "celsius",
                       "kbench_device_temperature_celsius"))]),
        (8, [(8, chart("Power", "What the device draws.", "watt", "kbench_device_power_watts", minimum=0)),
             (8, timeseries("Energy", "Used in each step of the chart, by the device's own counter.", "joule",
                            [(f"sum by (device) (increase({of('kbench_device_energy_joules_total')}[$__rate_interval]))", "{{device}}")], bars=True,
                            minimum=0)),
             (8, timeseries("Throttling", "Share of the time for which the device held its clocks back, by reason.", "percentunit",
                            [(f"sum by (device, reason) (rate({of('kbench_device_throttle_seconds_total')}[$__rate_interval]))",
                              "{{device}} {{reason}}")],
                            minimum=0))]),
    ]


def busy():
    phases = "device_phase:kbench_device_busy_seconds:rate5m"
    measure, burst, whole = of(phases, 'phase="measure"'), of(phases, 'phase="burst"'), of(phases, 'phase!="burst"')
    return [
        (12, timeseries("Busy, by phase", "Seconds of a second in attempts. Measure contains burst, which is drawn in the chart beside it.",
                        "percentunit",
                        [(whole, "{{device}} {{phase}}")], stacked=True, minimum=0)),
        (6, timeseries("In bursts", "Part of the phase measure in which the device was timed.", "percentunit",
                       [(f"{burst} / on (device) {measure}", "{{device}}")], minimum=0, maximum=1)),
        (6, timeseries("Attempts and their results", "Results stored in each step of the chart, by verdict.", "short",
                       [(f"sum by (device, verdict) (increase({of('kbench_results_total')}[$__rate_interval]))", "{{device}} {{verdict}}")],
                       bars=True, minimum=0)),
    ]


def canaries():
    return [
        (12, timeseries("Canary", "Time of the newest canary over the device's earlier ones. The dashed lines are the usual bound of a GPU, 3 %.",
                        "none",
                        [(of("kbench_device_canary_ratio"), "{{device}}")], lines=CANARY)),
        (6, timeseries("Bad canaries", "Share of the last day's canaries that could not be used. Above a fifth an alert is raised.", "percentunit",
                       [(of("device:kbench_device_bad_canaries:ratio_1d"), "{{device}}")], minimum=0, lines=steps(GREEN, (0.2, RED)))),
        (6, timeseries("Between sessions", "Standard deviation of a median between sessions, from canaries: "
                       "what two results of different days may differ by.", "percentunit",
                       [(of("kbench_device_between_session_ratio"), "{{device}}")], minimum=0)),
    ]


def others():
    return [
        (8, timeseries("Foreign processes", "Processes on the device that kbench did not start.", "short",
                       [(of("kbench_device_foreign_processes"), "{{device}}")], minimum=0)),
        (8, timeseries("Foreign use", "Share of the device's time that others took; on a CPU also what the hypervisor took.", "percentunit",
                       [(of("kbench_device_foreign_utilization_ratio"), "{{device}} others"),
                        (of("kbench_device_steal_ratio"), "{{device}} hypervisor")],
                       minimum=0)),
        (4, timeseries("Foreign memory", "Of the device, in use by others.", "bytes", [(of("kbench_device_foreign_memory_bytes"), "{{device}}")],
                       minimum=0)),
        (4, timeseries("Load", "Processes of others that wait for the CPU.", "short", [(of("kbench_device_load"), "{{device}}")], minimum=0)),
    ]


def calibration():
    columns = [("passed", "none", "kbench_device_calibration_passed", {0: ("no", RED), 1: ("yes", GREEN)}),
               ("event floor", "s", "kbench_device_event_floor_seconds", {}), ("null kernel", "s", "kbench_device_null_kernel_seconds", {}),
               ("event cost", "s", "kbench_device_event_cost_seconds", {}), ("quantum", "s", "kbench_device_clock_quantum_seconds", {}),
               ("read", "Bps", "kbench_device_read_bandwidth_bytes_per_second", {}),
               ("write", "Bps", "kbench_device_write_bandwidth_bytes_per_second", {}),
               ("copy", "Bps", "kbench_device_copy_bandwidth_bytes_per_second", {}), ("sessions", "short", "kbench_device_canaries", {})]
    return [
        (16, table("Calibration", "What the stopwatch costs on each device, and the roofs of its memory, measured when its worker began.", NAME,
                   [Column(heading, unit, by_device(metric), mappings=mappings) for heading, unit, metric, mappings in columns], sort_by="device")),
        (8, table("Compute roofs", "Rate of the library's best matrix product, by dtype.", {"device": "device", "dtype": "dtype"},
                  [Column("roof", "flops", f"max by (device, dtype) ({of('kbench_device_matmul_roof_flops_per_second')})")], sort_by="roof",
                  descending=True)),
    ]


def kept():
    return [
        (12, timeseries("Quarantines", "That began in each step of the chart, by what they were for.", "short",
                        [(f"sum by (device, reason) (increase({of('kbench_device_quarantines_total')}[$__rate_interval]))", "{{device}} {{reason}}")],
                        bars=True, minimum=0)),
        (12, timeseries("Kept by the workers", "Bytes on the workers' disks, by kind.", "bytes",
                        [(f"sum by (device, kind) ({of('kbench_worker_bytes')})", "{{device}} {{kind}}")], minimum=0)),
    ]


def epochs():
    return [
        (12, timeseries("Changes of the environment", "Epochs that began in each step of the chart. "
                        "kbench-client report epoch DEVICE compares before and after.", "short",
                        [(f"sum by (device) (increase({of('kbench_epochs_total')}[$__rate_interval]))", "{{device}}")], bars=True, minimum=0)),
        (12, timeseries("Canaries flown", "In each step of the chart, since its worker began.", "short",
                        [(f"sum by (device) (increase({of('kbench_device_canaries_total')}[$__rate_interval]))", "{{device}}"),
                         (f"sum by (device) (increase({of('kbench_device_bad_canaries_total')}[$__rate_interval]))", "{{device}} bad")], bars=True,
                        minimum=0)),
    ]


def dashboard():
    board = Board("kbench-devices", "kbench: Devices", "State, clocks, power, throttling, busy phases, canaries and calibration of each device.",
                  time_from="now-24h", refresh="30s")
    board.variables(["device"], "kbench_device_info")
    board.marks([marks.environment(), marks.quarantine(), marks.drained(), marks.lent()])
    board.row("At a glance", (4, at_a_glance()))
    board.row("Condition", (8, condition()), (6, [(15, facts()), (9, alerts())]))
    board.row("Clocks, power and throttling", *telemetry())
    board.row("What it does", (8, busy()))
    board.row("Canaries", (8, canaries()), (7, epochs()))
    board.row("Others on the device", (8, others()))
    board.row("Calibration", (6, calibration()))
    board.row("Quarantines and disks", (8, kept()))
    return board
