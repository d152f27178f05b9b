"""The reckoning finds what is wrong: one broken promise each."""
import pathlib
import tempfile

import pytest

from clients import Watch, load_modules
from fake_worker import load_protos
from ledger import Ledger


@pytest.fixture(scope="module")
def modules():
    with tempfile.TemporaryDirectory(prefix="kbc-") as folder:
        load_protos(pathlib.Path(folder))
        yield load_modules()


def good_job(m):
    job = m.job.Job(name="jobs/a", state=m.job.JOB_STATE_SUCCEEDED, cases_done=1)
    job.spec.cases.add(kernel="sum")
    case = job.cases.add(state=m.job.JOB_STATE_SUCCEEDED, attempt=2, worker="w")
    case.results.add(implementation="cpu/naive", attempt=2, worker="w", configuration={"token": "t"})
    return job


def reckon(m, job):
    ledger = Ledger()
    ledger.measured("t", m.worker.AttemptId(job="jobs/a", attempt=2, epoch=5))
    ledger.check_job(job, m.job.JobState.Name)
    return ledger.violations


def test_a_good_job_breaks_nothing(modules):
    assert reckon(modules, good_job(modules)) == []


def spoil_state(m, job):
    job.state = m.job.JOB_STATE_RUNNING


def spoil_done(m, job):
    job.cases_done = 0


def spoil_rows(m, job):
    job.cases[0].results.add().CopyFrom(job.cases[0].results[0])


def spoil_attempt(m, job):
    job.cases[0].results[0].attempt = 1


def spoil_worker(m, job):
    job.cases[0].worker = "other"


def spoil_token(m, job):
    job.cases[0].results[0].configuration["token"] = "of nobody"


def spoil_results(m, job):
    del job.cases[0].results[:]


def spoil_tries(m, job):
    job.cases[0].attempt = job.cases[0].results[0].attempt = 4


def spoil_origin(m, job):
    job.cases[0].results_of = "jobs/other"


@pytest.mark.parametrize("spoil", [spoil_state, spoil_done, spoil_rows, spoil_attempt, spoil_worker, spoil_token, spoil_results, spoil_tries,
                                   spoil_origin])
def test_each_broken_promise_is_found(modules, spoil):
    job = good_job(modules)
    spoil(modules, job)
    assert reckon(modules, job)


def test_two_answers_and_two_jobs_are_found(modules):
    ledger = Ledger()
    attempt = modules.worker.AttemptId(job="jobs/a", epoch=1, attempt=1)
    for _ in range(2):
        ledger.answered(attempt, stale=False, counts=True)
    assert len(ledger.violations) == 1
    ledger.acknowledged("jobs/a", "one")
    ledger.acknowledged("jobs/a", "two")
    assert len(ledger.violations) == 2
    ledger.assigned(attempt, "w1")
    ledger.assigned(attempt, "w1")
    assert len(ledger.violations) == 2, "the same assignment twice is one attempt"
    ledger.assigned(attempt, "w2")
    assert len(ledger.violations) == 3


def test_a_gap_and_a_repeat_in_the_events_are_found(modules):
    ledger = Ledger()
    watch = Watch("unix:/nowhere", modules, ledger, "jobs/a", 0)
    for sequence in (1, 2, 4):
        watch.take(modules.job.JobEvent(sequence=sequence))
    assert len(ledger.violations) == 1
    watch.take(modules.job.JobEvent(sequence=4))
    assert len(ledger.violations) == 2
    watch.client.close()
