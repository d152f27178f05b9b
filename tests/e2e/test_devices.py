"""Devices as people meet them: drain, quarantine, defaults, labels, and one measurement on two of them."""
import json
import os

import pytest

QUICK = ("sum", "fp32", "64Ki", "--impl", "cpu/naive", "--quick", "--budget", "10s")


def state_of(stack, name):
    return {d["name"]: d.get("state") for d in stack.devices()}.get(name)


def wait_state(stack, name, state):
    stack.wait_until(lambda: state_of(stack, name) == state, f"{name} did not become {state}")


def test_a_job_waits_with_the_reason_until_the_device_is_resumed(stack):
    drained = stack.client("drain", "cpu", "--reason", "new fans")
    assert drained.code == 0 and "new fans" in drained.out, drained
    job = stack.submit_detached(*QUICK)
    state, _ = stack.job(job)
    assert state["state"] == "JOB_STATE_QUEUED" and state["reason"] == "DRAINING", state
    assert "cpu is being drained: new fans (since " in state["message"], state
    listed = stack.client("devices")
    assert "DRAINED" in listed.out and "cpu: new fans (since " in listed.out, listed
    # What was said is durable, with the worker away and back.
    stack.kill9(stack.server)
    stack.server = stack.start_server()
    wait_state(stack, "cpu", "DRAINED")
    assert stack.job(job)[0]["reason"] == "DRAINING"
    assert stack.client("resume", "cpu").code == 0
    ran = stack.client("watch", job, "-o", "json")
    assert ran.code in (0, 4), ran
    wait_state(stack, "cpu", "READY")


def test_a_drain_lets_the_running_case_end(stack):
    running = stack.submit_detached("sum", "fp32", "4Mi", "--mode", "cold,hot", "--impl", "cpu/naive", "--precise", "--budget", "6s")
    stack.wait_phase(running)
    assert "DRAINING" in stack.client("drain", "cpu", "--reason", "soon").out
    wait_state(stack, "cpu", "DRAINED")
    state, results = stack.job(running)
    ended = [c for c in state["cases"] if c["state"] == "JOB_STATE_SUCCEEDED"]
    assert len(ended) == 1 and results, "the case that ran has its result, the next one waits"
    assert stack.client("resume", "cpu").code == 0
    assert stack.client("watch", running).code in (0, 4)


def test_a_device_that_is_away_is_waited_for_after_a_restart(stack):
    stack.terminate(stack.worker)
    stack.terminate(stack.server)
    stack.server = stack.start_server()
    job = stack.submit_detached(*QUICK, "--device", "cpu")
    state, _ = stack.job(job)
    assert state["reason"] == "DEVICE_OFFLINE", state
    stack.worker = stack.start_worker()
    assert stack.client("watch", job).code in (0, 4)


@pytest.fixture
def two(empty):
    """Two devices of one model: the two halves of the CPU."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU is one device")
    empty.server = empty.start_server()
    first, second = sorted(os.sched_getaffinity(0))[:2]
    empty.workers = [
        empty.start_worker("--name", "left", "--label", "side=left", "--no-canaries", device=f"cpu:{first}", wait=False),
        empty.start_worker("--name", "right", "--label", "side=right", "--no-canaries", device=f"cpu:{second}", wait=False),
    ]
    for name in ("left", "right"):
        wait_state(empty, name, "READY")
    return empty


def test_one_measurement_on_two_devices(two):
    ran = two.client("submit", *QUICK, "--on", "left,right")
    assert ran.code in (0, 4), ran
    head = next(line for line in ran.out.splitlines() if line.startswith("implementation"))
    assert head.split()[1:] == ["left", "right", "vs", "first"], ran
    row = next(line for line in ran.out.splitlines() if line.startswith("cpu/naive"))
    assert row.rstrip().endswith("x"), ran
    assert "they are no\n  verdict" in ran.out or "they are no verdict" in ran.out, ran
    assert all(len(line) <= 90 for line in ran.out.splitlines()), ran
    told = two.client("submit", *QUICK, "--on", "left,label:side=right", "-o", "json")
    assert told.code in (0, 4), told
    results = {line["device"]: line["result"] for line in told.lines if "result" in line}
    assert set(results) == {"left", "label:side=right"}
    assert results["label:side=right"]["device"] == "right"
    assert all("device" in line for line in told.lines)


def test_selectors_defaults_and_labels(two):
    assert "labels: side=left" in two.client("devices", "-v").out
    assert two.client("default", "right").out == "your default: right\n"
    assert "right *" in two.client("devices").out
    ran = two.submit(*QUICK)
    assert {r["device"] for r in ran.results} == {"right"}, ran
    ran = two.submit(*QUICK, "--device", "cpu,label:side=left")
    assert {r["device"] for r in ran.results} == {"left"}, ran
    # Right after a start it may yet come.
    unknown = ("submit", *QUICK, "--device", "label:side=up")
    two.wait_until(lambda: two.client(*unknown).code != 75, "a selector of nothing is never refused")
    refused = two.client(*unknown)
    assert refused.code == 2 and "side=left, side=right" in refused.err, refused
    two.kill9(two.server)
    two.server = two.start_server()
    assert two.client("default").out == "your default: right\n", "durable"
    assert two.client("default", "--clear").code == 0
    assert not [line for line in two.client("devices", "-o", "json").out.splitlines() if "default" in json.loads(line)]
    # One worker's drain is not the other's.
    assert two.client("quarantine", "left", "--reason", "odd").code == 0
    ran = two.submit(*QUICK)
    assert {r["device"] for r in ran.results} == {"right"}, ran
