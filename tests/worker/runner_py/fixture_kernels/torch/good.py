"""Implementations that do what they should."""
import torch

from kbench_kernels.implementation import Implementation, Instance, Unsupported


def create_sum(problem, operands, context):
    x, y = operands.inputs[0], operands.output

    def launch():
        torch.sum(x, dim=0, keepdim=True, out=y)

    return Instance(launch, {"threads": str(context.threads)}, compile_seconds=0.25)


def create_matmul(problem, operands, _context):
    a, b = operands.inputs
    a = a.T if problem.layout[0] == "t" else a
    b = b.T if problem.layout[1] == "t" else b
    return Instance(lambda: torch.matmul(a, b, out=operands.output))


def create_copy(_problem, operands, _context):
    return Instance(lambda: operands.output.copy_(operands.inputs[0]))


def refuse(problem, _context):
    return "torch/picky wants fewer than 2000 elements" if problem.extents["n"] >= 2000 else None


def create_picky(_problem, _operands, _context):
    raise Unsupported("torch/picky wants a multiple of 1024 elements")


BOTH = ("cpu", "cuda")
IMPLEMENTATIONS = [
    Implementation("torch", "sum", ("fp32", "fp64", "fp16", "bf16"), "torch.sum", create_sum, devices=BOTH),
    Implementation("torch", "matmul", ("fp32", "tf32", "bf16"), "torch.matmul", create_matmul, devices=BOTH,
                   dtype_missing=lambda dtype, _context: "torch/matmul has no bf16 here" if dtype == "bf16" else None),
    Implementation("torch", "copy", ("fp64", "fp32", "fp16", "bf16", "fp8e4m3", "int8"), "Tensor.copy_", create_copy, devices=BOTH),
    Implementation("torch/picky", "sum", ("fp32",), "Refuses", create_picky, devices=BOTH, unsupported=refuse, rung=3, default_choice=False),
    Implementation("torch/gpu-only", "sum", ("fp32",), "Has no CPU", create_sum),
]
