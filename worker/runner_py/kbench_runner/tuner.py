"""Times the candidates of an open implementation on the case's inputs and a scratch output, never on the case's own."""
import dataclasses
import gc
import time

from kbench_runner import abi, failures
from kbench_runner.engine import EngineError
from kbench_runner.halving import Halving
from kbench_runner.launch import Launches

TRIAL_SECONDS = 0.2  # longer than any trial should take that is worth going on with; one sample is taken at least
# Compiling a candidate takes seconds where timing it takes milliseconds: `max_seconds` is for the timing, all of it together may take so many times
# as long.
PATIENCE = 8


@dataclasses.dataclass
class Tuned:
    candidate: str = ""  # the fastest; empty: none could be timed, and `note` says why
    timed: int = 0  # candidates that gave a time
    decided: bool = False  # False: the time was over first, another may be faster
    seconds: float = 0.0  # that it took
    making_seconds: float = 0.0  # of these, to create the candidates and call them for the first time
    note: str = ""
    device_lost: bool = False  # the engine reported KB_DEVICE_ERROR: the process must end. `note` names the candidate


class _Trials:
    def __init__(self, opened, scratch):
        self._opened = opened
        self._operands = opened.operands(0, scratch)
        self._made = {}  # candidate: Launches
        self.making_seconds = 0.0
        self.failure = ""  # the latest
        self.device_lost = False

    def drop(self, candidate):
        self._made.pop(candidate, None)

    def run(self, candidate, samples):
        """The samples of one candidate; none: it failed, and `failure` says why."""
        begin = time.monotonic()
        try:
            launches = self._made.get(candidate) or self._make(candidate)
            self.making_seconds += time.monotonic() - begin
            record = self._opened.engine.trial(samples, TRIAL_SECONDS, launches.callback)
        except EngineError as error:
            self.device_lost = error.status == abi.DEVICE_ERROR
            return self._fail(candidate, error, error.message)
        except BaseException as error:  # of `create`
            self.making_seconds += time.monotonic() - begin
            return self._fail(candidate, error, failures.words(error))
        if not record.device_seconds:
            self.failure = f"candidate {candidate}: the host disturbed every sample"
        return record.device_seconds

    def _make(self, candidate):
        self._opened.framework.set_math_mode(self._opened.problem.dtype)
        launches = self._made[candidate] = Launches([self._opened.create_instance(candidate, self._operands).launch])
        self._opened.engine.call(launches.callback)  # loads what there is to load, and fills torch's allocator
        self._opened.engine.call(launches.callback)
        return launches

    def _fail(self, candidate, error, message):
        launches = self._made.pop(candidate, None)
        raised = launches.take_error() if launches else None
        if raised is not None:
            failures.show(raised)
            message = failures.words(raised)
        elif not isinstance(error, EngineError):
            failures.show(error)
        self.failure = f"candidate {candidate}: {message}"
        return []


def tune(opened, max_seconds):
    """A candidate that cannot be created or launched only loses itself. No further one is tried after `max_seconds` of trials."""
    begin = time.monotonic()
    tuned = Tuned()
    try:
        scratch = opened.engine.open_scratch()
    except EngineError as error:
        tuned.note = error.message
        return tuned
    trials = _Trials(opened, scratch)
    halving = Halving(len(opened.offered), max_seconds)
    while True:
        spent = time.monotonic() - begin
        trial = halving.next(spent - trials.making_seconds) if spent < PATIENCE * max_seconds else None
        if trial is None:
            break
        index, samples = trial
        halving.report(trials.run(opened.offered[index], samples))
        for place, candidate in enumerate(opened.offered):
            if not halving.is_in(place):
                trials.drop(candidate)
        if trials.device_lost:
            tuned.device_lost, tuned.note = True, trials.failure
            return tuned
    tuned.making_seconds, failure = trials.making_seconds, trials.failure
    del trials  # its tensors lie over the scratch output
    gc.collect()
    opened.engine.close_scratch()
    if halving.best is not None:
        tuned.candidate = opened.offered[halving.best]
    else:
        tuned.note = failure or "no time was left to try a candidate"
    tuned.decided, tuned.timed, tuned.seconds = halving.decided, halving.timed, time.monotonic() - begin
    return tuned
