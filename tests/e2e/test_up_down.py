"""The local stack: up, up again, down, down again, and what stands in its way."""
import os
import pathlib
import re
import shutil
import signal
import socket
import time

import pytest

from stack import BIN


def up(stack, *more, **options):
    return stack.client("up", "--device", "cpu", "--metrics-listen", "127.0.0.1:0", *more, **options)


@pytest.fixture
def local(empty):
    yield empty
    empty.client("down")


def pids(text):
    return [int(p) for p in re.findall(r"pid (\d+)", text)]


def test_up_twice_submit_down_twice(local):
    first = up(local)
    assert first.code == 0, first
    assert len(pids(first.out)) == 2
    ran = local.client("submit", "sum", "fp32", "4Ki", "--quick")
    assert ran.code in (0, 4), ran
    second = up(local)
    assert second.code == 0, second
    assert second.out.count("already runs") == 2
    assert pids(second.out) == pids(first.out)
    down = local.client("down")
    assert down.code == 0, down
    assert sorted(pids(down.out)) == sorted(pids(first.out))
    assert not local.ours()
    again = local.client("down")
    assert (again.code, again.out) == (0, "nothing runs\n")
    # The jobs are still there after a restart.
    assert up(local).code == 0
    assert "SUCCEEDED" in local.client("list").out


def test_up_does_not_wait_for_the_calibration(local):
    """A job may be submitted at once; it waits until the device is ready."""
    start = time.monotonic()
    ran = up(local)
    assert ran.code == 0, ran
    up_seconds = time.monotonic() - start
    if "it calibrates first, jobs wait" not in ran.out:
        assert local.device_ready(), ran  # it was done before anybody looked
    job = local.submit("null", "fp32", "1", "--quick")
    assert job.code in (0, 4), job
    assert local.device_ready()
    print(f"\nup after {up_seconds:.2f} s, up and a first job after {time.monotonic() - start:.2f} s")
    calibration = local.devices()[0]["calibration"]
    assert calibration["passed"] and calibration["seconds"] < 10, calibration
    # The next start takes the calibration over.
    assert local.client("down").code == 0
    assert up(local).code == 0
    local.wait_until(local.device_ready, "the device is not ready after a restart")
    assert local.devices()[0]["calibration"]["seconds"] == calibration["seconds"]


def test_up_starts_what_is_missing(local):
    first = up(local)
    assert first.code == 0, first
    server, worker = pids(first.out)
    os.kill(worker, signal.SIGKILL)
    second = up(local)
    assert second.code == 0, second
    assert f"already runs (pid {server})" in second.out
    assert pids(second.out)[1] != worker
    os.kill(server, signal.SIGKILL)
    third = up(local)
    assert third.code == 0, third
    assert pids(third.out)[0] != server
    assert local.client("submit", "null", "fp32", "1", "--quick").code in (0, 4)


def test_down_leaves_strangers_alone(local):
    assert up(local).code == 0
    stranger = local.popen("/bin/sleep", "60")
    run = local.root / "run" / "kbench"
    # A pid file that nobody holds, with the number of a process that is not ours.
    (run / "kbench-worker-9.pid").write_text(f"{stranger.pid}\n")
    assert local.client("down").code == 0
    assert stranger.poll() is None


def test_without_xdg_runtime_dir(local):
    tmp = local.root / "tmp"
    tmp.mkdir()
    env = {"XDG_RUNTIME_DIR": "", "TMPDIR": str(tmp)}
    ran = up(local, env=env)
    assert ran.code == 0, ran
    folder = tmp / f"kbench-{os.getuid()}"
    assert (folder / "kbench.sock").is_socket()
    assert folder.stat().st_mode & 0o77 == 0, "nobody else may enter"
    assert local.client("list", env=env).code == 0
    assert local.client("down", env=env).code == 0


def test_a_socket_of_somebody_else(local):
    local.socket.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(local.socket))
        s.listen()
        ran = up(local)
    assert ran.code == 5, ran
    assert len(ran.err.splitlines()) == 1 and "in use" in ran.err and str(local.socket) in ran.err, ran


def test_a_taken_metrics_port_falls_to_a_free_one(local):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("127.0.0.1", 7601))
            s.listen()
        except OSError:
            pass  # somebody has it already: just as good
        ran = local.client("up", "--device", "cpu")
    assert ran.code == 0, ran
    assert "7601 is taken" in ran.out
    assert re.search(r"metrics on http://127\.0\.0\.1:\d+/metrics", ran.out)


def test_a_worker_that_cannot_start_shows_its_log(local):
    ran = local.client("up", "--device", "99", "--metrics-listen", "127.0.0.1:0", "--timeout", "10")
    assert ran.code == 5, ran
    assert "the worker of 99" in ran.err and "kbench-worker-99.log" in ran.err
    assert "Traceback" not in ran.err and len(ran.err.splitlines()) < 12


def test_two_slices_of_the_cpu_are_two_devices(local):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU")
    a, b = sorted(os.sched_getaffinity(0))[:2]
    ran = up_slices(local, a, b)
    assert ran.code == 0, ran
    devices = [line["device"]["name"] for line in local.client("devices", "-o", "json").lines]
    assert sorted(devices) == sorted([f"cpu_{a}", f"cpu_{b}"])


def up_slices(stack, *slices):
    devices = [word for one in slices for word in ("--device", f"cpu:{one}")]
    return stack.client("up", *devices, "--metrics-listen", "127.0.0.1:0")


def test_a_worker_refused_beside_one_that_runs_is_no_success(local):
    assert up(local).code == 0
    for device in (min(os.sched_getaffinity(0)), 9999):
        ran = up_slices(local, device)
        assert ran.code == 5, ran
        assert f"the worker of cpu:{device} ended at once" in ran.err, ran
        assert "worker started" not in ran.out, ran
        assert "still running: coordinator (pid" in ran.err, ran


def test_an_up_without_patience_says_what_it_left_running(local):
    ran = up(local, "--timeout", "0")
    assert ran.code == 5, ran
    assert re.search(r"still running: coordinator \(pid \d+\).*kbench-client down", ran.err), ran


def test_output_that_cannot_be_written_is_an_error(local):
    import subprocess
    with open("/dev/full", "w") as full:
        done = subprocess.run([BIN / "kbench-client", "version"], env=local.env, stdout=full, stderr=subprocess.PIPE,
                              text=True, timeout=20)
    assert (done.returncode, done.stderr) == (
        5, "kbench-client: cannot write the output: No space left on device\n")
    done = subprocess.run(["/bin/sh", "-c", 'exec "$0" version >&-', BIN / "kbench-client"], env=local.env,
                          stderr=subprocess.PIPE, text=True, timeout=20)
    assert done.returncode == 5 and "cannot write the output: Bad file descriptor" in done.stderr, done


def test_missing_programs(local):
    alone = local.root / "alone"
    alone.mkdir()
    shutil.copy(BIN / "kbench-client", alone / "kbench-client")
    import subprocess
    done = subprocess.run([alone / "kbench-client", "up"], env=local.env, capture_output=True, text=True, timeout=20)
    assert done.returncode == 5, done
    assert len(done.stderr.splitlines()) == 1 and "kbench-server is missing" in done.stderr


def test_the_short_name():
    link = pathlib.Path(BIN / "kbench")
    assert link.is_symlink() and link.resolve() == (BIN / "kbench-client").resolve()
