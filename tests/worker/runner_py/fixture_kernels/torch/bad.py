"""Implementations of sum that misbehave, each in its own way."""
import ctypes
import sys
import time

import torch

from kbench_kernels.implementation import CompileError, Implementation, Instance

BOTH = ("cpu", "cuda")


def right(operands):
    torch.sum(operands.inputs[0], dim=0, keepdim=True, out=operands.output)


def launching(body):
    """A create whose launches run body(operands, number of the launch)."""
    def create(_problem, operands, _context):
        count = 0

        def launch():
            nonlocal count
            count += 1
            body(operands, count)

        return Instance(launch)
    return create


def raising(error):
    """A create that raises what error() gives."""
    def create(_problem, _operands, _context):
        raise error()
    return create


def raises(_operands, _count):
    raise ValueError("no such\nluck")


def raises_late(operands, count):
    right(operands)
    if count > 50:
        raise RuntimeError("on purpose")


def exits(_operands, _count):
    sys.exit(0)


def prints(operands, _count):
    print('{"id":"99","finished":{}}')
    right(operands)


def crashes(operands, count):
    right(operands)
    if count > 2:
        print("last words")
        ctypes.string_at(0)


def wrong(operands, _count):
    right(operands)
    operands.output.add_(1e3)


def mutates(operands, _count):
    right(operands)
    operands.inputs[0][0] = 7


def nothing(_operands, _count):
    """Writes nothing."""


def out_of_memory(_operands, _count):
    torch.empty(1 << 60, dtype=torch.float32)


def hangs(_operands, _count):
    time.sleep(3600)


class CompilationError(Exception):
    """Named as Triton's."""


def compiles_late(_operands, _count):
    raise CompilationError("at 3:14: no such type")


def waits(operands, count):
    """Waits for the device, but not before a burst blocks it."""
    right(operands)
    if count > 2 and operands.output.is_cuda:
        operands.output.item()


def frees(operands, count):
    """Gives torch's memory back to the driver, which waits for the device."""
    right(operands)
    if count > 2 and operands.output.is_cuda:
        kept = torch.empty(1 << 28, dtype=torch.uint8, device="cuda")
        del kept
        torch.cuda.empty_cache()


def grows(operands, count):
    """Wants more memory with every launch."""
    right(operands)
    if operands.output.is_cuda:
        KEPT.append(torch.empty(64 << 20, dtype=torch.uint8, device="cuda"))
        if count % 16 == 0:
            KEPT.clear()


def asserts(operands, count):
    """A fault on the device: an index beyond the end."""
    right(operands)
    if count > 2:
        operands.inputs[0][torch.full((1,), 1 << 40, device=operands.output.device)]


def create_forced_tf32(_problem, operands, _context):
    """Computes in TF32 whatever the dtype says."""
    torch.backends.cuda.matmul.allow_tf32 = True
    return Instance(lambda: torch.matmul(operands.inputs[0], operands.inputs[1], out=operands.output))


KEPT = []


def bad(name, create):
    return Implementation(f"torch/{name}", "sum", ("fp32",), "Misbehaves", create, devices=BOTH, default_choice=False, hidden=True)


def no_instance(_problem, _operands, _context):
    return None


def bad_ask(_problem, _context):
    raise KeyError("asked")


IMPLEMENTATIONS = [
    *(bad(body.__name__.replace("_", "-"), launching(body))
      for body in (raises, raises_late, exits, prints, crashes, wrong, mutates, nothing, out_of_memory, hangs, compiles_late, waits, frees, grows,
                   asserts)),
    bad("throws", raising(lambda: ValueError("on purpose"))),
    bad("compile-error", raising(lambda: CompileError("line 3: expected ';'"))),
    bad("create-oom", raising(lambda: MemoryError("the workspace"))),
    bad("create-exits", raising(lambda: SystemExit(0))),
    bad("no-instance", no_instance),
    Implementation("torch/forces-tf32", "matmul", ("fp32",), "Misbehaves", create_forced_tf32, devices=BOTH),
    Implementation("torch/bad-ask", "sum", ("fp32",), "Misbehaves", no_instance, devices=BOTH, unsupported=bad_ask),
]
