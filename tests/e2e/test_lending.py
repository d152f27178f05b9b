"""A device lent out on a real stack: a command with it, here and at the worker, holds, and what happens when somebody dies meanwhile."""
import json
import os
import pathlib
import pty
import signal
import socket
import time

import grpc
import pytest

import fake_worker
from stack import BIN, Stack

LONG = ("sum", "fp32", "4Mi", "--precise", "--budget", "12s")


@pytest.fixture(scope="module")
def lender(request):
    """Coordinator and CPU worker; a silent client loses its device after 4 s, and a hold lasts at most an hour."""
    with Stack() as stack:
        stack.server_options = ("--hold-lapse", "4s", "--max-hold", "1h")
        stack.server = stack.start_server(*stack.server_options)
        stack.worker = stack.start_worker("--no-canaries")
        yield stack


def the_job(stack, err):
    """The id that stands in "... is yours until 14:32:10 (job k3f9x2ab)"."""
    return err.split("(job ")[1].split(")")[0].split(",")[0]


def cores(text):
    """Of "0-2,5": {0, 1, 2, 5}."""
    parts = [part.split("-") for part in text.split(",")]
    return {core for part in parts for core in range(int(part[0]), int(part[-1]) + 1)}


def wait_free(stack, seconds=60):
    stack.wait_until(lambda: any(d.get("state") == "READY" and not d.get("current_job") for d in stack.devices()),
                     "the device is not free", seconds=seconds)


def running_job(stack):
    return next((d["current_job"].removeprefix("jobs/") for d in stack.devices() if d.get("current_job")), None)


def wait_held(stack, seconds=60):
    stack.wait_until(lambda: any(d.get("state") == "HELD" for d in stack.devices()), "the device is not held", seconds=seconds)
    return running_job(stack)


def start_lent(stack, script):
    """A lent device whose command has begun: an end that comes earlier is an end of the wait, and another answer."""
    running = stack.start_client("with", "cpu", "--for", "10m", "--", "sh", "-c", f"echo begun; {script}")
    assert running.stdout.readline() == "begun\n", stack.finish(running)
    return running, running_job(stack)


def start_remote(stack, word, script):
    """A command at the worker that has said this word; its client, its job and the progress that showed it."""
    running = stack.start_client("with", "cpu", "--for", "10m", "--remote", "--", "sh", "-c", f"echo {word}; {script}")
    job = wait_held(stack)
    watcher = stack.start_client("watch", job, "-o", "json")
    said = (json.loads(line).get("event", {}).get("progress", {}).get("message", "") for line in watcher.stdout)
    message = next((text for text in said if word in text), None)
    watcher.kill()
    assert message is not None, f"job {job} ended without a word of {word!r}"
    return running, job, message


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_command_has_the_device(lender):
    script = "env; taskset -cp $$ >&2; exit 3"
    ran = lender.client("with", "cpu", "--for", "1m", "--", "sh", "-c", script, env={"CUDA_VISIBLE_DEVICES": "7"})
    assert ran.code == 3, ran
    variables = dict(line.split("=", 1) for line in ran.out.splitlines() if "=" in line)
    job = the_job(lender, ran.err)
    assert variables["KBENCH_JOB"] == job
    assert variables["KBENCH_DEVICE"] == "cpu"
    assert variables["CUDA_VISIBLE_DEVICES"] == "", "a CPU was lent, no GPU"
    cpus = next(d for d in lender.devices() if d["name"] == "cpu")["settings"]["cpus"]
    assert variables["KBENCH_CPUS"] == cpus
    assert cores(ran.err.strip().rpartition("affinity list: ")[2]) == cores(cpus), ran
    state, _ = lender.job(job)
    assert (state["state"], state["reason"]) == ("JOB_STATE_SUCCEEDED", "HOLD_ENDED"), state
    assert state["cases"][0]["exit_code"] == 3
    assert state["cases"][0]["spec"]["kernel"] == "hold"


def test_words_behind_the_dashes_are_the_commands_own(lender):
    ran = lender.client("with", "cpu", "--for", "1m", "--", "printf", "%s|", "--for", "-5", "[a,b]", "--", "list")
    assert (ran.code, ran.out) == (0, "--for|-5|[a,b]|--|list|"), ran


@pytest.mark.parametrize("command, code", [(("sh", "-c", "kill -9 $$"), 137), (("true",), 0), (("/",), 127), (("no-such-program",), 127)])
def test_exit_codes(lender, command, code):
    ran = lender.client("with", "cpu", "--for", "1m", "--", *command)
    assert ran.code == code, ran


@pytest.mark.parametrize("arguments, part", [
    (("with", "cpu", "--for", "2h", "--", "true"), "at most 1h"),
    (("with", "cpu", "--", "true"), "--for 30m"),
    (("with", "cpu", "--for", "soon", "--", "true"), "'soon' is not a duration"),
    (("with", "cpu", "--for", "1m"), "a command is missing"),
    (("with", "gpu7", "--for", "1m", "--", "true"), "there is no device gpu7"),
    (("with", "cpu", "--for", "1m", "--setenv", "A=b", "--", "true"), "only with --remote"),
    (("with", "cpu", "--for", "1m", "--remote", "--setenv", "CUDA_VISIBLE_DEVICES=1", "--", "true"), "CUDA_VISIBLE_DEVICES"),
    (("hold", "cpu", "--for", "0s"), "is not a duration"),
])
def test_wrong_use(lender, arguments, part):
    ran = lender.client(*arguments)
    while ran.code == 75:  # soon after its start the coordinator cannot tell that a device is unknown
        time.sleep(1)
        ran = lender.client(*arguments)
    assert ran.code == 2, ran
    assert part in ran.err and ran.err.count("\n") == 1, ran


def test_waits_its_turn(lender):
    job = lender.submit_detached(*LONG)
    lender.wait_phase(job)
    ran = lender.client("with", "cpu", "--for", "1m", "--", "echo", "now")
    assert (ran.code, ran.out) == (0, "now\n"), ran
    assert "waits for cpu: 1 case ahead" in ran.err
    case = lender.job(job)[0]["cases"][0]
    hold = lender.job(the_job(lender, ran.err))[0]["cases"][0]
    assert hold["start_time"] >= case["end_time"], "the command ran beside the case"


def test_a_turn_that_does_not_come(lender):
    job = lender.submit_detached(*LONG)
    lender.wait_phase(job)
    ran = lender.client("with", "cpu", "--for", "1m", "--queue-timeout", "1s", "--", "echo", "never")
    assert (ran.code, ran.out) == (6, ""), ran
    assert "EXPIRED" in ran.err
    lender.client("cancel", job)


def test_nothing_runs_meanwhile(lender):
    """A job that comes during a hold waits, and says for whom; it runs when the hold is over."""
    held = lender.start_client("hold", "cpu", "--for", "1m")
    hold = wait_held(lender)
    job = lender.submit_detached("sum", "fp32", "1Ki", "--quick")
    time.sleep(1)
    assert lender.job(job)[0]["state"] == "JOB_STATE_QUEUED"
    assert lender.job(hold)[0]["state"] == "JOB_STATE_RUNNING"
    listed = lender.client("list", "--state", "running")
    assert "hold 1m" in listed.out, listed
    held.send_signal(signal.SIGINT)
    ran = lender.finish(held)
    assert ran.code == 0, ran
    assert "is yours until" in ran.out
    assert lender.client("watch", job).code in (0, 4)


def test_a_wait_can_be_given_up(lender):
    job = lender.submit_detached(*LONG)
    lender.wait_phase(job)
    waiting = lender.start_client("with", "cpu", "--for", "1m", "--", "echo", "never")
    lender.wait_until(lambda: "QUEUED" in lender.client("list", "--state", "queued").out, "it does not wait")
    waiting.send_signal(signal.SIGINT)
    ran = lender.finish(waiting)
    assert (ran.code, ran.out) == (130, ""), ran
    assert "is cancelled" in ran.err
    assert "QUEUED" not in lender.client("list", "--state", "queued").out
    lender.client("cancel", job)


def test_a_termination_signal_is_passed_on(lender):
    running = lender.start_client("with", "cpu", "--for", "1m", "--", "sh", "-c", "trap 'echo got it; exit 5' TERM; echo up; while :; do sleep 0.1; done")
    assert running.stdout.readline() == "up\n"
    running.send_signal(signal.SIGTERM)
    ran = lender.finish(running)
    assert (ran.code, ran.out) == (5, "got it\n"), ran


def test_the_terminal_is_the_commands(lender):
    """It reads what is typed; Ctrl-C reaches it once, and kbench leaves with its exit code."""
    script = "trap 'echo interrupted; exit 9' INT; read word; echo \"<$word>\"; while :; do sleep 0.1; done"
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(lender.root)
        os.execve(BIN / "kbench-client", ["kbench-client", "with", "cpu", "--for", "1m", "--", "sh", "-c", script], lender.env)
    output = b""

    def until(part):
        nonlocal output
        while part not in output:
            output += os.read(terminal, 1000)
    try:
        until(b"is yours until")
        os.write(terminal, b"hello\n")
        until(b"<hello>")
        os.write(terminal, b"\x03")
        until(b"interrupted")
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    finally:
        os.close(terminal)
    assert output.count(b"interrupted") == 1
    wait_free(lender)


def test_a_stopped_command_stops_its_client(lender):
    """Ctrl-Z stops both, so that the shell has its prompt back; both go on."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(lender.root)
        # A session's leader is never stopped by its terminal: the shell is the leader, with job control as at a prompt.
        line = f"set -m; {BIN}/kbench-client with cpu --for 1m -- sh -c 'echo up; sleep 5; echo done'; echo stopped=$?; fg; echo code=$?"
        os.execve("/bin/bash", ["bash", "-c", line], lender.env)
    output = b""
    try:
        while b"code=" not in output:
            output += os.read(terminal, 1000)
            if b"up" in output and b"stopped" not in output:
                os.write(terminal, b"\x1a")
                time.sleep(0.3)
        os.waitpid(pid, 0)
    finally:
        os.close(terminal)
    assert b"stopped=148" in output and b"done" in output and b"code=0" in output, output
    wait_free(lender)


def test_time_over_ends_the_command_and_its_children(lender):
    script = "setsid sleep 77 & echo $!; sleep 78 & echo $!; trap '' TERM; wait; sleep 79"
    started = time.monotonic()
    ran = lender.client("with", "cpu", "--for", "2s", "--", "sh", "-c", script)
    assert ran.code == 137, ran
    assert time.monotonic() - started >= 11, "there are 10 s of grace"
    assert "is yours for 1 s more" in ran.err, "the warning at half of the time"
    assert "is over" in ran.err
    children = [int(line) for line in ran.out.split()]
    assert len(children) == 2 and not any(map(alive, children)), ran
    wait_free(lender)


def test_a_dead_client_loses_the_device(lender):
    held = lender.start_client("hold", "cpu", "--for", "10m")
    job = wait_held(lender)
    lender.kill9(held)
    wait_free(lender)
    state, _ = lender.job(job)
    assert (state["state"], state["reason"]) == ("JOB_STATE_SUCCEEDED", "HOLD_LAPSED"), state


def test_a_live_client_keeps_it_beyond_the_lapse(lender):
    ran = lender.client("with", "cpu", "--for", "1m", "--", "sleep", "9")
    assert ran.code == 0, ran


def test_cancelled_under_the_command(lender):
    running, job = start_lent(lender, "exec sleep 300")
    assert lender.client("cancel", job).code == 0
    ran = lender.finish(running)
    assert ran.code == 7, ran
    assert "not yours any more" in ran.err
    wait_free(lender)


def test_detached_hold_lasts_its_time(lender):
    ran = lender.client("hold", "cpu", "--for", "3s", "--detach")
    assert ran.code == 0, ran
    job = ran.out.strip()
    assert f"kbench-client cancel {job}" in ran.err
    assert lender.client("watch", job).code == 0
    state, _ = lender.job(job)
    assert state["state"] == "JOB_STATE_SUCCEEDED" and "end of its time" in state["message"], state


def test_detached_hold_is_cancelled(lender):
    job = lender.client("hold", "cpu", "--for", "10m", "--detach").out.strip()
    assert wait_held(lender) == job
    lender.client("cancel", job)
    wait_free(lender)
    assert lender.job(job)[0]["state"] == "JOB_STATE_CANCELLED"


# --- at the worker

def test_remote_command(lender):
    script = "echo out; echo err >&2; pwd; env; exit 4"
    ran = lender.client("with", "cpu", "--for", "1m", "--remote", "--setenv", "GREETING=hello world", "--", "sh", "-c", script,
                        env={"SECRET": "mine"})
    assert ran.code == 4, ran
    assert ran.out.startswith("out\n") and "err\n" in ran.err
    variables = dict(line.split("=", 1) for line in ran.out.splitlines() if "=" in line)
    assert variables["GREETING"] == "hello world"
    assert variables["CUDA_VISIBLE_DEVICES"] == ""
    state, _ = lender.job(variables["KBENCH_JOB"])
    assert state["cases"][0]["exit_code"] == 4 and state["reason"] == "HOLD_ENDED", state
    assert "SECRET" not in variables and "XDG_STATE_HOME" not in variables, "the environment is minimal"
    folder = ran.out.splitlines()[1]
    assert folder.startswith(str(lender.root / "worker")) and not os.path.exists(folder)


def test_remote_program_missing(lender):
    ran = lender.client("with", "cpu", "--for", "1m", "--remote", "--", "no-such-program")
    assert ran.code == 127, ran
    assert "no-such-program" in ran.err


def test_remote_time_over_ends_all_of_it(lender):
    script = "setsid sleep 87 & echo $!; sleep 88 & echo $!; sleep 89"
    ran = lender.client("with", "cpu", "--for", "2s", "--remote", "--", "sh", "-c", script)
    assert ran.code == 143, ran
    children = [int(line) for line in ran.out.split()]
    assert len(children) == 2 and not any(map(alive, children)), ran
    wait_free(lender)


def test_remote_interrupted(lender):
    running, job, _ = start_remote(lender, "begun", "exec sleep 98")
    running.send_signal(signal.SIGINT)
    ran = lender.finish(running)
    assert (ran.code, ran.out) == (130, "begun\n"), ran
    assert lender.job(job)[0]["state"] == "JOB_STATE_CANCELLED"
    wait_free(lender)


def test_remote_progress_shows_the_last_line(lender):
    running, _, said = start_remote(lender, "step 17", "exec sleep 97")
    assert "left: step 17" in said
    running.send_signal(signal.SIGINT)
    lender.finish(running)


# --- somebody dies

def test_coordinator_restarts_during_a_hold(lender):
    started = time.monotonic()
    running, job = start_lent(lender, "sleep 8; echo done")
    lender.kill9(lender.server)
    time.sleep(1)
    lender.server = lender.start_server(*lender.server_options)
    ran = lender.finish(running)
    assert (ran.code, ran.out) == (0, "done\n"), ran
    assert time.monotonic() - started >= 8
    state, _ = lender.job(job)
    assert (state["state"], state["reason"]) == ("JOB_STATE_SUCCEEDED", "HOLD_ENDED"), state
    assert state["cases"][0]["attempt"] == 1
    wait_free(lender)


def test_worker_dies_during_a_hold(lender):
    """The hold is over, is not tried again, and a command at the worker ends with it."""
    running = lender.start_client("with", "cpu", "--for", "10m", "--remote", "--", "sh", "-c", "setsid sleep 93 & exec sleep 94")
    job = wait_held(lender)
    lender.wait_until(lambda: sum(c.startswith("sleep 9") for c in lender.ours().values()) == 2, "the command does not run")
    sleeps = [pid for pid, command in lender.ours().items() if command.startswith("sleep 9")]
    lender.kill9(lender.worker)
    lender.wait_until(lambda: not any(map(alive, sleeps)), "the command outlives its worker")
    lender.worker = lender.start_worker("--no-canaries", wait=False)
    ran = lender.finish(running)
    assert ran.code == 5, ran
    state, _ = lender.job(job)
    assert (state["state"], state["reason"]) == ("JOB_STATE_FAILED", "INFRA"), state
    assert state["cases"][0]["attempt"] == 1
    wait_free(lender)


def test_refused_where_the_device_is_elsewhere(empty, tmp_path):
    """The client says what to do, and queues nothing."""
    protos = fake_worker.load_protos(tmp_path)
    empty.start_server()
    with grpc.insecure_channel(f"unix:{empty.socket}") as channel:
        worker = fake_worker.FakeWorker(channel, protos)
        empty.wait_until(lambda: empty.devices(), "the device is not known")
        ran = empty.client("with", "fake", "--for", "1m", "--", "true")
        worker.stop()
    assert ran.code == 2, ran
    assert "on host host" in ran.err and "--remote" in ran.err and socket.gethostname() in ran.err
    assert "no jobs" in empty.client("list").out
