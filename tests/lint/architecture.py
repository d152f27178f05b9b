#!/usr/bin/env python3
"""The dependency rules of the design, checked over the includes and imports of the tree. Prints each breach as `file:line: rule`; exit code 1 if any.

    python3 tests/lint/architecture.py [ROOT]
"""
import pathlib
import re
import sys

SOURCES = {".cc", ".h", ".cu", ".cuh"}
COUNTED = SOURCES | {".py", ".proto", ".cmake", ".sh"}
MAX_LINES = 600

GRPC = r"(grpc|grpcpp)/|\.grpc\.pb\.h"
PROTOBUF = r"google/|kbench/v1/|.*\.pb\.h"
CUDA = r"cuda|cublas|cudnn|nvml|nvrtc|kernels/(cuda|cublas|cudnn)/"
# No clock, no thread, no I/O.
IMPURE = (r"(thread|mutex|shared_mutex|condition_variable|future|atomic|chrono|ctime|time\.h|fstream|iostream|filesystem)$"
          r"|unistd\.h|sys/|proto/support/(clock|process|signals|channel|mutex|logging)\.h|spdlog/|absl/time/clock\.h|absl/synchronization/")

# (folder, forbidden include, why). A folder also stands for everything below it.
INCLUDE_RULES = [
    ("client", r"(server|worker)/", "client/ includes nothing from server/ or worker/"),
    ("client", CUDA, "client/ includes no CUDA"),
    ("kernels", r"(worker|server|client|proto)/", "kernels/ includes nothing from worker/, server/, client/ or proto/"),
    ("kernels", GRPC, "kernels/ knows no gRPC"),
    ("kernels", PROTOBUF + r"|absl/", "kernels/ links no Protobuf or Abseil"),
    ("kernels/catalog", CUDA, "kernels/catalog is plain C++"),
    ("worker/engine", GRPC + "|" + PROTOBUF + r"|absl/|proto/", "worker/engine links no gRPC, Protobuf or Abseil"),
    ("worker/engine", r"worker/(daemon|device|runner|experiment)/", "worker/engine includes nothing of the rest of worker/ but stats/"),
    ("worker/runner", GRPC, "runners have no gRPC"),
    ("worker/runner", r"server/|client/|worker/(daemon|device|experiment)/", "runners include nothing of the daemon"),
    ("worker", r"(server|client)/", "worker/ includes nothing from server/ or client/"),
    ("worker/daemon", r"cuda|cublas|cudnn|kernels/(cuda|cublas|cudnn)/", "the worker never links CUDA"),
    ("worker/device", r"cuda|cublas|cudnn|kernels/(cuda|cublas|cudnn)/", "the worker never links CUDA"),
    ("worker/fatbin", IMPURE + "|" + GRPC + "|" + PROTOBUF + r"|absl/|" + CUDA, "worker/fatbin is pure and knows no CUDA"),
    ("worker/profile", GRPC + r"|cuda|cublas|cudnn|worker/(daemon|device|runner|engine)/", "worker/profile runs programs and links none of their libraries"),
    ("stats", IMPURE + "|" + GRPC + "|" + PROTOBUF + r"|absl/|(proto|kernels|worker|server|client)/", "stats/ is pure and includes nothing of the other parts"),
    ("worker/stats", IMPURE, "worker/stats is pure"),
    ("worker/experiment", IMPURE + "|" + GRPC, "worker/experiment is pure"),
    ("server", CUDA, "the server links no CUDA"),
    ("server", r"client/|worker/(?!stats/)", "the server includes worker/stats alone of worker/"),
    ("server", r"kernels/(?!catalog/)", "server and client include kernels/catalog alone of kernels/"),
    ("client", r"kernels/(?!catalog/)", "server and client include kernels/catalog alone of kernels/"),
    ("server/scheduler", IMPURE + "|" + GRPC, "server/scheduler is pure"),
    ("server/history", IMPURE + "|" + GRPC, "server/history is pure"),
    ("proto/support", r"(kernels|worker|server|client)/", "proto/support includes nothing of the other parts"),
]

# The same for modules that Python imports.
IMPORT_RULES = [
    ("kernels/python", r"kbench_runner|ctypes$|subprocess$", "implementations in Python know nothing of the runner or of processes"),
    ("worker/runner_py", r"torch|triton|numpy|google|grpc", "the Python runner imports torch through frameworks.py alone, by name"),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
IMPORT = re.compile(r"^\s*(?:import|from)\s+([\w.]+)")
# fork() of a process with threads or a CUDA context is a trap: children are started with posix_spawn.
FORK = re.compile(r"(?<![\w.>])v?fork\s*\(\s*\)")
COMMENT = re.compile(r"//.*$")


def tracked_files(root):
    for folder in ("proto", "stats", "kernels", "worker", "server", "client", "deploy", "tests", "cmake"):
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def import_breaches(relative, lines):
    rules = [(re.compile(r"(?:" + pattern + ")"), why) for folder, pattern, why in IMPORT_RULES if relative.startswith(folder + "/")]
    for number, line in enumerate(lines, 1):
        found = IMPORT.match(line)
        if found:
            yield from (f"{relative}:{number}: imports {found.group(1)}: {why}" for pattern, why in rules if pattern.match(found.group(1)))


def breaches(root):
    for path in tracked_files(root):
        relative = path.relative_to(root).as_posix()
        if path.suffix not in COUNTED:
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        if len(lines) > MAX_LINES:
            yield f"{relative}:{len(lines)}: a file has at most {MAX_LINES} lines: split it by concept"
        if path.suffix == ".py":
            yield from import_breaches(relative, lines)
        if path.suffix not in SOURCES:
            continue
        rules = [(re.compile(r"(?:" + pattern + ")"), why)
                 for folder, pattern, why in INCLUDE_RULES if relative.startswith(folder + "/")]
        for number, line in enumerate(lines, 1):
            if not relative.startswith("tests/") and FORK.search(COMMENT.sub("", line)):
                yield f"{relative}:{number}: no fork(): start children with posix_spawn (proto/support/process.h)"
            include = INCLUDE.match(line)
            if include:
                for pattern, why in rules:
                    if pattern.match(include.group(1)):
                        yield f"{relative}:{number}: includes <{include.group(1)}>: {why}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    found = list(breaches(root))
    for line in found:
        print(line)
    print(f"architecture: {len(found)} breach{'' if len(found) == 1 else 'es'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
