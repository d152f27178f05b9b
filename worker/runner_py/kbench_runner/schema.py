"""The messages of proto/kbench/v1/runner.proto and their canonical JSON form, without Protobuf: a Python with torch need not have it. A test compares
the tables with the .proto files.

Decoded messages are dicts by the names of the .proto, with defaults filled in; an unset message is None. Encoded ones leave defaults out, write
64-bit integers as strings and names in lowerCamelCase, as the C++ runner's do.
"""
import math

OUTCOMES = ("OUTCOME_UNSPECIFIED", "OUTCOME_OK", "OUTCOME_WRONG_RESULT", "OUTCOME_CRASHED", "OUTCOME_TIMED_OUT", "OUTCOME_OUT_OF_MEMORY",
            "OUTCOME_COMPILE_ERROR", "OUTCOME_UNSUPPORTED", "OUTCOME_SKIPPED", "OUTCOME_CANCELLED", "OUTCOME_INFRA")
STAGES = ("STAGE_UNSPECIFIED", "BEFORE", "AFTER", "NEW_SEED", "REFILL")
ENUMS = {"Outcome": OUTCOMES, "Stage": STAGES}

# name: {field: type}, in the order of the field numbers. "*type" is repeated, "map" is map<string, string>.
MESSAGES = {
    "RunnerRequest": {
        "id": "uint64", "hello": "RunnerHello", "prepare": "Prepare", "verify": "Verify", "warm": "Warm", "burst": "Burst", "finish": "Finish",
        "calibrate": "Calibrate", "tune": "Tune", "collect_code": "CollectCode", "profile_launch": "ProfileLaunch",
        "witness": "Witness"},
    "RunnerReply": {
        "id": "uint64", "failure": "RunnerFailure", "hello": "RunnerHelloReply", "prepared": "Prepared", "verified": "Verified", "warmed": "Warmed",
        "burst": "BurstDone", "finished": "Finished", "calibrated": "Calibrated", "tuned": "Prepared", "code_collected": "CodeCollected",
        "launch_profiled": "LaunchProfiled", "witnessed": "Witnessed"},
    "RunnerFailure": {
        "outcome": "Outcome", "reason": "string", "message": "string", "estimate_seconds": "double", "fatal": "bool", "needed_bytes": "int64",
        "free_bytes": "int64"},
    "RunnerHello": {},
    "RunnerHelloReply": {
        "protocol_version": "int32", "runner": "string", "engine_version": "string", "device_kind": "string",
        "implementations": "*ImplementationInfo", "libraries": "map", "build_id": "string", "absent": "*AbsentFramework"},
    "ImplementationInfo": {
        "name": "string", "family": "string", "kernel": "string", "dtypes": "*string", "default_choice": "bool", "summary": "string",
        "hidden": "bool", "rung": "int32", "environment": "string"},
    "AbsentFramework": {"framework": "string", "environment": "string", "message": "string", "install": "string", "starting": "bool"},
    "Prepare": {
        "case": "CaseSpec", "implementation": "string", "seed": "uint64", "reference_dir": "string", "launch_limit_seconds": "double",
        "memory_limit_bytes": "int64", "flush": "string", "flush_bytes": "int64", "candidate": "string",
        "guarded": "bool"},
    "CaseSpec": {"kernel": "string", "dtype": "string", "size": "string", "mode": "string", "shape": "string"},
    "Prepared": {
        "first_call_seconds": "double", "compile_seconds": "double", "autotune_seconds": "double", "estimate_seconds": "double",
        "footprint_bytes": "int64", "configuration": "map", "settings": "map", "mechanism": "string", "clock_quantum_seconds": "double",
        "launches_per_sample": "int32", "operand_sets": "int32", "candidate": "string", "candidates": "int32", "tuned": "string"},
    "Tune": {"max_seconds": "double"},
    "Verify": {"stage": "Stage", "seed": "uint64"},
    "Verified": {
        "passed": "bool", "relative_error": "double", "tolerance": "double", "method": "string", "reason": "string", "message": "string"},
    "Warm": {"min_seconds": "double", "max_seconds": "double"},
    "Warmed": {
        "seconds": "double", "sample_seconds": "double", "pace_seconds": "double", "steady": "bool", "end_to_end_calls": "*double"},
    "Burst": {"samples": "int32", "max_seconds": "double"},
    "BurstDone": {
        "device_seconds": "*double", "submit_seconds": "*double", "discarded": "int32", "flags": "*string", "seconds": "double",
        "duty_ratio": "double", "clock_hertz": "double"},
    "Calibrate": {},
    "Calibrated": {"calibration": "Calibration"},
    "Calibration": {
        "passed": "bool", "failed_step": "string", "message": "string", "event_floor_seconds": "double", "null_kernel_seconds": "double",
        "quantum_seconds": "double", "timer_tick_seconds": "double", "event_cost_seconds": "double", "known_durations": "*KnownDuration",
        "flush_bytes": "int64", "flush_cold_ratio": "double", "read_bandwidth": "double", "write_bandwidth": "double", "copy_bandwidth": "double",
        "seconds": "double", "engine_version": "string"},
    "KnownDuration": {"expected_seconds": "double", "measured_seconds": "double", "allowed_seconds": "double"},
    "CollectCode": {"directory": "string", "architecture": "string"},
    "CodeCollected": {"files": "*CodeFile", "functions": "*string", "message": "string", "digest": "string"},
    "CodeFile": {"name": "string", "kind": "string", "architecture": "string", "size_bytes": "int64", "functions": "*string"},
    "ProfileLaunch": {},
    "LaunchProfiled": {},
    "Witness": {"launches": "int32"},
    "Witnessed": {"seconds": "double"},
    "Finish": {},
    "Finished": {},
}

INTEGERS = {"int32": (-2**31, 2**31 - 1), "int64": (-2**63, 2**63 - 1), "uint64": (0, 2**64 - 1)}
DEFAULTS = {"string": "", "double": 0.0, "bool": False, "int32": 0, "int64": 0, "uint64": 0}


class SchemaError(Exception):
    """What stands where no such thing may stand."""


def camel(name):
    """flush_bytes -> flushBytes"""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def default(kind):
    if kind.startswith("*"):
        return []
    if kind == "map":
        return {}
    if kind in ENUMS:
        return ENUMS[kind][0]
    return DEFAULTS.get(kind)  # None: a message


def _integer(value, kind, where):
    low, high = INTEGERS[kind]
    if isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            raise SchemaError(f"{where}: '{value}' is no integer") from None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise SchemaError(f"{where}: {value!r} is no {kind}")
    return value


def _double(value, where):
    try:
        number = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise SchemaError(f"{where}: {value!r} is not a finite number")
    return number


def _string(value, where):
    if not isinstance(value, str):
        raise SchemaError(f"{where}: {value!r} is no string")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise SchemaError(f"{where}: the text is no valid Unicode") from None
    return value


def _enum(value, kind, where):
    names = ENUMS[kind]
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(names):
        return names[value]
    if value in names:
        return value
    raise SchemaError(f"{where}: {value!r} is none of {', '.join(names)}")


def _bool(value, where):
    if not isinstance(value, bool):
        raise SchemaError(f"{where}: {value!r} is neither true nor false")
    return value


def _value(value, kind, where, message):
    """One value of a type; `message` does a nested message."""
    if kind in INTEGERS:
        return _integer(value, kind, where)
    if kind == "double":
        return _double(value, where)
    if kind == "string":
        return _string(value, where)
    if kind == "bool":
        return _bool(value, where)
    if kind in ENUMS:
        return _enum(value, kind, where)
    return message(kind, value, where)


def decode(name, document, where=""):
    """A message from what JSON made of it. SchemaError names the field that is wrong."""
    if not isinstance(document, dict):
        raise SchemaError(f"{where or name}: {document!r} is no message of type {name}")
    fields = MESSAGES[name]
    by_json_name = {camel(field): field for field in fields} | {field: field for field in fields}
    message = {field: default(kind) for field, kind in fields.items()}
    seen = set()
    for key, value in document.items():
        path = f"{where}.{key}" if where else key
        field = by_json_name.get(key)
        if field is None:
            raise SchemaError(f"{path}: {name} has no such field")
        if field in seen:
            raise SchemaError(f"{path}: it is given twice")
        seen.add(field)
        if value is None:  # JSON's null is a field that is not set
            continue
        kind = fields[field]
        if kind.startswith("*"):
            if not isinstance(value, list):
                raise SchemaError(f"{path}: {value!r} is no list")
            message[field] = [_value(one, kind[1:], path, decode) for one in value]
        elif kind == "map":
            if not isinstance(value, dict):
                raise SchemaError(f"{path}: {value!r} is no map")
            message[field] = {_string(one, path): _string(other, path) for one, other in value.items()}
        else:
            message[field] = _value(value, kind, path, decode)
    return message


def encode(name, message, where=""):
    """The JSON document of a message. SchemaError for a field that does not exist or cannot stand in a frame (NaN)."""
    fields = MESSAGES[name]
    for field in message:
        if field not in fields:
            raise SchemaError(f"{where or name}: {name} has no field {field}")
    document = {}
    for field, kind in fields.items():
        value = message.get(field)
        if value is None or value == default(kind):
            continue
        path = f"{name}.{field}"
        if kind.startswith("*"):
            document[camel(field)] = [_written(_value(one, kind[1:], path, encode), kind[1:]) for one in value]
        elif kind == "map":
            document[camel(field)] = {_string(one, path): _string(other, path) for one, other in value.items()}
        else:
            document[camel(field)] = _written(_value(value, kind, path, encode), kind)
    return document


def _written(value, kind):
    return str(value) if kind in ("int64", "uint64") else value
