"""The queue as people see it: queue, explain, top, and what submit says of a job's place, against real processes."""
import fcntl
import json
import os
import pty
import re
import resource
import select
import signal
import struct
import termios
import threading
import time

import pytest

from stack import BIN

ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?25h\x1b[?1049l"


def queue(stack, *args):
    ran = stack.client("queue", *args, "-o", "json")
    assert ran.code == 0, ran
    return ran.lines[0]["queue"]


def fill(stack, count=3):
    """One long job that runs, and `count - 1` that wait for it."""
    jobs = [stack.submit_detached("matmul", "fp32", "256,257,258,259,260,261", "--impl", "all", "--budget", "20s")]
    stack.wait_until(lambda: any("running" in d for d in queue(stack)["devices"]), "nothing runs")
    jobs += [stack.submit_detached("sum", "fp32", "1Mi", "--budget", "10s") for _ in range(count - 1)]
    return jobs


def cancel(stack, jobs):
    assert stack.client("cancel", *jobs).code == 0
    stack.wait_until(lambda: not any("running" in d for d in queue(stack)["devices"]), "something still runs")


@pytest.fixture
def busy(shared):
    jobs = fill(shared)
    yield shared, jobs
    cancel(shared, jobs)


def test_queue_explain_and_top_agree(busy):
    stack, (running, second, third) = busy
    seen = queue(stack)
    [device] = [d for d in seen["devices"] if "running" in d]
    assert device["device"] == "cpu" and device["running"]["job"] == f"jobs/{running}"
    assert device["running"]["text"].startswith("matmul fp32 25")
    assert device["running"]["cases"] == 6
    waiting = [j["job"].removeprefix("jobs/") for j in seen["waiting"]]
    assert {second, third} <= set(waiting)
    assert seen["waiting_jobs"] == len(waiting)
    for job in seen["waiting"]:
        assert job["text"] and job["owner"] and job["priority_class"] == "interactive"
        assert "start_estimate" in job or job["job"] == f"jobs/{running}", job

    ran = stack.client("queue")
    assert ran.code == 0, ran
    assert max(map(len, ran.out.splitlines())) <= 90, ran
    assert f"job {running}, case" in re.sub(r"\s+", " ", ran.out)
    assert second in ran.out and third in ran.out
    assert "wait" in ran.out and "\x1b" not in ran.out

    once = stack.client("top", "--once")
    assert once.code == 0 and second in once.out and "\x1b" not in once.out, once

    ran = stack.client("explain", third, "-o", "json")
    why = ran.lines[0]["explanation"]
    assert why["rule"] in ("OWN_ORDER", "DEVICE_BUSY", "NEXT", "OWNER_USAGE"), why
    assert why["sentence"] and "start_estimate" in why, why
    assert [d["device"] for d in why["devices"]] == ["cpu"] and why["devices"][0]["suitable"]
    ran = stack.client("explain", third)
    assert f"job {third} of " in ran.out and "QUEUED" in ran.out and "It starts " in ran.out, ran
    assert max(map(len, ran.out.splitlines())) <= 90, ran
    ran = stack.client("explain", running)
    assert "RUNNING" in ran.out and "on cpu" in ran.out, ran


def test_progress_of_the_running_case_and_when_it_yields(busy):
    stack, (running, *_) = busy

    def measuring():
        devices = [d for d in queue(stack)["devices"] if d.get("running", {}).get("progress", {}).get("round", 0) > 0]
        return bool(devices) and "yields" in devices[0]["running"]

    stack.wait_until(measuring, "no round was ever told")
    ran = stack.client("queue")
    assert "round" in ran.out and "free " in ran.out, ran


def test_submit_says_where_the_job_stands(busy):
    stack, _ = busy
    ran = stack.client("submit", "sum", "fp32", "1Mi", "--detach")
    job = ran.out.strip()
    try:
        assert re.search(r"it waits: (\d+ cases? ahead|next), (starts|nobody can say)", ran.err), ran
        shown = stack.client("show", job)
        assert "ahead" in shown.out or "next" in shown.out, shown
        # A watcher hears of it: the same in events.
        watcher = stack.start_client("watch", job, "-o", "json")
        try:
            for line in watcher.stdout:
                event = json.loads(line).get("event", {})
                if "queue" in event:
                    assert "start_estimate" in event["queue"], event
                    break
                assert "final" not in event
        finally:
            watcher.kill()
            watcher.communicate()
    finally:
        stack.client("cancel", job)


def test_bad_input(shared):
    ran = shared.client("explain", "nosuchjb")
    assert ran.code == 2 and "nosuchjb" in ran.err and ran.err.count("\n") == 1, ran
    # In its first seconds a coordinator does not know which devices will come back.
    shared.wait_until(lambda: shared.client("queue", "--device", "cpuu").code == 2, "a device that nobody knows is not refused", shared.server)
    ran = shared.client("queue", "--device", "cpuu")
    assert ran.code == 2 and "cpu" in ran.err, ran
    ran = shared.client("top", "--once", "--device", "cpuu")
    assert ran.code == 2 and "cpu" in ran.err, ran
    ran = shared.client("top", "--device", "cpuu")
    assert ran.code == 2 and "cpu" in ran.err, ran
    for n in ("-1", "0", "1001", "x"):
        ran = shared.client("queue", "-n", n)
        assert ran.code == 2 and ran.err.count("\n") == 1, ran
    ran = shared.client("queue", "--owner", "Zoë")
    assert ran.code == 0 and "Zoë has nothing queued or running" in ran.err, ran
    ran = shared.submit("null", "fp32", "1", "--quick")
    ended = ran.events[-1]["final"]["name"].removeprefix("jobs/")
    ran = shared.client("explain", ended)
    assert ran.code == 0 and "SUCCEEDED" in ran.out and "has ended" in ran.out, ran


def test_nothing_listens(empty):
    for verb in (["queue"], ["top"], ["top", "--once"], ["explain", "x"]):
        ran = empty.client(*verb)
        assert ran.code == 5 and "kbench-client up" in ran.err, ran


class OnTerminal:
    """top on a terminal of its own."""

    def __init__(self, stack, *args, rows=24, columns=80):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os.execve(BIN / "kbench-client", ["kbench-client", "top", *args], stack.env)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.text = b""
        self.status = None

    def read_until(self, part, seconds=60):
        end = time.monotonic() + seconds
        while part not in self.text:
            assert time.monotonic() < end, f"no {part!r} in {self.text[-2000:]!r}"
            if select.select([self.fd], [], [], 0.1)[0]:
                self.read()

    def read(self):
        try:
            self.text += os.read(self.fd, 65536)
            return True
        except OSError:  # the other end is closed
            return False

    def end(self, seconds=30):
        """The wait status."""
        deadline = time.monotonic() + seconds
        while self.status is None:
            assert time.monotonic() < deadline, "top goes on"
            if select.select([self.fd], [], [], 0.05)[0]:
                self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
        while select.select([self.fd], [], [], 0.05)[0] and self.read():
            pass
        return self.status

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


@pytest.fixture
def terminal(shared):
    opened = []

    def open_one(*args, **more):
        opened.append(OnTerminal(shared, *args, **more))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


def given_back(top):
    return top.text.rfind(LEAVE) > top.text.rfind(ENTER)


def test_top_draws_in_place_and_q_ends_it(terminal):
    top = terminal()
    top.read_until(b"cpu")
    assert top.text.startswith(ENTER)
    attributes = termios.tcgetattr(top.fd)
    assert not attributes[3] & (termios.ICANON | termios.ECHO)
    top.read_until(b"nobody waits")
    assert b"\x1b[2J" in top.text and b"\x1b[H" in top.text
    os.write(top.fd, b"xq")
    assert os.waitstatus_to_exitcode(top.end()) == 0
    assert given_back(top)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_top_ends_well_when_asked_to(terminal, number):
    top = terminal()
    top.read_until(b"nobody waits")
    os.kill(top.pid, number)
    assert os.waitstatus_to_exitcode(top.end()) == 0
    assert given_back(top)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGQUIT, signal.SIGABRT, signal.SIGSEGV])
def test_the_terminal_is_given_back_by_signals_that_kill(terminal, number):
    top = terminal()
    top.read_until(b"nobody waits")
    os.kill(top.pid, number)
    assert os.WTERMSIG(top.end()) == number
    assert given_back(top)


def test_top_can_be_stopped_and_continued(terminal):
    top = terminal()
    top.read_until(b"nobody waits")
    os.kill(top.pid, signal.SIGTSTP)
    top.read_until(LEAVE)
    _, status = os.waitpid(top.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    top.text = b""
    os.kill(top.pid, signal.SIGCONT)
    top.read_until(b"nobody waits")
    assert ENTER in top.text
    os.write(top.fd, b"q")
    assert os.waitstatus_to_exitcode(top.end()) == 0
    assert given_back(top)


def test_a_narrow_and_low_terminal_is_enough(terminal):
    top = terminal(rows=3, columns=30)
    top.read_until(b"more lines")
    os.write(top.fd, b"q")
    top.end()
    # The size is set a moment after the start: the frames after that are what counts.
    frame = top.text[: top.text.rfind(LEAVE)].rpartition(b"\x1b[H")[2]
    lines = [re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]|\r", b"", line) for line in frame.split(b"\n")]
    assert len(lines) <= 3 and all(len(line) < 30 for line in lines), lines


def test_top_survives_a_restart_of_the_coordinator(stack):
    top = stack.start_client("top")
    late = threading.Timer(60, top.kill)  # its lines end then
    late.start()
    first = top.stdout.readline()
    assert re.match(r"\d\d:\d\d:\d\d cpu is free", first), first
    stack.kill9(stack.server)
    stack.server = stack.start_server()
    stack.wait_until(stack.device_ready, "the worker did not come back")
    [job] = fill(stack, 1)
    told = [first]
    while job not in told[-1]:
        told.append(top.stdout.readline())
        assert told[-1], told
    late.cancel()
    top.send_signal(signal.SIGINT)
    ran = stack.finish(top)
    stack.client("cancel", job)
    assert ran.code == 0 and "reconnecting" in ran.err, ran
