"""chain through torch.compile: Inductor makes one kernel of all steps. The steps are kernels/catalog/chain_steps.h's."""
import itertools
import os
import time
import types

from kbench_kernels.implementation import CompileError, Implementation, Instance, Unsupported

_serial = itertools.count()


def _chain(x, y, depth):
    import torch
    value = x
    for step in range(depth):
        operation = step % 5
        if operation == 0:
            value = value * 1.25
        elif operation == 1:
            value = value + 0.375
        elif operation == 2:
            value = torch.nn.functional.leaky_relu(value, 0.75)
        elif operation == 3:
            value = value * 0.875
        else:
            value = 0.5 - value
    y.copy_(value)  # becomes the kernel's store


def _fresh(function):
    """The function with code of its own: torch compiles the same code for some eight shapes at most, and a runner sees more than that."""
    name = f"{function.__name__}_{next(_serial)}"
    return types.FunctionType(function.__code__.replace(co_name=name), function.__globals__, name)


def create(problem, operands, context):
    # In this process: a pool of compiler processes would outlive the case.
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    import torch
    x, y, depth = operands.inputs[0], operands.output, problem.extents["depth"]
    # fullgraph: what cannot be compiled is an error, never a silent eager run.
    compiled = torch.compile(_fresh(_chain), dynamic=False, fullgraph=True)
    began = time.perf_counter()
    try:
        # Under the same global state as the launches: torch compiles anew where grad mode or the like differ.
        compiled(torch.zeros_like(x), torch.empty_like(y), depth)
    except Exception as error:
        if "InvalidCxxCompiler" in repr(error) or "No working C++ compiler" in str(error):
            raise Unsupported("torch.compile needs a C++ compiler for the CPU and finds none: install g++, or set CXX") from error
        if "Cannot find a working triton" in str(error) or "C compiler" in str(error):
            raise Unsupported("torch.compile needs Triton and a C compiler for its launcher: install triton and gcc, or set CC") from error
        raise CompileError(f"torch.compile failed: {error}") from error
    seconds = time.perf_counter() - began

    def launch():
        compiled(x, y, depth)
    return Instance(launch, {"backend": "inductor", "dynamic": "false"}, seconds)


IMPLEMENTATIONS = [Implementation("torch/compile", "chain", ["fp32", "fp16", "bf16"],
                                  "torch.compile (Inductor, default mode): one kernel for all steps", create, devices=["cuda", "cpu"], rung=1)]
