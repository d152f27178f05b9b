"""Stopping, backing up, restoring and checking, with real processes."""
import signal
import subprocess
import time

from stack import BIN

LONG = ("sum", "fp32", "4Mi", "--precise", "--budget", "8s")


def server_command(stack, *args):
    return subprocess.run([BIN / "kbench-server", *map(str, args), "--data-dir", stack.data], env=stack.env, capture_output=True, text=True,
                          timeout=60, stdin=subprocess.DEVNULL)


def ended(stack, job):
    return stack.job(job)[0]["state"] not in ("JOB_STATE_QUEUED", "JOB_STATE_RUNNING")


def test_a_worker_that_is_stopped_finishes_its_case(stack):
    stack.terminate(stack.worker)
    stack.worker = stack.start_worker("--grace", "60")
    job = stack.submit_detached(*LONG)
    stack.wait_phase(job)
    stack.worker.send_signal(signal.SIGTERM)
    assert stack.worker.wait(60) == 0, stack.worker.log.read_text()
    state, _ = stack.job(job)
    assert state["state"] == "JOB_STATE_SUCCEEDED", state
    assert state["cases"][0]["attempt"] == 1


def test_a_second_signal_hands_the_case_back_and_it_counts_as_nobodys_fault(stack):
    stack.terminate(stack.worker)
    stack.worker = stack.start_worker("--grace", "600")
    job = stack.submit_detached(*LONG)
    stack.wait_phase(job)
    stack.worker.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    assert stack.worker.poll() is None, "the case has time to end"
    stack.worker.send_signal(signal.SIGTERM)
    assert stack.worker.wait(20) == 0, stack.worker.log.read_text()
    state, _ = stack.job(job)
    assert state["cases"][0].get("state") == "JOB_STATE_QUEUED", state
    assert "handed back" in state["cases"][0]["message"], state
    stack.worker = stack.start_worker(wait=False)
    stack.wait_until(lambda: ended(stack, job), "the job does not end", seconds=90)
    assert stack.job(job)[0]["state"] == "JOB_STATE_SUCCEEDED"


def test_a_coordinator_that_is_stopped_leaves_the_case_running(stack):
    job = stack.submit_detached(*LONG)
    stack.wait_phase(job)
    assert stack.terminate(stack.server) == 0
    stack.server = stack.start_server()
    stack.wait_until(lambda: ended(stack, job), "the job does not end", seconds=90)
    state, _ = stack.job(job)
    assert state["state"] == "JOB_STATE_SUCCEEDED", state
    assert state["cases"][0]["attempt"] == 1, "it went on"


def test_backup_check_and_restore(stack):
    first = stack.submit_detached("sum", "fp32", "1Ki", "--quick")
    stack.wait_until(lambda: ended(stack, first), "the job does not end", seconds=60)
    copy = stack.root / "copy"
    made = server_command(stack, "backup", copy)
    assert made.returncode == 0, made
    assert (copy / "kbench.db").exists() and not list((stack.data / "backups").iterdir()), "moved, not copied twice"
    again = server_command(stack, "backup", copy)
    assert again.returncode == 5 and "is there already" in again.stderr and again.stderr.count("\n") == 1, again
    by_client = stack.client("backup", "by-client")
    assert by_client.code == 0 and (stack.data / "backups" / "by-client" / "kbench.db").exists(), by_client
    checked = server_command(stack, "check")
    assert checked.returncode == 0 and "is sound" in checked.stdout and "samples" in checked.stdout, checked

    second = stack.submit_detached("sum", "fp32", "2Ki", "--quick")
    refused = server_command(stack, "restore", copy, "--force")
    assert refused.returncode == 5 and "another kbench-server" in refused.stderr, refused
    assert stack.terminate(stack.server) == 0
    refused = server_command(stack, "restore", copy)
    assert refused.returncode == 5 and "--force" in refused.stderr, refused
    restored = server_command(stack, "restore", copy, "--force")
    assert restored.returncode == 0, restored
    assert server_command(stack, "check").returncode == 0
    offline = stack.root / "offline"
    assert server_command(stack, "backup", offline).returncode == 0 and (offline / "kbench.db").exists()

    stack.server = stack.start_server()
    assert stack.job(first)[0]["state"] == "JOB_STATE_SUCCEEDED"
    gone = stack.client("show", second)
    assert gone.code != 0 and "there is no job" in gone.err, gone
    stack.wait_until(stack.device_ready, "the worker does not come back")
    third = stack.submit("sum", "fp32", "4Ki", "--quick")
    assert third.code in (0, 4), third


def test_a_damaged_store_says_what_to_do(stack):
    stack.terminate(stack.worker)
    assert stack.terminate(stack.server) == 0
    path = stack.data / "kbench.db"
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xa5" * (len(whole) - 8192))
    server = stack.start_server(wait=False)
    assert server.wait(20) == 5
    log = server.log.read_text()
    assert "is damaged" in log and "kbench-server restore" in log and log.count("\n") == 1, log
    checked = server_command(stack, "check")
    assert checked.returncode in (1, 5), checked
    path.write_bytes(whole)
    stack.server = stack.start_server()


def test_what_is_kept_how_long_is_said_in_options(stack):
    bad = subprocess.run([BIN / "kbench-server", "--keep-samples", "30", "--data-dir", stack.root / "d"], env=stack.env, capture_output=True,
                         text=True, timeout=20)
    assert bad.returncode == 2 and "30d,4GiB" in bad.stderr and bad.stderr.count("\n") == 1, bad
