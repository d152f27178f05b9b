"""Failures in the words of the outcome table: what the engine, an implementation or Python itself says, as worker/runner/failure.cc says it."""
import re
import traceback

from kbench_kernels import implementation as contract
from kbench_runner import abi

MOST_MESSAGE = 2000  # characters: a compiler can say more than anyone reads
FIRST_WORDS = 200  # of these; the rest is the end, where compilers say what is wrong

# Exceptions by the names of their classes: neither torch nor Triton need be there, and their modules move about.
COMPILE_ERRORS = {"CompileError", "CompilationError", "PTXASError", "BackendCompilerFailed", "InductorError", "TorchDynamoException"}
OUT_OF_RESOURCES = "OutOfResources"  # Triton: the device has less shared memory than this configuration wants


def shortened(message):
    if len(message) <= MOST_MESSAGE:
        return message
    return f"{message[:FIRST_WORDS]} ... {message[FIRST_WORDS + 5 - MOST_MESSAGE:]}"


def with_memory(message, needed_bytes, free_bytes):
    """The message of an OUT_OF_MEMORY with both numbers in it, as worker/runner/failure.cc says them; 0 is unknown."""
    if needed_bytes and free_bytes and f" {needed_bytes} bytes" in message and str(free_bytes) in message:
        return message
    needed, free = (f"{number} bytes" if number else "unknown" for number in (needed_bytes, free_bytes))
    return f"{message} (needed: {needed}; free: {free})"


class Failure(Exception):
    """A request that was not fulfilled; becomes a RunnerFailure."""

    def __init__(self, outcome, reason, message, *, fatal=False, estimate_seconds=0.0, needed_bytes=0, free_bytes=0):
        super().__init__(message)
        self.outcome, self.reason, self.message, self.fatal = outcome, reason, shortened(message), fatal
        self.estimate_seconds, self.needed_bytes, self.free_bytes = estimate_seconds, needed_bytes, free_bytes

    def message_fields(self, free_bytes=0):
        """`free_bytes`: of the device now, for what ran out of memory without saying how much there was."""
        message, free = self.message, self.free_bytes
        if self.outcome == "OUT_OF_MEMORY":
            free = free or free_bytes
            message = with_memory(message, self.needed_bytes, free)
        return {"outcome": "OUTCOME_" + self.outcome, "reason": self.reason, "message": message.encode("utf-8", "replace").decode(),
                "estimate_seconds": self.estimate_seconds, "fatal": self.fatal, "needed_bytes": self.needed_bytes, "free_bytes": free}


def bad_request(message):
    return Failure("INFRA", "BAD_REQUEST", message)


def bad_state(message):
    return Failure("INFRA", "BAD_STATE", message)


def words(error):
    """"ValueError: the message", in one line."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def show(error):
    """The traceback goes where the worker keeps what a runner prints."""
    traceback.print_exception(type(error), error, error.__traceback__)


def _class_names(error):
    return {one.__name__ for one in type(error).__mro__}


def _bytes(text, pattern):
    """torch says "Tried to allocate 20.00 GiB" and "you tried to allocate 123 bytes"."""
    found = re.search(pattern + r" ([\d.]+) (bytes|KiB|MiB|GiB)", text)
    units = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    return int(float(found[1]) * units[found[2]]) if found else 0


def _is_out_of_memory(error, names):
    return "OutOfMemoryError" in names or isinstance(error, MemoryError) or "DefaultCPUAllocator: can't allocate memory" in str(error)


def of_exception(error, reason, doing):
    """An exception of an implementation. One whose class tells nothing is CRASHED with `reason` and "`doing`: its words"."""
    names = _class_names(error)
    if _is_out_of_memory(error, names):
        text = str(error)
        return Failure("OUT_OF_MEMORY", "OUT_OF_MEMORY", words(error), needed_bytes=_bytes(text, "ried to allocate"),
                       free_bytes=_bytes(text, "of which"))
    if isinstance(error, contract.Unsupported) or OUT_OF_RESOURCES in names:
        return Failure("UNSUPPORTED", "UNSUPPORTED_PROBLEM", " ".join(str(error).split()) or words(error))
    if names & COMPILE_ERRORS:
        return Failure("COMPILE_ERROR", "COMPILE_ERROR", str(error).strip() or words(error))
    return Failure("CRASHED", reason, f"{doing}: {words(error)}")


def of_engine(error, launch_error=None):
    """An EngineError; `launch_error` is the exception of the launch that ended the call, if one did."""
    if error.status == abi.OUT_OF_MEMORY:
        return Failure("OUT_OF_MEMORY", "OUT_OF_MEMORY", error.message, needed_bytes=error.needed_bytes, free_bytes=error.free_bytes)
    if error.status == abi.LAUNCH_FAILED:
        if launch_error is None:
            return Failure("CRASHED", "LAUNCH_FAILED", error.message)
        return of_exception(launch_error, "LAUNCH_FAILED", "the launch failed")
    if error.status == abi.DEVICE_ERROR:
        return Failure("CRASHED", "DEVICE_FAULT", error.message, fatal=True)
    if error.status == abi.TIMEOUT:
        return Failure("TIMED_OUT", "BLOCKER_TIMEOUT", error.message)
    if error.status == abi.NOT_CAPTURABLE:
        why = f" ({words(launch_error)})" if launch_error is not None else ""
        return Failure("UNSUPPORTED", "NOT_CAPTURABLE", error.message + why)
    if error.status == abi.IO_ERROR:
        return Failure("INFRA", "ENGINE_IO", error.message)
    return bad_request(error.message)
