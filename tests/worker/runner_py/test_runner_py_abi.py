"""abi.py against kbench_engine.h, which it must not drift from, and against the library itself."""
import ctypes
import re

import pytest

from kbench_runner import abi
from runner_talk import ENGINE, ROOT

HEADER = re.sub(r"/\*.*?\*/", "", (ROOT / "worker/engine/kbench_engine.h").read_text(encoding="utf-8"), flags=re.S)
C_TYPES = {"int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64, "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64, "double": ctypes.c_double,
           "size_t": ctypes.c_size_t, "kb_status": ctypes.c_int, "kb_launch": abi.Launch, "void": None}
NUMBERS = dict(re.findall(r"#define (KB_\w+) (\d+)\n", HEADER))


def ctypes_of(declared):
    """Of a C type as the header writes it, "const char*"."""
    declared = declared.replace("const ", "").strip()
    if declared in ("char*",):
        return ctypes.c_char_p
    if declared in ("void*", "kb_engine*"):
        return ctypes.c_void_p
    if declared.endswith("**"):
        return ctypes.POINTER(ctypes.c_void_p)
    if declared.endswith("*"):
        return ctypes.POINTER(ctypes_of(declared[:-1]))
    return C_TYPES.get(declared) or (None if declared == "void" else abi.STRUCTURES[declared])


def fields_of(body):
    for declared, name, count in re.findall(r"([\w ]+?[\s*]+)(\w+)(?:\[(\w+)\])?;", body):
        if declared.strip() == "char" and count:
            yield name, ctypes.c_char * int(NUMBERS.get(count, count))
        elif count:
            yield name, ctypes_of(declared.strip()) * int(NUMBERS.get(count, count))
        else:
            yield name, ctypes_of("".join(declared.rsplit(" *", 1)).strip())


STRUCTURES = re.findall(r"typedef struct \{(.*?)\} (\w+);", HEADER, re.S)


def test_every_structure_of_the_header_is_declared():
    assert {name for _, name in STRUCTURES} == set(abi.STRUCTURES)
    assert len(STRUCTURES) >= 8


@pytest.mark.parametrize("body, name", STRUCTURES, ids=[name for _, name in STRUCTURES])
def test_a_structure_has_the_fields_of_the_header(body, name):
    assert [(field, kind) for field, kind in abi.STRUCTURES[name]._fields_] == list(fields_of(body))


FUNCTIONS = re.findall(r"KB_API ([\w ]+?[\s*]+)(kb_\w+)\((.*?)\);", HEADER, re.S)


def test_every_function_of_the_header_is_declared():
    assert {name for _, name, _ in FUNCTIONS} == set(abi.FUNCTIONS)
    assert len(FUNCTIONS) >= 25


@pytest.mark.parametrize("result, name, arguments", FUNCTIONS, ids=[name for _, name, _ in FUNCTIONS])
def test_a_function_has_the_prototype_of_the_header(result, name, arguments):
    declared = [re.sub(r"\s*\w+$", "", " ".join(one.split())) for one in arguments.split(",") if one.strip() != "void"]
    assert abi.FUNCTIONS[name] == (ctypes_of(result.strip()), [ctypes_of(one) for one in declared])


def test_numbers_are_those_of_the_header():
    named = dict(re.findall(r"(KB_[A-Z_0-9]+) = (\d+)", HEADER))
    named |= {name: value.rstrip("u") for name, value in re.findall(r"#define (KB_\w+) ([\d.]+u?)\n", HEADER)}
    assert len(named) >= 19
    for name, value in named.items():
        assert getattr(abi, name.removeprefix("KB_")) == float(value), name


def test_the_library_has_all_of_it():
    assert abi.load(str(ENGINE)).kb_version()


def test_another_library_is_named():
    with pytest.raises(OSError, match="libc.so.6 has no function kb_"):
        abi.load("libc.so.6")
