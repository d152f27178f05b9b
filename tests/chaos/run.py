#!/usr/bin/env python3
"""Jobs through a coordinator while everything about it is killed, stopped, cut off and filled up; then every promise is checked.

  tests/chaos/run.py --jobs 1000 --seed 7 [--no-real-worker]      by hand; prints figures and violations, exit code 1 when there is one
"""
import argparse
import concurrent.futures
import pathlib
import random
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

from clients import Client, Watch, load_modules, spec_of, submit  # noqa: E402
from fake import ChaosWorker  # noqa: E402
from fake_worker import load_protos  # noqa: E402
from faults import Faults, SmallDisk  # noqa: E402
from ledger import Ledger  # noqa: E402
from proxy import Proxy  # noqa: E402
from stack import Stack  # noqa: E402

SUBMITTERS = 6
PATIENCE_SECONDS = 120  # of one call while the coordinator comes and goes


class Run:
    def __init__(self, jobs, seed, fakes=4, real_worker=True, real_jobs=5, watched=100, storm_seconds=30, calm=0.5, lease_seconds=4,
                 settle_seconds=120):
        self.jobs, self.seed, self.random = jobs, seed, random.Random(seed)
        self.real_jobs, self.watched = (real_jobs if real_worker else 0), watched
        self.storm_seconds, self.calm, self.lease_seconds, self.settle_seconds = storm_seconds, calm, lease_seconds, settle_seconds
        self.ledger = Ledger()
        self.stack = Stack()
        self.stack.worker = None
        self.disk = self.proxy = None
        self.workers, self.watches = [], []
        self.fakes, self.real_worker = fakes, real_worker
        self.protos = tempfile.TemporaryDirectory(prefix="kbc-")
        load_protos(pathlib.Path(self.protos.name))
        self.modules = load_modules()

    def start(self):
        if SmallDisk.possible():
            self.disk = SmallDisk(self.stack.root / "disk", mebibytes=256)
            self.stack.data = self.disk.path / "data"
        self.start_server()
        self.proxy = Proxy(f"unix:{self.stack.socket}", listen=f"unix:{self.stack.root}/proxy")
        self.address = self.proxy.address
        if self.real_worker:
            self.start_real_worker()
            self.stack.wait_until(self.stack.device_ready, "the real worker is not ready", self.stack.worker, seconds=90)
        self.workers = [ChaosWorker(self.address, self.modules, self.ledger, f"fake{i}", self.seed * 100 + i) for i in range(self.fakes)]

    def start_server(self):
        self.stack.server = self.stack.start_server("--lease", str(self.lease_seconds), "--heartbeat", "0.5", "--submits-per-second", "0",
                                                    "--log-level", "warn")

    def start_real_worker(self):
        self.stack.worker = self.stack.start_worker(wait=False)

    # --- the run

    def go(self):
        """The storm, the calm in which all must end, the reckoning; how long it took."""
        self.start()
        begin = time.monotonic()
        submits = self.submit_all()
        faults = Faults(self)
        while not submits.done() or time.monotonic() - begin < self.storm_seconds:
            faults.strike()
            time.sleep(self.random.expovariate(1 / self.calm))
        submits.result()
        end = time.monotonic() + self.settle_seconds
        while self.unended() and time.monotonic() < end:
            time.sleep(0.2)
        seconds = time.monotonic() - begin
        self.check()
        return seconds

    def submit_all(self):
        """A future of all submits, which go on while faults strike."""
        numbers = list(range(self.jobs))
        self.random.shuffle(numbers)
        shares = [numbers[i::SUBMITTERS] for i in range(SUBMITTERS)]
        self.to_watch = set(self.random.sample(range(self.jobs), min(self.watched, self.jobs)))
        executor = concurrent.futures.ThreadPoolExecutor(SUBMITTERS + 1)
        futures = [executor.submit(self.submit_some, share, self.seed * 1000 + i) for i, share in enumerate(shares)]
        return executor.submit(lambda: [future.result() for future in futures])

    def submit_some(self, numbers, seed):
        rng = random.Random(seed)
        client = Client(self.address, self.modules, PATIENCE_SECONDS)
        for number in numbers:
            fakes = [worker.device for worker in self.workers]
            device = "cpu" if number < self.real_jobs else rng.choice(fakes)
            spec = spec_of(self.modules, rng, number, device)
            name = submit(client, self.ledger, spec, rng.choice(("ana", "bob", "eve")))
            if number % 5 == 0:  # a second one that would share the run of the first
                spec.share_in_flight = True
                submit(client, self.ledger, spec, "twin")
            if number in self.to_watch:
                watch = Watch(self.address, self.modules, self.ledger, name, time.monotonic() + 3 * self.storm_seconds + self.settle_seconds)
                watch.start()
                self.watches.append(watch)
            if rng.random() < 0.03:
                client.call("CancelJob", self.modules.jobs.CancelJobRequest(name=name))
            time.sleep(rng.expovariate(self.jobs / SUBMITTERS / (0.7 * self.storm_seconds)))
        client.close()

    def unended(self):
        """Names of acknowledged jobs that have not ended; those that cannot be asked for count as such."""
        client = Client(f"unix:{self.stack.socket}", self.modules, 20)
        ended, left = self.modules.job.JOB_STATE_RUNNING, []
        for state in (self.modules.job.JOB_STATE_QUEUED, ended):
            request = self.modules.jobs.ListJobsRequest(page_size=1000, state=state)
            left += [job.name for job in client.call("ListJobs", request).jobs]
        client.close()
        return left

    def check(self):
        names = self.modules.job.JobState.Name
        client = Client(f"unix:{self.stack.socket}", self.modules, 20)
        jobs = {}
        for name in self.ledger.jobs:
            try:
                jobs[name] = client.call("GetJob", self.modules.jobs.GetJobRequest(name=name))
            except Exception as error:
                self.ledger.violation(f"{name} was acknowledged and is lost: {error}")
                continue
            self.ledger.check_job(jobs[name], names)
        stored = self.count_stored(client)
        if stored != len(self.ledger.jobs):
            self.ledger.violation(f"{len(self.ledger.jobs)} jobs were acknowledged, {stored} are stored")
        for watch in self.watches:
            watch.join(20)
            if watch.job in jobs:
                watch.check(jobs[watch.job])
        self.cases = sum(len(job.cases) for job in jobs.values())
        self.shared = sum(bool(case.results_of) for job in jobs.values() for case in job.cases)
        self.states = {}
        for job in jobs.values():
            word = names(job.state).removeprefix("JOB_STATE_") + (f" ({job.reason})" if job.reason else "")
            self.states[word] = self.states.get(word, 0) + 1
        client.close()

    def count_stored(self, client):
        request, count = self.modules.jobs.ListJobsRequest(page_size=1000), 0
        while True:
            page = client.call("ListJobs", request)
            count += len(page.jobs)
            if not page.next_page_token:
                return count
            request.page_token = page.next_page_token

    def figures(self, seconds):
        attempts = len(self.ledger.epochs)
        return (f"seed {self.seed}: {len(self.ledger.jobs)} jobs, {self.cases} cases in {seconds:.0f} s; {attempts} attempts of make-believe workers, "
                f"{self.shared} cases shared a run, {self.ledger.stale} stale results refused; {self.ledger.watched} watchers on "
                f"{sum(w.streams for w in self.watches)} streams; states: "
                f"{', '.join(f'{count} {word}' for word, count in sorted(self.states.items()))}; faults: "
                f"{', '.join(f'{count} {kind}' for kind, count in sorted(self.ledger.faults.items()))}")

    def close(self):
        for worker in self.workers:
            worker.stop()
        if self.proxy is not None:
            self.proxy.close()
        left = self.stack.close()
        if self.disk is not None:
            self.disk.close()
        self.protos.cleanup()
        return left


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--fakes", type=int, default=6)
    parser.add_argument("--watched", type=int, default=200)
    parser.add_argument("--no-real-worker", action="store_true")
    parser.add_argument("--storm-seconds", type=float, help="how long faults strike (default: a tenth of a second a job)")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    run = Run(options.jobs, options.seed, fakes=options.fakes, real_worker=not options.no_real_worker, real_jobs=20, watched=options.watched,
              storm_seconds=options.storm_seconds or options.jobs / 10, settle_seconds=600)
    try:
        seconds = run.go()
        print(run.figures(seconds))
    finally:
        run.close()
    for violation in run.ledger.violations[:50]:
        print(f"VIOLATION: {violation}")
    print(f"{len(run.ledger.violations)} violations")
    return 1 if run.ledger.violations else 0


if __name__ == "__main__":
    sys.exit(main())
