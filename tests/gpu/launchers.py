"""libkbench-launchers.so from Python: our kernels for foreign stopwatches (launchers.h says what each function does). Standard library only."""
import ctypes

MOST_OPERANDS = 8
TEXT_BYTES = 4096


class LaunchError(Exception):
    """What the library said."""


class Launchers:
    """The library. Load it before torch, so that both use the cuBLAS that kbench's runner uses."""

    def __init__(self, path):
        text, size, integer, pointer = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p
        self._library = ctypes.CDLL(str(path))
        problem = [text, text, text]
        pointers = ctypes.POINTER(pointer)
        signatures = {
            "kbl_operands": (integer, [*problem, ctypes.POINTER(ctypes.c_int64), integer, text, size]),
            "kbl_allocate": (integer, [*problem, ctypes.c_uint64, pointers, integer, text, size]),
            "kbl_free": (None, [pointers, integer]),
            "kbl_create": (pointer, [*problem, text, pointers, integer, text, size]),
            "kbl_destroy": (None, [pointer]),
            "kbl_launch": (integer, [pointer, pointer]),
            "kbl_error_text": (None, [pointer, integer, text, size]),
            "kbl_configuration": (None, [pointer, text, size]),
            "kbl_time_batch": (integer, [pointer, integer, ctypes.POINTER(ctypes.c_double), text, size]),
            "kbl_synchronize": (integer, [text, size]),
            "kbl_profile": (integer, [integer, text, size]),
        }
        for name, (result, arguments) in signatures.items():
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, arguments

    def call(self, name, *arguments):
        """A function that reports its errors: raises what it said."""
        error = ctypes.create_string_buffer(TEXT_BYTES)
        result = getattr(self._library, name)(*arguments, error, TEXT_BYTES)
        if result is None or (isinstance(result, int) and result < 0):
            raise LaunchError(f"{name}: {error.value.decode(errors='replace')}")
        return result

    def plain(self, name, *arguments):
        return getattr(self._library, name)(*arguments)

    def text(self, name, *arguments):
        buffer = ctypes.create_string_buffer(TEXT_BYTES)
        self.plain(name, *arguments, buffer, TEXT_BYTES)
        return buffer.value.decode(errors="replace")

    def operand_bytes(self, kernel, dtype, size):
        sizes = (ctypes.c_int64 * MOST_OPERANDS)()
        count = self.call("kbl_operands", *encoded(kernel, dtype, size), sizes, MOST_OPERANDS)
        return list(sizes[:count])

    def prepare(self, kernel, dtype, size, implementation, seed=1):
        """An instance over operands of its own, filled as kbench fills them."""
        return Launch(self, encoded(kernel, dtype, size), implementation, len(self.operand_bytes(kernel, dtype, size)), seed)

    def synchronize(self):
        self.call("kbl_synchronize")

    def profile(self, on):
        self.call("kbl_profile", int(on))


class Launch:
    """One prepared implementation. Lives as long as the process: its memory goes with it, or with close()."""

    def __init__(self, launchers, problem, implementation, count, seed):
        self._launchers = launchers
        self._count = count
        self._operands = (ctypes.c_void_p * MOST_OPERANDS)()
        launchers.call("kbl_allocate", *problem, seed, self._operands, count)
        self._handle = launchers.call("kbl_create", *problem, implementation.encode(), self._operands, count)

    def launch(self, stream=0):
        """Enqueues one launch on the stream with this cudaStream_t; 0 is the legacy default stream."""
        if code := self._launchers.plain("kbl_launch", self._handle, stream or None):
            raise LaunchError(self._launchers.text("kbl_error_text", self._handle, code))

    def batch_seconds(self, count):
        """Seconds of `count` launches back to back, between two events."""
        seconds = ctypes.c_double()
        self._launchers.call("kbl_time_batch", self._handle, count, ctypes.byref(seconds))
        return seconds.value

    def configuration(self):
        lines = self._launchers.text("kbl_configuration", self._handle).splitlines()
        return dict(line.split("=", 1) for line in lines)

    def close(self):
        self._launchers.plain("kbl_destroy", self._handle)
        self._launchers.plain("kbl_free", self._operands, self._count)


def encoded(*words):
    return [word.encode() for word in words]
