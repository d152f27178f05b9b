#!/usr/bin/env python3
"""The torch and Triton implementations on a GPU, without the service: right on small and odd problems, and rough times of a few cells.

    python3 tests/gpu/python_kernels.py check [--seconds N] [--kernel NAME]     every implementation against fp64 references
    python3 tests/gpu/python_kernels.py times [--seconds N] [--kernel NAME]     every candidate, launches back to back

Times are leads for whoever chooses candidates, not measurements: those are kbench's own. Needs torch and Triton, and nothing else of kbench.
"""
import argparse
import importlib
import multiprocessing
import os
import pathlib
import pkgutil
import sys
import time
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "kernels" / "python"), str(ROOT / "tests" / "kernels" / "python")]

import torch  # noqa: E402

import kernel_problems as kp  # noqa: E402
from kbench_kernels.implementation import Context, Problem, Unsupported  # noqa: E402

CELLS = [
    ("null", "fp32", "n=1"),
    ("copy", "fp32", "n=67108864"),
    ("sum", "fp32", "n=1048576"),
    ("sum", "fp32", "n=67108864"),
    ("sum", "fp16", "n=268435456"),
    ("softmax", "fp32", "rows=4096,cols=4096"),
    ("softmax", "fp16", "rows=32768,cols=4096"),
    ("softmax", "fp32", "rows=2048,cols=65536"),
    ("matmul", "fp32", "m=4096,n=4096,k=4096,layout=nn"),
    ("matmul", "tf32", "m=4096,n=4096,k=4096,layout=nn"),
    ("matmul", "tf32", "m=4096,n=4096,k=4096,layout=nt"),
    ("matmul", "fp16", "m=4096,n=4096,k=4096,layout=nn"),
    ("matmul", "fp16", "m=1024,n=1024,k=1024,layout=nn"),
    ("matmul", "fp8e4m3", "m=4096,n=4096,k=4096,layout=nt"),
    ("matmul", "int8", "m=4096,n=4096,k=4096,layout=nt"),
    ("attention", "fp16", "b=1,h=16,s=8192,d=64"),
    ("attention", "fp16", "b=1,h=16,s=8192,d=128"),
    ("attention", "fp16", "b=1,h=16,s=8192,d=128,causal"),
    ("attention", "fp32", "b=1,h=16,s=8192,d=64"),
    ("attention", "tf32", "b=1,h=16,s=8192,d=64"),
    ("chain", "fp32", "n=1048576,depth=30"),
    ("chain", "fp32", "n=67108864,depth=30"),
]


def implementations():
    """(module, place in it): what a process of its own finds again."""
    import kbench_kernels
    for family in ("torch", "triton"):
        for found in pkgutil.iter_modules([os.path.join(kbench_kernels.__path__[0], family)]):
            name = f"kbench_kernels.{family}.{found.name}"
            for place, implementation in enumerate(importlib.import_module(name).IMPLEMENTATIONS):
                yield name, place, implementation


def context(candidate=""):
    properties = torch.cuda.get_device_properties(0)
    return Context("cuda", 1, (properties.major, properties.minor), properties.multi_processor_count, candidate)


def refused(implementation, problem, where):
    missing = implementation.dtype_missing and implementation.dtype_missing(problem.dtype, where)
    return missing or (implementation.unsupported and implementation.unsupported(problem, where))


def check_some(task):
    """In a process of its own. [(line, bad)]"""
    name, place, dtype, problems, end = task
    implementation, said = importlib.import_module(name).IMPLEMENTATIONS[place], []
    warnings.simplefilter("ignore")
    right = unsupported = late = 0
    for problem in problems:
        if time.time() > end:
            late += 1
            continue
        try:
            if refused(implementation, problem, context()):
                unsupported += 1
            elif complaint := kp.complaint(implementation, problem, context()):
                said.append(f"WRONG {implementation.name} {problem.kernel} {dtype} {problem.shape}: {complaint}")
            else:
                right += 1
        except Unsupported as error:
            unsupported += 1
            if unsupported < 2:
                said.append(f"unsupported {implementation.name} {problem.kernel} {dtype} {problem.shape}: {str(error)[:300]}")
        except Exception as error:
            said.append(f"FAILED {implementation.name} {problem.kernel} {dtype} {problem.shape}: {type(error).__name__} {str(error)[-300:]}")
    return (implementation.name, implementation.kernel, dtype), right, unsupported, late, said


def check(arguments):
    end = time.time() + arguments.seconds
    tasks = []
    for name, place, implementation in implementations():
        if "cuda" not in implementation.devices or arguments.kernel not in ("", implementation.kernel):
            continue
        for dtype in implementation.dtypes:
            problems = kp.problems(implementation.kernel, dtype)
            tasks += [(name, place, dtype, problems[at::4], end) for at in range(4)]
    totals, bad = {}, 0
    with multiprocessing.get_context("spawn").Pool(min(15, os.cpu_count() or 1)) as pool:
        for cell, right, unsupported, late, said in pool.imap_unordered(check_some, tasks):
            totals[cell] = [old + new for old, new in zip(totals.get(cell, [0, 0, 0]), (right, unsupported, late))]
            for line in said:
                bad += not line.startswith("unsupported")
                print(line, flush=True)
    for (name, kernel, dtype), (right, unsupported, late) in sorted(totals.items()):
        print(f"{kernel:10} {name:22} {dtype:8} right {right:3} unsupported {unsupported:3} not reached {late:3}")
    print(f"bad: {bad}")
    return 1 if bad else 0


def seconds_of(launch, at_least=0.015):
    """The median of three windows of launches back to back; launches of less than 200 us from a CUDA graph, so that the host does not count."""
    for _ in range(2):
        launch()
    torch.cuda.synchronize()
    once = max(_window(launch, 3), 1e-6)
    if once < 200e-6:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(20):
                launch()
        return sorted(_window(graph.replay, max(1, int(at_least / once / 20))) / 20 for _ in range(3))[1]
    return sorted(_window(launch, max(1, int(at_least / once))) for _ in range(3))[1]


def _window(launch, times):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(times):
        launch()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1e3 / times


def host_seconds(launch, times=200):
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(times):
        launch()
    spent = (time.perf_counter() - began) / times
    torch.cuda.synchronize()
    return spent


def rate(problem, seconds):
    e = problem.extents
    if problem.kernel == "matmul":
        return f"{2 * kp.work(problem) / seconds / 1e12:7.1f} TFLOP/s"
    if problem.kernel == "attention":
        return f"{kp.work(problem) / (2 if problem.causal else 1) / seconds / 1e12:7.1f} TFLOP/s"
    if problem.kernel == "null":
        return ""
    elements = e.get("n") or e["rows"] * e["cols"]
    moved = elements * kp.STORAGE[problem.dtype].itemsize * (1 if problem.kernel == "sum" else 2)
    return f"{moved / seconds / 1e9:7.0f} GB/s"


def compile_one(task):
    """In a process of its own, so that Triton's cache has it when it is timed."""
    name, place, problem, candidate = task
    implementation = importlib.import_module(name).IMPLEMENTATIONS[place]
    try:
        implementation.create(problem, kp.operands(problem, "cuda"), context(candidate))
    except Exception:
        pass  # said when it is timed


def times(arguments):
    end = time.time() + arguments.seconds
    found = list(implementations())
    todo = []
    for kernel, dtype, shape in CELLS:
        problem = Problem(kernel, dtype, shape)
        for name, place, implementation in found:
            if implementation.kernel == kernel and dtype in implementation.dtypes and arguments.kernel in ("", kernel):
                if refused(implementation, problem, context()):
                    continue
                candidates = implementation.candidates(problem, context()) if implementation.candidates else [""]
                todo += [(name, place, problem, candidate) for candidate in candidates]
    with multiprocessing.get_context("spawn").Pool(min(14, os.cpu_count() or 1)) as pool:
        pool.map(compile_one, [task for task in todo if ".triton." in task[0]], chunksize=2)
    print(f"{end - time.time():.0f} s left after compiling", flush=True)
    last, made, expected = None, None, None
    for name, place, problem, candidate in todo:
        if time.time() > end:
            print("the time is over")
            return 1
        if problem != last:
            print(f"--- {problem.kernel} {problem.dtype} {problem.shape}", flush=True)
            made = expected = None
            made = kp.operands(problem, "cuda")
            if problem.kernel not in ("null", "attention"):
                expected = kp.reference(problem, made.inputs)
            last = problem
        _time_one(importlib.import_module(name).IMPLEMENTATIONS[place], problem, candidate, made, expected)
    return 0


def _time_one(implementation, problem, candidate, made, expected):
    label = f"{implementation.name} {candidate}"
    try:
        instance = implementation.create(problem, made, context(candidate))
        if made.output is not None:
            kp.poison(made.output)
        instance.launch()
        off = "" if expected is None else f"error {kp.error(problem, made.output, expected):.2e} of {kp.tolerance(problem):.2e}"
        seconds = seconds_of(instance.launch)
        host = f"host {1e6 * host_seconds(instance.launch):6.1f} us" if seconds < 200e-6 else ""
        said = " ".join(f"{key}={instance.configuration[key]}" for key in ("registers", "local_bytes", "dynamic_shared_bytes")
                        if key in instance.configuration)
        print(f"{label:52} {1e6 * seconds:9.1f} us {rate(problem, seconds):16} {off} {host} compile {instance.compile_seconds:.2f} s {said}",
              flush=True)
    except Exception as error:
        print(f"{label:52} {type(error).__name__} {str(error)[-200:]}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["check", "times"])
    parser.add_argument("--seconds", type=float, default=50)
    parser.add_argument("--kernel", default="", help="this one alone")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("python_kernels.py: torch finds no GPU here")
    return (check if arguments.what == "check" else times)(arguments)


if __name__ == "__main__":
    sys.exit(main())
