"""A stack of this machine's CPU with everything in it that a CPU can show: cold and steady results, a schedule and a result of it, something that
runs and jobs that wait."""
import contextlib
import sys

from scraped import ROOT

JOBS = [("matmul", "fp32", "64"), ("matmul", "fp32", "64", "--mode", "steady"), ("sum", "fp32", "64Ki", "--label", "schedule=nightly")]


@contextlib.contextmanager
def cpu_stack():
    """The stack, once all of that is so."""
    sys.path.insert(0, str(ROOT / "tests" / "e2e"))
    try:
        from stack import Stack
    finally:
        sys.path.pop(0)
    stack = Stack()
    try:
        stack.server = stack.start_server()
        stack.worker = stack.start_worker()
        scheduled = stack.client("suite", "schedule", "smoke", "--at", "02:00", "--zone", "UTC", "--as", "nightly")
        assert scheduled.code == 0, scheduled
        for job in JOBS:
            ran = stack.client("submit", *job, "--budget", "5s")
            assert ran.code in (0, 4), ran  # a number may be SUSPECT on a busy machine
        held = stack.client("hold", "cpu", "--for", "20m", "--detach")
        assert held.code == 0, held
        stack.wait_until(lambda: any(device["state"] == "HELD" for device in stack.devices()), "the hold does not begin", stack.worker)
        for job in JOBS[:2]:
            stack.submit_detached(*job)
        yield stack
    finally:
        left = stack.close()
        assert not left, f"processes were left behind: {left}"
