"""An implementation on a case that is open in the engine, with an instance for each of its operand sets. At most one at a time."""
import dataclasses
import gc
import time

from kbench_kernels import implementation as contract
from kbench_runner import abi, failures
from kbench_runner.engine import EngineError
from kbench_runner.failures import Failure
from kbench_runner.launch import Launches, launch_nothing


@dataclasses.dataclass(frozen=True)
class CaseOptions:
    flush: str = "clean"
    seed: int = 1
    reference_dir: str = ""
    memory_limit_bytes: int = 0
    flush_bytes: int = 0  # each half of a flush; 0: the engine's default
    many_launches: bool = False  # modes graph and steady: a sample may be more than one launch
    rotates: bool = False  # mode graph
    candidate: str = ""  # tried before all others, if it is offered


@dataclasses.dataclass(frozen=True)
class Workplace:
    """What every case of a session runs on."""

    engine: object
    framework: object
    context: contract.Context


class OpenInstance:
    """Opens the case and creates the implementation with the first of its candidates that can be created; Failure leaves nothing behind."""

    def __init__(self, workplace, entry, problem, options):
        self.engine, self.framework = workplace.engine, workplace.framework
        self.entry, self.problem, self._context = entry, problem, workplace.context
        self.instances = []  # by operand set
        self.create_seconds = 0.0  # of the first: what a user of the implementation would wait for
        self.candidate = ""
        self.launches = None
        try:
            self.engine.open_case(problem, flush=options.flush, seed=options.seed, reference_dir=options.reference_dir,
                                  memory_limit_bytes=options.memory_limit_bytes, flush_bytes=options.flush_bytes)
        except EngineError as error:
            failure = failures.of_engine(error)
        else:
            failure = self._offer() or self.create_from(options.candidate)
        if failure is not None:
            self.close()
            raise failure

    def close(self):
        """Tensors over the engine's memory end before the memory does, also those that an exception's frames still hold."""
        self.instances, self.launches = [], None
        gc.collect()
        self.engine.close_case()
        self.framework.release()

    def _offer(self):
        self.offered = []
        offers = self.entry.implementation.candidates
        if offers is None:
            return None
        try:
            self.offered = [str(one) for one in offers(self.problem, self._context)]
        except Exception as error:
            failures.show(error)
            return failures.of_exception(error, "EXCEPTION", f"{self.entry.name} threw while it named its candidates")
        return None

    def operands(self, operand_set=0, output_address=None):
        """Tensors over a set; with another output, where one is given."""
        tensors = []
        for index, operand in enumerate(self.engine.operands()):
            address = self.engine.operand_address(operand_set, index)
            tensors.append(self.framework.tensor(output_address if operand.is_output and output_address else address, operand))
        return contract.Operands(tuple(tensors[:-1]), tensors[-1] if tensors else None)

    def create_instance(self, candidate, operands):
        """Raises what `create` raises."""
        return self.entry.implementation.create(self.problem, operands, dataclasses.replace(self._context, candidate=candidate))

    def create_from(self, candidate):
        """Creates this candidate, or the first other one that can be created. The Failure of the first, or None."""
        self._order = sorted(self.offered, key=lambda one: one != candidate) or [""]
        return self.create_next()

    def create_next(self):
        """Creates the next candidate in place of this one. None: done; else a Failure, and there is no further one."""
        first = Failure("INFRA", "NO_CANDIDATE", "there is no further candidate")
        tried = False
        while self._order:
            candidate = self._order.pop(0)
            self.instances, self.launches = [], None
            failure = self._create(candidate)
            if failure is None:
                self.candidate = candidate
                return None
            if not tried or failure.fatal:
                first, tried = failure, True
            if failure.fatal:
                break
        return first

    def _create(self, candidate):
        self.framework.set_math_mode(self.problem.dtype)
        failure = None
        try:
            for operand_set in range(self.engine.operand_sets):
                begin = time.monotonic()
                instance = self.create_instance(candidate, self.operands(operand_set))
                if operand_set == 0:
                    self.create_seconds = time.monotonic() - begin
                if not callable(getattr(instance, "launch", None)):
                    raise TypeError(f"create returned {instance!r}, which has no launch")
                self.instances.append(instance)
        except BaseException as error:  # SystemExit too
            failures.show(error)
            failure = failures.of_exception(error, "EXCEPTION", f"{self.entry.name} threw while it was created")
        if failure is None:
            self.launches = Launches([one.launch for one in self.instances], lambda: self.engine.current_set)
            return None
        self.instances = []
        gc.collect()
        failure.fatal = failure.fatal or self._device_lost()
        return failure

    def _device_lost(self):
        """Whether the device survived decides whether this process may go on."""
        nothing = Launches([launch_nothing])
        try:
            self.engine.call(nothing.callback)
        except EngineError as error:
            return error.status == abi.DEVICE_ERROR
        return False

    def explain(self, error):
        """A Failure for an EngineError, with the exception of the launch where one ended the call."""
        raised = self.launches.take_error() if self.launches else None
        if raised is not None:
            failures.show(raised)
        return failures.of_engine(error, raised)

    def timed(self, call):
        """call(callback), with a Failure for an EngineError."""
        try:
            return call(self.launches.callback)
        except EngineError as error:
            failure = self.explain(error)
        raise failure

    def call(self):
        """Seconds of one launch from an idle queue to its end."""
        return self.timed(self.engine.call)
