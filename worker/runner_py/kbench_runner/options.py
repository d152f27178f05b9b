"""The command line of the runner. A mistake is told with what would be right."""
import dataclasses
import os

USAGE = ("usage: python -m kbench_runner --framework torch|triton --device cpu|cuda --engine FILE [--environment NAME] [--stdio] [--cpus 0-3] "
         "[--threads N] [--parent PID] [--kernels PACKAGE]")
FRAMEWORKS = ("torch", "triton")
DEVICES = ("cpu", "cuda")
MOST_THREADS = 4096
MOST_CPU = 1023  # what sched_setaffinity's plain mask holds


class UsageError(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Options:
    framework: str
    device: str
    engine: str  # path of libkbench-engine.so or libkbench-engine-cuda.so
    environment: str = "default"
    stdio: bool = False  # frames on standard input and output instead of descriptors 3 and 4
    cpus: tuple[int, ...] = ()  # empty: where the parent put us
    threads: int = 0  # 0: one for each CPU
    parent: int = 0  # 0: not checked
    kernels: str = "kbench_kernels"  # the package that holds torch/ and triton/


def _number(name, value, high):
    if not value.isascii() or not value.isdigit() or not 1 <= int(value) <= high:
        raise UsageError(f"{name}: '{value}' is not an integer from 1 to {high}")
    return int(value)


def parse_cpus(value):
    """"0,2-3" -> (0, 2, 3)"""
    cpus = set()
    for part in value.split(","):
        first, dash, last = part.partition("-")
        last = last if dash else first
        if not all(one.isascii() and one.isdigit() for one in (first, last)) or int(first) > int(last):
            raise UsageError(f"--cpus: '{value}' is not a list of CPUs: write it like 0-3 or 0,2,4-7")
        if int(last) > MOST_CPU:
            raise UsageError(f"--cpus: {last} is beyond the last CPU that a process can be put on, {MOST_CPU}")
        cpus.update(range(int(first), int(last) + 1))
    return tuple(sorted(cpus))


def _choice(name, value, choices):
    if value not in choices:
        raise UsageError(f"{name}: '{value}' is none of {', '.join(choices)}")
    return value


def _word(name, value):
    if not value or any(not (one.isalnum() or one in "._-") for one in value):
        raise UsageError(f"{name}: '{value}' is no name (letters, digits, . _ -)")
    return value


def _file(name, value):
    if not os.path.isfile(value):
        raise UsageError(f"{name}: there is no file '{value}'")
    return value


PARSERS = {
    "--framework": lambda name, value: _choice(name, value, FRAMEWORKS),
    "--device": lambda name, value: _choice(name, value, DEVICES),
    "--engine": _file,
    "--environment": _word,
    "--cpus": lambda _, value: parse_cpus(value),
    "--threads": lambda name, value: _number(name, value, MOST_THREADS),
    "--parent": lambda name, value: _number(name, value, 1 << 30),
    "--kernels": _word,
}


def parse(arguments):
    """Arguments without the program's name. UsageError names the argument and what would be right."""
    given = {}
    rest = iter(arguments)
    for name in rest:
        if name == "--stdio":
            given["stdio"] = True
            continue
        if name not in PARSERS:
            raise UsageError(f"unknown argument '{name}'; {USAGE}")
        value = next(rest, None)
        if value is None:
            raise UsageError(f"{name} needs a value")
        given[name[2:]] = PARSERS[name](name, value)
    for name in ("framework", "device", "engine"):
        if name not in given:
            raise UsageError(f"--{name} is missing; {USAGE}")
    return Options(**given)
