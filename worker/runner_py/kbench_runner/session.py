"""The runner's side of the frame protocol: one request in, one reply out, state kept between them. The engine is opened at the first prepare,
because a spare must hold no CUDA context."""
import gc
import time

from kbench_kernels import implementation as contract
from kbench_runner import code, estimate, failures, registry, schema
from kbench_runner.engine import EngineError, UnknownProblem
from kbench_runner.failures import Failure, bad_state
from kbench_runner.launch import Launches, launch_nothing
from kbench_runner.opened import CaseOptions, OpenInstance, Workplace
from kbench_runner.prepared import PreparedCase

PROTOCOL_VERSION = 1


def seconds_text(seconds):
    """"137 s", "0.52 s": for people."""
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


def options_of(request, mode):
    flush = request["flush"] or "clean"
    return CaseOptions(flush=flush if mode == "cold" else "none", seed=request["seed"], reference_dir=request["reference_dir"],
                       memory_limit_bytes=request["memory_limit_bytes"], flush_bytes=request["flush_bytes"],
                       many_launches=mode in ("graph", "steady"), rotates=mode == "graph", candidate=request["candidate"])


class Session:
    """`framework` is None where it is absent; then there are no implementations and `absent` says why."""

    def __init__(self, options, library, framework, found, absent, build_id, threads):
        self._options, self._library, self._framework, self._registry = options, library, framework, found
        self._absent, self._build_id, self._threads = absent, build_id, threads
        self._engine = None
        self._prepared = None
        self._callback_seconds = 0.0
        self._context = contract.Context(device=options.device, threads=threads)
        if framework is not None:
            self._context = contract.Context(device=options.device, threads=threads, capability=framework.facts.capability,
                                             multiprocessors=framework.facts.multiprocessors)
        self.fatal = False  # the device's context is poisoned: the process must end after the reply

    def close(self):
        self._finish()
        if self._engine is not None:
            self._engine.close()

    def handle(self, request_id, kind, message):
        """The reply. Never raises but for what ends the process anyway."""
        try:
            reply = self._dispatch(kind, message)
        except Failure as failure:
            self.fatal = self.fatal or failure.fatal
            reply = {"failure": failure.message_fields(self._engine.free_bytes if self._engine is not None else 0)}
        except Exception as error:
            failures.show(error)
            reply = {"failure": Failure("INFRA", "EXCEPTION", f"the runner could not go on: {failures.words(error)}").message_fields()}
        return {"id": request_id} | reply

    def _dispatch(self, kind, message):
        if kind == "hello":
            return {"hello": self._hello()}
        if kind == "prepare":
            return {"prepared": self._prepare(message)}
        if kind == "calibrate":
            return {"calibrated": {"calibration": self._calibrate()}}
        if kind == "finish":
            self._finish()
            return {"finished": {}}
        if kind is None:
            raise failures.bad_request("the frame holds no request: hello, prepare, tune, verify, warm, burst, finish, calibrate, collect_code or "
                                       "profile_launch")
        if self._prepared is None:
            raise bad_state(f"{kind} needs a prepared case: send prepare first")
        return self._on_case(kind, message)

    def _on_case(self, kind, message):
        prepared = self._prepared
        if kind == "tune":
            return {"tuned": prepared.tune(message["max_seconds"])}
        if kind == "verify":
            return {"verified": prepared.verify(message["stage"], message["seed"])}
        if kind == "warm":
            return {"warmed": prepared.warm(message["min_seconds"], message["max_seconds"])}
        if kind == "burst":
            return {"burst": prepared.burst(message["samples"], message["max_seconds"])}
        if kind == "collect_code":
            return {"code_collected": code.collect(prepared, message["directory"], message["architecture"])}
        if self._options.device != "cuda":
            raise Failure("UNSUPPORTED", "NO_PROFILER", f"no profiler looks at what runs on a {self._options.device} device")
        prepared.profile_launch()
        return {"launch_profiled": {}}

    def _hello(self):
        environment = self._options.environment
        return {
            "protocol_version": PROTOCOL_VERSION, "runner": f"kbench-runner-{self._options.framework}", "engine_version": self._library.version,
            "device_kind": self._options.device, "build_id": self._build_id,
            "implementations": [registry.describe(entry, self._context, environment) for entry in self._registry.entries],
            "libraries": self._framework.libraries if self._framework is not None else {}, "absent": self._absent}

    def _open_engine(self):
        if self._engine is not None:
            return
        try:
            engine = self._library.open(self._options.device, self._threads)
        except EngineError as error:
            # A context that could not be made is not tried again in this process.
            raise Failure("INFRA", "ENGINE_OPEN", error.message, fatal=True) from None
        if self._framework is not None:
            try:
                self._framework.attach(engine.stream, self._threads)
            except Exception as error:
                failures.show(error)
                raise Failure("INFRA", "ENGINE_OPEN", f"torch cannot use the device: {failures.words(error)}", fatal=True) from None
        self._callback_seconds = self._library.callback_seconds(Launches([launch_nothing]).callback)
        self._engine = engine

    def _resolve(self, case):
        try:
            problem = self._library.resolve(case["kernel"], case["dtype"], case["shape"] or case["size"], case["mode"])
        except UnknownProblem as error:
            raise Failure("UNSUPPORTED", error.reason, error.message) from None
        if problem.mode == "graph" and self._options.device != "cuda":
            raise Failure("UNSUPPORTED", "UNSUPPORTED_MODE", "mode graph needs CUDA graphs, which a CPU has not; use cold, hot or steady")
        return contract.Problem(problem.kernel, problem.dtype, problem.shape, problem.mode)

    def _find(self, name, problem):
        """The implementation, if it can run the problem at all: decided before anything is allocated."""
        entry = self._registry.find(name, problem.kernel)
        if entry is None:
            why = "".join(f"; {one['message']}" for one in self._absent)
            raise Failure("UNSUPPORTED", "UNKNOWN_IMPLEMENTATION", f"this runner has no implementation '{name}' of {problem.kernel}{why}")
        try:
            why_dtype = registry.why_no_dtype(entry, problem.dtype, self._context)
            unsupported = entry.implementation.unsupported
            why = unsupported(problem, self._context) if why_dtype is None and unsupported is not None else None
        except Exception as error:
            failures.show(error)
            failure = failures.of_exception(error, "EXCEPTION", f"{name} threw while it was asked for what it supports")
        else:
            if why_dtype is None and why is None:
                return entry
            failure = Failure("UNSUPPORTED", "UNSUPPORTED_DTYPE" if why_dtype else "UNSUPPORTED_PROBLEM", why_dtype or why)
        raise failure

    def _prepare(self, request):
        if self._prepared is not None:
            raise bad_state("a case is prepared already: send finish first")
        problem = self._resolve(request["case"] or schema.decode("CaseSpec", {}))
        entry = self._find(request["implementation"], problem)
        gc.collect()  # what the last case left in cycles must not be found in the middle of this one
        self._open_engine()
        workplace = Workplace(self._engine, self._framework, self._context)
        options = options_of(request, problem.mode)
        limit = request["launch_limit_seconds"]
        if limit > 0:
            seconds = estimate.launch_seconds(workplace, entry, problem, options, limit)
            if seconds is not None and seconds > limit:
                raise Failure("SKIPPED", "LAUNCH_TOO_LONG",
                              f"one launch would take about {seconds_text(seconds)}; the limit is {seconds_text(limit)}", estimate_seconds=seconds)
        prepared = PreparedCase(OpenInstance(workplace, entry, problem, options), options, self._callback_seconds)
        try:
            reply = prepared.start()
        except BaseException:
            prepared.close()
            raise
        self._prepared = prepared
        return reply

    def _finish(self):
        if self._prepared is not None:
            prepared, self._prepared = self._prepared, None
            prepared.close()

    def _calibrate(self):
        if self._prepared is not None:
            raise bad_state("a case is prepared: send finish before calibrate")
        self._open_engine()
        begin = time.monotonic()
        try:
            told = self._engine.calibrate()
        except EngineError as error:
            raise failures.of_engine(error) from None
        reply = {name: getattr(told, name) for name in (
            "event_floor_seconds", "null_kernel_seconds", "quantum_seconds", "timer_tick_seconds", "event_cost_seconds", "flush_bytes",
            "flush_cold_ratio", "read_bandwidth", "write_bandwidth", "copy_bandwidth")}
        known = zip(told.known_expected_seconds, told.known_measured_seconds, told.known_allowed_seconds)
        return reply | {
            "passed": bool(told.passed), "failed_step": told.failed_step.decode(), "message": told.message.decode("utf-8", "replace"),
            "known_durations": [{"expected_seconds": expected, "measured_seconds": measured, "allowed_seconds": allowed}
                                for expected, measured, allowed in list(known)[:told.known_count]],
            "seconds": time.monotonic() - begin, "engine_version": self._library.version}
