"""What is drawn as marks on the charts: when something changed, or was not as always. Each can be switched off above the dashboard."""
from kbench_dashboards.board import mark, selector
from kbench_dashboards.panels import BLUE, GREY, PURPLE, RED, YELLOW

DEVICE = selector(["device"])


def regressions():
    confirmed = f"kbench_result_regression_state{{{selector(state='confirmed')}}}"
    return mark("Confirmed regressions", RED, f"count by (device, implementation) ({confirmed} == 1)",
                "regression confirmed", "{{implementation}} on {{device}}", ["device", "implementation"])


def baselines():
    baseline = f"kbench_result_baseline_duration_seconds{{{selector()}}}"
    return mark("Baseline moved", BLUE, f"count by (device, implementation) (abs({baseline} / ({baseline} offset 5m) - 1) > 0.02)",
                "baseline pinned, or learned anew", "{{implementation}} on {{device}}", ["device", "implementation"])


def environment():
    """Two epochs of a device within five minutes: seen also when the coordinator was restarted in between, which a counter would not tell.
    None while its worker has not said it yet."""
    epochs = f"count by (device, epoch) (last_over_time(kbench_device_info{{{DEVICE},epoch!=\"\"}}[5m]))"
    return mark("Changed environment", PURPLE, f"count by (device) ({epochs}) > 1", "driver, library or engine changed", "{{device}}", ["device"])


def _blocked(kind, name, color, title):
    return mark(name, color, f'max by (device) (kbench_device_blocked{{{DEVICE},kind="{kind}"}}) == 1', title, "{{device}}", ["device"])


def quarantine():
    return _blocked("quarantine", "Quarantine", YELLOW, "in quarantine")


def drained():
    return _blocked("drain", "Drained", GREY, "drained")


def lent():
    return _blocked("hold", "Lent", GREY, "lent")
