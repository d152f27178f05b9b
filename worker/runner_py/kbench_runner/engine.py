"""The engine as an object: its statuses become exceptions with its own words. One a process, used from one thread."""
import contextlib
import ctypes
import dataclasses
import gc

from kbench_runner import abi

CALLBACK_CALLS = 200
CALLBACK_BATCHES = 9


class EngineError(Exception):
    """A call that did not return KB_OK."""

    def __init__(self, status, message, needed_bytes=0, free_bytes=0):
        super().__init__(message)
        self.status, self.message, self.needed_bytes, self.free_bytes = status, message, needed_bytes, free_bytes


@dataclasses.dataclass(frozen=True)
class Resolved:
    """A problem as the catalog knows it."""

    kernel: str
    dtype: str
    shape: str  # canonical
    mode: str


class UnknownProblem(Exception):
    def __init__(self, reason, message):
        super().__init__(message)
        self.reason, self.message = reason, message


@dataclasses.dataclass(frozen=True)
class Operand:
    name: str
    dtype: str  # of its storage
    extents: tuple[int, ...]
    is_output: bool


@dataclasses.dataclass(frozen=True)
class BurstRecord:
    device_seconds: list[float]
    submit_seconds: list[float]
    discarded: int
    seconds: float
    flags: int
    duty_ratio: float
    clock_hertz: float


@contextlib.contextmanager
def no_collection():
    """Python's garbage collector runs after so many allocations, on whoever makes the last one: a launch in the middle of a burst would pay
    milliseconds for the garbage of all others, and tensors that it frees would go back to torch's allocator while the queue is held."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def text(array):
    return array.decode("utf-8", "replace")


class Library:
    """What the engine knows without a device."""

    def __init__(self, path):
        self.path = path
        self.abi = abi.load(path)
        self.version = text(self.abi.kb_version())

    def resolve(self, kernel, dtype, size, mode):
        """Raises UnknownProblem with the catalog's words."""
        resolved = abi.Resolved()
        status = self.abi.kb_resolve(kernel.encode(), dtype.encode(), size.encode(), mode.encode(), ctypes.byref(resolved))
        if status == abi.OK:
            return Resolved(kernel, dtype, text(resolved.shape), text(resolved.mode))
        raise UnknownProblem(text(resolved.reason) or "BAD_REQUEST", text(resolved.message) or "there is no such problem")

    def work(self, problem):
        work = ctypes.c_double()
        status = self.abi.kb_work(problem.kernel.encode(), problem.dtype.encode(), problem.shape.encode(), ctypes.byref(work))
        if status != abi.OK:
            raise EngineError(status, f"the catalog knows no {problem.kernel} {problem.dtype} {problem.shape}")
        return work.value

    def scaled_shape(self, problem, most_work):
        out = ctypes.create_string_buffer(160)
        status = self.abi.kb_scaled_shape(problem.kernel.encode(), problem.dtype.encode(), problem.shape.encode(), most_work, out, len(out))
        if status != abi.OK:
            raise EngineError(status, f"the catalog knows no {problem.kernel} {problem.dtype} {problem.shape}")
        return text(out.value)

    def callback_seconds(self, callback):
        """What one call of a callback costs: the median of a few batches, so that one interruption is none of its cost."""
        batches = []
        with no_collection():
            for _ in range(CALLBACK_BATCHES):
                seconds = ctypes.c_double()
                status = self.abi.kb_time_callback(callback, None, CALLBACK_CALLS, ctypes.byref(seconds))
                if status != abi.OK:
                    raise EngineError(status, "the empty callback failed")
                batches.append(seconds.value)
        return sorted(batches)[len(batches) // 2]

    def open(self, device, threads):
        """Makes the device's context."""
        handle = ctypes.c_void_p()
        error = ctypes.create_string_buffer(512)
        status = self.abi.kb_open(device.encode(), threads, ctypes.byref(handle), error, len(error))
        if status != abi.OK:
            raise EngineError(status, text(error.value))
        return Engine(self, handle)


class Engine:
    """An open device and the case on it. Callbacks are abi.Launch objects, which the caller keeps alive."""

    def __init__(self, library, handle):
        self.library = library
        self._abi = library.abi
        self._handle = handle

    def close(self):
        if self._handle:
            self._abi.kb_close(self._handle)
            self._handle = None

    def _check(self, status):
        if status != abi.OK:
            raise EngineError(status, text(self._abi.kb_error(self._handle)), self._abi.kb_needed_bytes(self._handle),
                              self._abi.kb_free_bytes(self._handle))

    @property
    def free_bytes(self):
        """Free on the device now; 0: that cannot be asked."""
        return self._abi.kb_device_free_bytes(self._handle)

    @property
    def stream(self):
        """A cudaStream_t as a number; 0 on a CPU."""
        return self._abi.kb_stream(self._handle) or 0

    def open_case(self, problem, *, flush, seed, reference_dir="", memory_limit_bytes=0, flush_bytes=0):
        case = abi.Case(problem.kernel.encode(), problem.dtype.encode(), problem.shape.encode(), problem.mode.encode(), flush.encode(), seed,
                        reference_dir.encode() if reference_dir else None, memory_limit_bytes, flush_bytes)
        self._check(self._abi.kb_case_open(self._handle, ctypes.byref(case)))

    def close_case(self):
        self._abi.kb_case_close(self._handle)

    @property
    def operand_sets(self):
        return self._abi.kb_operand_sets(self._handle)

    @property
    def current_set(self):
        return self._abi.kb_current_set(self._handle)

    def operands(self):
        """Of the open case, the output last."""
        described = []
        for index in range(self._abi.kb_operand_count(self._handle)):
            info = abi.OperandInfo()
            if self._abi.kb_describe_operand(self._handle, index, ctypes.byref(info)) != abi.OK:
                raise EngineError(abi.INVALID_ARGUMENT, f"operand {index} of the case cannot be described")
            described.append(Operand(text(info.name), text(info.dtype), tuple(info.extents[:info.dims]), bool(info.is_output)))
        return described

    def operand_address(self, operand_set, index):
        data = ctypes.c_void_p()
        if self._abi.kb_operand_of(self._handle, operand_set, index, ctypes.byref(data)) != abi.OK:
            raise EngineError(abi.INVALID_ARGUMENT, f"the case has no operand {index} in set {operand_set}")
        return data.value

    def facts(self):
        facts = abi.Facts()
        self._abi.kb_get_facts(self._handle, ctypes.byref(facts))  # fails on null pointers only
        return facts

    def call(self, callback):
        """Seconds of one launch from an idle queue to its end."""
        seconds = ctypes.c_double()
        with no_collection():
            self._check(self._abi.kb_call(self._handle, callback, None, ctypes.byref(seconds)))
        return seconds.value

    def verify(self, stage, seed, callback):
        check = abi.Check()
        with no_collection():
            self._check(self._abi.kb_verify(self._handle, stage, seed, callback, None, ctypes.byref(check)))
        return check

    def burst(self, samples, max_seconds, callback):
        return self._timed(self._abi.kb_burst, samples, max_seconds, callback)

    def trial(self, samples, max_seconds, callback):
        """A burst of launches that are not the case's."""
        return self._timed(self._abi.kb_trial, samples, max_seconds, callback)

    def _timed(self, function, samples, max_seconds, callback):
        device, submit = (ctypes.c_double * samples)(), (ctypes.c_double * samples)()
        record = abi.BurstRecord(device_seconds=device, submit_seconds=submit)
        spec = abi.BurstSpec(samples, max_seconds)
        with no_collection():
            self._check(function(self._handle, ctypes.byref(spec), callback, None, ctypes.byref(record)))
        return BurstRecord(device[:record.count], submit[:record.submit_count], record.discarded, record.seconds, record.flags, record.duty_ratio,
                           record.clock_hertz)

    def open_scratch(self):
        """The address of a second output; None for a kernel without operands."""
        data = ctypes.c_void_p()
        self._check(self._abi.kb_scratch_open(self._handle, ctypes.byref(data)))
        return data.value

    def close_scratch(self):
        self._abi.kb_scratch_close(self._handle)

    def calibrate(self):
        calibration = abi.Calibration()
        self._check(self._abi.kb_calibrate(self._handle, ctypes.byref(calibration)))
        return calibration
