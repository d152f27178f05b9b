"""Schedules: set, listed, paused and dropped; what is wrong is told when it is set."""
import time

import pytest


def listed(stack):
    return {line["schedule"]["name"]: line["schedule"] for line in stack.client("suite", "schedules", "-o", "json").lines}


def test_a_schedule_is_set_listed_paused_and_dropped(shared):
    ran = shared.client("suite", "schedule", "smoke", "--at", "02:00", "--zone", "Europe/Vienna", "--days", "mon,thu", "--as", "twice")
    assert ran.code == 0 and ran.out.startswith("twice: 02:00 mon,thu, Europe/Vienna; next: 20"), ran
    one = listed(shared)["twice"]
    assert one["suite"] == "smoke" and one["interval_seconds"] == 4 * 86400 and "next_time" in one and one["jobs"] == [{}], "of jobs only where they run"
    text = shared.client("suite", "schedules").out
    assert "twice" in text and "never ran" in text, text
    assert shared.client("suite", "pause", "twice").out.rstrip().endswith("next: paused")
    assert listed(shared)["twice"]["paused"]
    assert "next: 20" in shared.client("suite", "continue", "twice").out
    assert shared.client("suite", "unschedule", "twice").code == 0
    assert "twice" not in listed(shared)


@pytest.mark.parametrize("args,words", [
    (("schedule", "smoke"), ["--at 02:00"]),
    (("schedule", "smoke", "--at", "2 am"), ["at", "02:00"]),
    (("schedule", "smoke", "--at", "02:00", "--zone", "Vienna"), ["zone", "Vienna", "Europe/Vienna"]),
    (("schedule", "smoke", "--at", "02:00", "--zone", "localtime"), ["zone", "localtime", "leave it out"]),
    (("schedule", "smoke", "--at", "02:00", "--days", "mon,Mon"), ["days", "mon stands there twice"]),
    (("schedule", "smoke", "--at", "02:00", "--days", "monday"), ["days", "monday", "mon, tue"]),
    (("schedule", "smoke", "--at", "02:00", "--device", "gpu7"), ["gpu7"]),
    (("schedule", "smoke", "--at", "02:00", "--detach"), ["class batch"]),
    (("run", "smoke", "--at", "02:00"), ["--at goes with schedule"]),
    (("pause",), ["the name of one schedule"]),
    (("pause", "nothing"), ["there is no schedule nothing", "schedules"]),
    (("nightly",), ["schedule", "unschedule", "nightly"])])
def test_what_is_wrong_is_told(shared, args, words):
    ran = shared.client("suite", *args)
    for _ in range(60):  # soon after its start the coordinator cannot tell that a device is unknown
        if ran.code != 75:
            break
        time.sleep(0.5)
        ran = shared.client("suite", *args)
    assert ran.code == 2 and len(ran.err.splitlines()) == 1, ran
    for word in words:
        assert word in ran.err, ran
