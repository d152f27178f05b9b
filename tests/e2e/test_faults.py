"""Each process killed with -9 in the middle of a job: the job ends with a true outcome, nothing is lost, nothing counts twice."""
import time

import pytest

from stack import outcomes

# A few seconds of measuring, so that there is a middle.
LONG = ("sum", "fp32", "4Mi", "--precise", "--budget", "12s")


def assert_one_result_set(stack, job, cases=1):
    state, results = stack.job(job)
    assert state["state"] == "JOB_STATE_SUCCEEDED", state
    assert state["cases_done"] == cases
    names = [(r.get("case_index", 0), r["implementation"]) for r in results]
    assert len(names) == len(set(names)), f"a cell has two results: {names}"
    assert {n[0] for n in names} == set(range(cases))
    return results


def test_coordinator_killed(stack):
    job = stack.submit_detached(*LONG)
    client = stack.start_client("watch", job, "-o", "json")
    stack.wait_phase(job)
    stack.kill9(stack.server)
    time.sleep(1)
    stack.server = stack.start_server()
    ran = stack.finish(client)
    assert ran.code in (0, 4), ran
    results = assert_one_result_set(stack, job)
    # The client that watched across the restart told every row once.
    told = [(r.get("case_index", 0), r["implementation"]) for r in ran.results]
    assert sorted(told) == sorted((r.get("case_index", 0), r["implementation"]) for r in results)
    assert "OK" in outcomes(results).values()


def test_coordinator_killed_right_after_submit(stack):
    job = stack.submit_detached("sum", "fp32", "1Ki,2Ki,4Ki", "--quick")
    stack.kill9(stack.server)
    stack.server = stack.start_server()
    ran = stack.client("watch", job, "-o", "json")
    assert ran.code in (0, 4), ran
    assert_one_result_set(stack, job, cases=3)


def test_worker_killed(stack):
    job = stack.submit_detached(*LONG)
    stack.wait_phase(job)
    runners = stack.children(stack.worker.pid)
    assert runners, "no runner while it measures"
    stack.kill9(stack.worker)
    stack.wait_until(lambda: not set(runners) & set(stack.ours()), "runners outlive their worker")
    stack.worker = stack.start_worker(wait=False)
    ran = stack.client("watch", job, "-o", "json")
    assert ran.code in (0, 4), ran
    results = assert_one_result_set(stack, job)
    assert "OK" in outcomes(results).values()
    state, _ = stack.job(job)
    assert state["cases"][0]["attempt"] == 2


def test_worker_killed_twice_is_poison(stack):
    job = stack.submit_detached(*LONG)
    for _ in range(2):
        stack.wait_phase(job)
        stack.kill9(stack.worker)
        stack.worker = stack.start_worker(wait=False)
    ran = stack.client("watch", job)
    assert ran.code == 5, ran
    state, _ = stack.job(job)
    assert state["state"] == "JOB_STATE_FAILED" and state["reason"] == "POISON", state
    # The device is there for the next job.
    assert stack.submit("null", "fp32", "1", "--quick").code in (0, 4)


def test_runner_killed(stack):
    job = stack.submit_detached(*LONG, "--impl", "cpu/naive")
    stack.wait_phase(job)
    victims = stack.children(stack.worker.pid)
    assert victims
    import os
    import signal
    for pid in victims:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    ran = stack.client("watch", job, "-o", "json")
    results = assert_one_result_set(stack, job)
    # Either the implementation died of it, or the case was tried again; never silence.
    assert set(outcomes(results).values()) <= {"CRASHED", "OK"}, results
    assert ran.code in (0, 1, 4), ran
    after = stack.submit("sum", "fp32", "1Mi", "--quick")
    assert after.code in (0, 4), after


def test_worker_gone_and_back_keeps_the_queue(stack):
    stack.terminate(stack.worker)
    job = stack.submit_detached("null", "fp32", "1", "--quick")
    state, _ = stack.job(job)
    assert state["state"] == "JOB_STATE_QUEUED"
    stack.worker = stack.start_worker(wait=False)
    assert stack.client("watch", job).code in (0, 4)


def test_queue_timeout_expires(stack):
    stack.terminate(stack.worker)
    ran = stack.submit("null", "fp32", "1", "--quick", "--queue-timeout", "1s")
    assert ran.code == 6, ran
    assert ran.events[-1]["final"]["state"] == "JOB_STATE_EXPIRED"


@pytest.mark.parametrize("who", ["server", "worker"])
def test_sigterm_ends_cleanly_in_the_middle_of_a_job(stack, who):
    job = stack.submit_detached(*LONG)
    stack.wait_phase(job)
    process = getattr(stack, who)
    assert stack.terminate(process, seconds=20) == 0, process.log.read_text()[-2000:]
    if who == "server":
        stack.server = stack.start_server()
    else:
        stack.worker = stack.start_worker(wait=False)
    assert stack.client("watch", job).code in (0, 4)
    assert_one_result_set(stack, job)
