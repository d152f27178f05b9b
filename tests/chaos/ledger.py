"""What was promised and what was seen during a run, from every side, and whether it holds together at the end. Thread-safe."""
import collections
import threading

FINAL = ("JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED", "JOB_STATE_CANCELLED", "JOB_STATE_EXPIRED")


class Ledger:
    def __init__(self):
        self.lock = threading.Lock()
        self.jobs = {}  # name -> request id, as acknowledged
        self.sent = {}  # token of a result -> (job, case, attempt, epoch)
        self.epochs = collections.Counter()  # of assignments: one epoch is one attempt
        self.accepted = collections.Counter()  # (job, case): answered as stored
        self.stale = 0
        self.watched = 0
        self.faults = collections.Counter()
        self.violations = []

    def violation(self, text):
        with self.lock:
            self.violations.append(text)

    def fault(self, kind):
        with self.lock:
            self.faults[kind] += 1

    def acknowledged(self, job, request_id):
        with self.lock:
            known = self.jobs.setdefault(job, request_id)
            if known != request_id:
                self.violations.append(f"{job} answers two requests: {known} and {request_id}")

    def assigned(self, attempt, worker):
        with self.lock:
            key = (attempt.epoch, attempt.job, attempt.case_index, attempt.attempt, worker)
            self.epochs[key] += 1
            if len([1 for other in self.epochs if other[0] == attempt.epoch]) > 1:
                self.violations.append(f"epoch {attempt.epoch} was given to two attempts")

    def measured(self, token, attempt):
        with self.lock:
            self.sent[token] = (attempt.job, attempt.case_index, attempt.attempt, attempt.epoch)

    def answered(self, attempt, stale, counts):
        with self.lock:
            if stale:
                self.stale += 1
            elif counts:
                self.accepted[attempt.job, attempt.case_index] += 1
                if self.accepted[attempt.job, attempt.case_index] > 1:
                    self.violations.append(f"case {attempt.case_index} of {attempt.job}: two results were accepted")

    # --- at the end

    def check_job(self, job, names):
        """`job` as GetJob answers, `names` the states' names."""
        state = names(job.state)
        if state not in FINAL:
            self.violation(f"{job.name} has not ended: {state}")
        if job.cases_done != len(job.spec.cases):
            self.violation(f"{job.name}: {job.cases_done} of {len(job.spec.cases)} cases have ended")
        for case in job.cases:
            self.check_case(job, case, names)

    def check_case(self, job, case, names):
        where = f"case {case.index} of {job.name}"
        succeeded = names(case.state) == "JOB_STATE_SUCCEEDED"
        if succeeded != bool(case.results):
            self.violation(f"{where} is {names(case.state)} with {len(case.results)} results")
        rows = collections.Counter(result.implementation for result in case.results)
        if rows and max(rows.values()) > 1:
            self.violation(f"{where} has rows twice: {dict(rows)}")
        if case.attempt > 3:
            self.violation(f"{where} was tried {case.attempt} times")
        if case.results_of:
            if any(result.job != case.results_of for result in case.results):
                self.violation(f"{where} names {case.results_of} and shows another's results")
            return
        for result in case.results:
            # A result counts only while no newer attempt has begun: it is that of the last one.
            if result.attempt != case.attempt or result.worker != case.worker:
                self.violation(f"{where} shows attempt {result.attempt} of {result.worker}, but the last was {case.attempt} of {case.worker}")
            token = result.configuration.get("token")
            if token and self.sent.get(token, ())[:3] != (job.name, case.index, case.attempt):
                self.violation(f"{where} shows a result that was measured for {self.sent.get(token)}")
