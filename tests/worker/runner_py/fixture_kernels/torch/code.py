"""A sum that says it has device code."""
import torch

from kbench_kernels.implementation import Implementation, Instance

PTX = b"//\n.version 8.7\n.target sm_90a\n.address_size 64\n"


def create(problem, operands, _context):
    def code():
        return {"sum_kernel": {"ptx": PTX, "cubin": b"\x7fELF" + problem.shape.encode()}, "tail": {"ptx": b".target sm_90\n"}}

    return Instance(lambda: torch.sum(operands.inputs[0], dim=0, keepdim=True, out=operands.output), code=code)


def create_broken(problem, operands, context):
    instance = create(problem, operands, context)
    instance.code = lambda: 1 / 0
    return instance


IMPLEMENTATIONS = [
    Implementation("torch/code", "sum", ("fp32",), "Has code", create, devices=("cpu", "cuda")),
    Implementation("torch/broken-code", "sum", ("fp32",), "Has code that cannot be had", create_broken, devices=("cpu", "cuda")),
]
