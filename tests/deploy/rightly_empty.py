"""What gives no data, and why that is right: {key of an expression: reason}, and of a running stack {series: reason}."""
from expressions import everything

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
# {series that such a day has not: reason}
CALM_SERIES = {"kbench_device_quarantine_info": "no device is in quarantine"}
# On a day on which everything is wrong at once.
TROUBLED = {
    "performance: mark Baseline moved": "looks back five minutes, the test lasts one; test_dashboards.py tries it on a timeline",
    "queue: mark Lent": "a device is drained in its place",
    "devices: mark Lent": "a device is drained in its place",
    "alerts: KbenchCoordinatorDown": "the coordinator is scraped; prometheus/service.test.yml tries it",
}

# A stack that has run for less than a day, beside CALM.
YOUNG = {
    "devices: Bad canaries A": "an idle hour has one canary: none was flown while it was scraped",
    "recording: device:kbench_device_bad_canaries:ratio_1d": "the same",
}

# A stack whose only device is lent (running.py), beside CALM.
LENT = {"alerts: schedule:kbench_schedule_stale:max": "nobody waits for a schedule that has no device"}

# A stack on a CPU in which a few jobs have run. What has not happened has no series where its label is not known beforehand.
CPU_STACK = {
    "kbench_device_clock_hertz": "a virtual machine tells none",
    "kbench_device_memory_clock_hertz": "a CPU tells none",
    "kbench_result_host_submit_seconds": "on a CPU the call is the run",
    "kbench_device_power_watts": "a virtual machine tells none",
    "kbench_device_energy_joules_total": "a virtual machine tells none",
    "kbench_device_temperature_celsius": "a virtual machine tells none",
    "kbench_result_energy_joules": "a virtual machine tells none",
    "kbench_device_throttle_seconds_total": "a CPU tells none",
    "kbench_device_foreign_utilization_ratio": "of GPUs",
    "kbench_device_foreign_memory_bytes": "of GPUs",
    "kbench_device_event_cost_seconds": "a CPU has no events",
    "kbench_device_quarantines_total": "none began",
    "kbench_device_quarantine_info": "none stands",
    "kbench_device_canary_ratio": "the first canaries make up what later ones are held against",
    "kbench_device_canary_drifting": "the same",
    "kbench_device_canary_timestamp_seconds": "the same",
    "kbench_result_peak_flops_ratio": "the datasheet's peak of this CPU may be unknown",
    "kbench_result_peak_bandwidth_ratio": "the same",
    "kbench_result_baseline_duration_seconds": "absent while it is learnt",
    "kbench_result_change_ratio": "absent while the baseline is learnt",
    "kbench_schedule_last_timestamp_seconds": "no schedule has run",
}
# Beside these, one that somebody else started and that may have nothing to do.
IDLE_STACK = {
    "kbench_queue_next_info": "nothing waits",
    "kbench_queue_oldest_job_timestamp_seconds": "nothing waits",
    "kbench_device_running_info": "nothing runs",
    "kbench_device_running_start_timestamp_seconds": "nothing runs",
    "kbench_result_scheduled_interval_seconds": "no schedule has run",
    "kbench_schedule_next_timestamp_seconds": "there is no schedule",
    "kbench_schedule_awaited_timestamp_seconds": "there is no schedule",
    "kbench_schedule_interval_seconds": "there is no schedule",
    "kbench_schedule_skipped_total": "there is no schedule",
    "kbench_schedule_info": "there is no schedule",
}
