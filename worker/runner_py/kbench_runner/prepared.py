"""A case with its implementation, ready to be verified and timed: what the session does between prepare and finish, as
worker/runner/prepared_case.cc does it."""
import statistics
import time

from kbench_runner import abi, tuner
from kbench_runner.failures import Failure, bad_request

MOST_SAMPLES = 10000
WINDOW_SECONDS = 0.05
SHORTEST_WINDOW_SECONDS = 0.005
STEADY_RATIO = 0.01
STEADY_WINDOWS = 3
END_TO_END_CALLS = 7
LONG_LAUNCH = 0.01  # several times the 2 ms that a batch of mode steady takes

FLAGS = ((abi.FLAG_HOST_STALL, "HOST_STALL"), (abi.FLAG_MIGRATED, "MIGRATED"), (abi.FLAG_BLOCKER_TIMEOUT, "BLOCKER_TIMEOUT"),
         (abi.FLAG_STOLEN, "STOLEN"), (abi.FLAG_SIDE_STREAM, "SIDE_STREAM"), (abi.FLAG_PERSISTING_L2, "PERSISTING_L2"))
STAGES = {"BEFORE": abi.VERIFY_BEFORE, "AFTER": abi.VERIFY_AFTER, "NEW_SEED": abi.VERIFY_NEW_SEED}


def last_windows_agree(medians):
    last = medians[-STEADY_WINDOWS:]
    return len(last) == STEADY_WINDOWS and max(last) - min(last) <= STEADY_RATIO * min(last)


class PreparedCase:
    """Every method answers with the fields of its reply or raises Failure."""

    def __init__(self, opened, options, callback_seconds):
        self._opened, self._options, self._callback_seconds = opened, options, callback_seconds
        self._engine = opened.engine
        # What a user waits for, found before anything was tuned.
        self._first_call_seconds = 0.0
        self._create_seconds = opened.create_seconds
        self._call_seconds = 0.0  # of one launch, as last seen
        self._tune_seconds = 0.0
        self._choice = {}  # of an implementation with candidates: default, cached or measured, and how that came about
        self._pace_seconds = 0.0  # wall time of one sample, as last seen
        self._allocations = 0  # of torch's allocator, when its caches were warm

    def close(self):
        self._opened.close()

    def start(self):
        self._first_calls()
        if len(self._opened.offered) > 1:
            cached = self._options.candidate and self._opened.candidate == self._options.candidate
            self._choice["tuned"] = "cached" if cached else "default"
        return self._describe()

    def _first_calls(self):
        """Two launches at least before anything blocks: the first compiles and loads, and both fill torch's allocator on the engine's stream."""
        while True:
            try:
                first = self._opened.call()
                break
            except Failure as why:
                failure = why
            # What one candidate cannot do another may.
            following = None if failure.fatal else self._opened.create_next()
            if failure.fatal or following is not None:
                raise following if following is not None and following.fatal else failure
        second = self._opened.call()
        self._first_call_seconds = self._first_call_seconds or first
        self._pace_seconds = self._call_seconds = min(first, second)
        if self._options.many_launches and (self._options.rotates or self._pace_seconds < LONG_LAUNCH):
            self._burst(1, 0.0)  # how many launches make a sample is found by the first burst; of a long one it is one
        self._allocations = self._opened.framework.driver_allocations()

    def _describe(self):
        facts = self._engine.facts()
        instance = self._opened.instances[0]
        reply = {
            "first_call_seconds": self._first_call_seconds, "compile_seconds": self._create_seconds, "autotune_seconds": self._tune_seconds,
            "estimate_seconds": self._call_seconds, "footprint_bytes": facts.footprint_bytes, "mechanism": facts.mechanism.decode(),
            "clock_quantum_seconds": facts.quantum_seconds, "launches_per_sample": facts.launches_per_sample, "operand_sets": facts.operand_sets}
        configuration = self._opened.framework.math_mode()
        if instance.compile_seconds > 0:
            configuration["compiler_seconds"] = f"{instance.compile_seconds:.3g}"
        configuration.update((str(key), str(value)) for key, value in instance.configuration.items())
        offered = self._opened.offered
        if offered:
            configuration |= {"candidate": self._opened.candidate, "candidates": str(len(offered))} | self._choice
            reply |= {"candidate": self._opened.candidate, "candidates": len(offered), "tuned": self._choice.get("tuned", "")}
        settings = {"threads": str(facts.threads), "flush": self._options.flush,
                    "flush_bytes": str(0 if self._options.flush == "none" else facts.flush_bytes),
                    # Of every submit time so much is the way from C into Python and back.
                    "callback_seconds": f"{self._callback_seconds:.3g}"}
        if facts.operand_sets > 1:
            settings["rotation_bytes"] = str(facts.operand_sets * facts.footprint_bytes)
        return reply | {"configuration": configuration, "settings": settings}

    def tune(self, max_seconds):
        if not max_seconds > 0:
            raise bad_request("tuning needs max_seconds above 0")
        if len(self._opened.offered) > 1:
            tuned = tuner.tune(self._opened, max_seconds)
            if tuned.device_lost:
                raise Failure("CRASHED", "DEVICE_FAULT", f"while its candidates were timed, {tuned.note}", fatal=True)
            self._take(tuned)
        return self._describe()

    def _take(self, tuned):
        self._tune_seconds += tuned.seconds
        if tuned.candidate:
            self._choice = {"tuned": "measured" if tuned.decided else "unfinished", "candidates_timed": str(tuned.timed),
                            "autotune_compile_seconds": f"{tuned.making_seconds:.3g}"}
            if tuned.candidate != self._opened.candidate:
                failure = self._opened.create_from(tuned.candidate)
                if failure is not None:
                    raise failure
        else:
            self._choice["tuning"] = tuned.note
        # Anew: another launch takes another time, and a graph holds the launches of the old one.
        self._first_calls()
        if tuned.candidate and self._opened.candidate != tuned.candidate:
            self._choice["tuned"] = "default"  # the fastest did not work here

    def verify(self, stage, seed):
        check = self._opened.timed(lambda callback: self._engine.verify(STAGES.get(stage, 0), seed, callback))
        return {"passed": bool(check.passed), "relative_error": check.relative_error, "tolerance": check.tolerance, "method": check.method.decode(),
                "reason": check.reason.decode(), "message": check.message.decode("utf-8", "replace")}

    def burst(self, samples, max_seconds):
        if not 1 <= samples <= MOST_SAMPLES or max_seconds < 0:
            raise bad_request(f"a burst has 1 to {MOST_SAMPLES} samples and at least 0 seconds, not {samples} samples and {max_seconds:f} seconds")
        record = self._burst(samples, max_seconds)
        return {"device_seconds": record.device_seconds, "submit_seconds": record.submit_seconds, "discarded": record.discarded,
                "flags": [name for flag, name in FLAGS if record.flags & flag], "seconds": record.seconds, "duty_ratio": record.duty_ratio,
                "clock_hertz": record.clock_hertz}

    def _burst(self, samples, max_seconds):
        try:
            record = self._opened.timed(lambda callback: self._engine.burst(samples, max_seconds, callback))
        except Failure as why:
            failure = why
        else:
            taken = len(record.device_seconds) + record.discarded
            if taken:
                self._pace_seconds = record.seconds / taken
            return record
        if failure.reason == "BLOCKER_TIMEOUT" and self._allocations:
            asked = self._opened.framework.driver_allocations() - self._allocations
            if asked > 0:
                failure.message += f"; torch's allocator asked the driver for memory {asked} times meanwhile: a launch must find its memory at hand"
        raise failure

    def warm(self, min_seconds, max_seconds):
        if not max_seconds > 0 or min_seconds < 0 or min_seconds > max_seconds:
            raise bad_request("warming needs 0 <= min_seconds <= max_seconds and max_seconds above 0")
        window = min(max(max_seconds / 6, SHORTEST_WINDOW_SECONDS), WINDOW_SECONDS)
        begin = time.monotonic()
        medians = []
        while True:
            fits = window / self._pace_seconds if self._pace_seconds > 0 else MOST_SAMPLES
            record = self._burst(int(min(max(fits, 1), MOST_SAMPLES)), window)
            if record.device_seconds:
                medians.append(statistics.median(record.device_seconds))
            elapsed = time.monotonic() - begin
            steady = last_windows_agree(medians)
            if elapsed >= max_seconds or (steady and elapsed >= min_seconds):
                break
        calls = self._end_to_end(0.1 * max_seconds)
        return {"seconds": time.monotonic() - begin, "sample_seconds": medians[-1] if medians else 0.0, "pace_seconds": self._pace_seconds,
                "steady": steady, "end_to_end_calls": calls}

    def _end_to_end(self, budget_seconds):
        """A few calls from an idle queue to their end, seconds."""
        begin = time.monotonic()
        calls = [self._opened.call()]
        while len(calls) < END_TO_END_CALLS and time.monotonic() - begin < budget_seconds:
            calls.append(self._opened.call())
        return calls

    def profile_launch(self):
        """One launch inside of a profiler's range."""
        self._opened.framework.profiler_range(True)
        try:
            self._opened.call()
        finally:
            self._opened.framework.profiler_range(False)

    def code(self):
        """{function: {kind: bytes}}"""
        give = self._opened.instances[0].code
        return give() if give is not None else {}
