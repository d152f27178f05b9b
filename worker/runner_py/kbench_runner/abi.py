"""The C ABI of the measuring engine (worker/engine/kbench_engine.h) as ctypes sees it: declarations, which a test compares with the header."""
import ctypes

OK = 0
INVALID_ARGUMENT = 1
OUT_OF_MEMORY = 2
LAUNCH_FAILED = 3
DEVICE_ERROR = 4
TIMEOUT = 5
IO_ERROR = 6
NOT_CAPTURABLE = 7

FLAG_HOST_STALL = 1
FLAG_MIGRATED = 2
FLAG_BLOCKER_TIMEOUT = 4
FLAG_STOLEN = 8
FLAG_SIDE_STREAM = 16
FLAG_PERSISTING_L2 = 32

VERIFY_BEFORE = 1
VERIFY_AFTER = 2
VERIFY_NEW_SEED = 3

MOST_EXTENTS = 4
KNOWN_DURATIONS = 4
BLOCKER_SECONDS = 2.0

# int (*kb_launch)(void* user, void* stream)
Launch = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class Case(ctypes.Structure):
    _fields_ = [
        ("kernel", ctypes.c_char_p),
        ("dtype", ctypes.c_char_p),
        ("shape", ctypes.c_char_p),
        ("mode", ctypes.c_char_p),
        ("flush", ctypes.c_char_p),
        ("seed", ctypes.c_uint64),
        ("reference_dir", ctypes.c_char_p),
        ("memory_limit_bytes", ctypes.c_int64),
        ("flush_bytes", ctypes.c_int64),
    ]


class Check(ctypes.Structure):
    _fields_ = [
        ("passed", ctypes.c_int32),
        ("relative_error", ctypes.c_double),
        ("tolerance", ctypes.c_double),
        ("method", ctypes.c_char * 32),
        ("reason", ctypes.c_char * 32),
        ("message", ctypes.c_char * 256),
    ]


class BurstSpec(ctypes.Structure):
    _fields_ = [("samples", ctypes.c_int32), ("max_seconds", ctypes.c_double)]


class BurstRecord(ctypes.Structure):
    _fields_ = [
        ("device_seconds", ctypes.POINTER(ctypes.c_double)),
        ("submit_seconds", ctypes.POINTER(ctypes.c_double)),
        ("count", ctypes.c_int32),
        ("submit_count", ctypes.c_int32),
        ("discarded", ctypes.c_int32),
        ("seconds", ctypes.c_double),
        ("flags", ctypes.c_uint32),
        ("duty_ratio", ctypes.c_double),
        ("clock_hertz", ctypes.c_double),
    ]


class Facts(ctypes.Structure):
    _fields_ = [
        ("mechanism", ctypes.c_char * 32),
        ("quantum_seconds", ctypes.c_double),
        ("flush_bytes", ctypes.c_int64),
        ("footprint_bytes", ctypes.c_int64),
        ("device_memory_bytes", ctypes.c_int64),
        ("threads", ctypes.c_int32),
        ("launches_per_sample", ctypes.c_int32),
        ("operand_sets", ctypes.c_int32),
    ]


class Calibration(ctypes.Structure):
    _fields_ = [
        ("passed", ctypes.c_int32),
        ("failed_step", ctypes.c_char * 32),
        ("message", ctypes.c_char * 256),
        ("event_floor_seconds", ctypes.c_double),
        ("null_kernel_seconds", ctypes.c_double),
        ("quantum_seconds", ctypes.c_double),
        ("timer_tick_seconds", ctypes.c_double),
        ("event_cost_seconds", ctypes.c_double),
        ("known_count", ctypes.c_int32),
        ("known_expected_seconds", ctypes.c_double * KNOWN_DURATIONS),
        ("known_measured_seconds", ctypes.c_double * KNOWN_DURATIONS),
        ("known_allowed_seconds", ctypes.c_double * KNOWN_DURATIONS),
        ("flush_bytes", ctypes.c_int64),
        ("flush_cold_ratio", ctypes.c_double),
        ("read_bandwidth", ctypes.c_double),
        ("write_bandwidth", ctypes.c_double),
        ("copy_bandwidth", ctypes.c_double),
    ]


class OperandInfo(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char * 16),
        ("dtype", ctypes.c_char * 16),
        ("dims", ctypes.c_int32),
        ("extents", ctypes.c_int64 * MOST_EXTENTS),
        ("is_output", ctypes.c_int32),
    ]


class Resolved(ctypes.Structure):
    _fields_ = [
        ("shape", ctypes.c_char * 160),
        ("mode", ctypes.c_char * 16),
        ("reason", ctypes.c_char * 32),
        ("message", ctypes.c_char * 512),
    ]


# The structures by their names in C.
STRUCTURES = {
    "kb_case": Case, "kb_check": Check, "kb_burst_spec": BurstSpec, "kb_burst_record": BurstRecord, "kb_facts": Facts,
    "kb_calibration": Calibration, "kb_operand_info": OperandInfo, "kb_resolved": Resolved,
}

_int32, _int64, _uint64, _double = ctypes.c_int32, ctypes.c_int64, ctypes.c_uint64, ctypes.c_double
_text, _pointer, _size = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t
_to = ctypes.POINTER
_status = ctypes.c_int  # an enum

# (result, arguments) of every function. A kb_engine* is a void pointer, and so is whatever holds device memory.
FUNCTIONS = {
    "kb_version": (_text, []),
    "kb_open": (_status, [_text, _int32, _to(_pointer), _text, _size]),
    "kb_close": (None, [_pointer]),
    "kb_error": (_text, [_pointer]),
    "kb_needed_bytes": (_int64, [_pointer]),
    "kb_free_bytes": (_int64, [_pointer]),
    "kb_device_free_bytes": (_int64, [_pointer]),
    "kb_case_open": (_status, [_pointer, _to(Case)]),
    "kb_case_close": (None, [_pointer]),
    "kb_operand_count": (_int32, [_pointer]),
    "kb_operand": (_status, [_pointer, _int32, _to(_pointer), _to(_int64), _to(_int32)]),
    "kb_operand_sets": (_int32, [_pointer]),
    "kb_operand_of": (_status, [_pointer, _int32, _int32, _to(_pointer)]),
    "kb_current_set": (_int32, [_pointer]),
    "kb_stream": (_pointer, [_pointer]),
    "kb_describe_operand": (_status, [_pointer, _int32, _to(OperandInfo)]),
    "kb_resolve": (_status, [_text, _text, _text, _text, _to(Resolved)]),
    "kb_work": (_status, [_text, _text, _text, _to(_double)]),
    "kb_scaled_shape": (_status, [_text, _text, _text, _double, _text, _size]),
    "kb_get_facts": (_status, [_pointer, _to(Facts)]),
    "kb_call": (_status, [_pointer, Launch, _pointer, _to(_double)]),
    "kb_verify": (_status, [_pointer, _int32, _uint64, Launch, _pointer, _to(Check)]),
    "kb_burst": (_status, [_pointer, _to(BurstSpec), Launch, _pointer, _to(BurstRecord)]),
    "kb_time_callback": (_status, [Launch, _pointer, _int32, _to(_double)]),
    "kb_scratch_open": (_status, [_pointer, _to(_pointer)]),
    "kb_scratch_close": (None, [_pointer]),
    "kb_trial": (_status, [_pointer, _to(BurstSpec), Launch, _pointer, _to(BurstRecord)]),
    "kb_calibrate": (_status, [_pointer, _to(Calibration)]),
}


def load(path):
    """The library with every function declared. OSError says why it cannot be loaded.

    PyDLL: the interpreter's lock is kept while the engine works, so that no other Python thread runs inside a burst, and a launch called back from
    there does not have to wait for the lock.
    """
    library = ctypes.PyDLL(path)
    for name, (result, arguments) in FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise OSError(f"{path} has no function {name}: it is no engine of this version of kbench") from None
        function.restype = result
        function.argtypes = arguments
    return library
