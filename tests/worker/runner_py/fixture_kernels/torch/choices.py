"""Sums with candidates, as the C++ runner's test of tuning has them."""
import time

import torch

from kbench_kernels.implementation import Implementation, Instance, Unsupported


def create(_problem, operands, context):
    kind = context.candidate
    if kind == "refused":
        raise Unsupported("not this shape")

    def launch():
        if kind == "fails":
            raise RuntimeError("on purpose")
        if kind not in ("fast", "wrong"):
            time.sleep(0.003)
        torch.sum(operands.inputs[0], dim=0, keepdim=True, out=operands.output)
        if kind == "wrong":
            operands.output.add_(1e3)

    return Instance(launch, {"kind": kind})


def offering(name, *kinds):
    return Implementation(f"torch/{name}", "sum", ("fp32",), "Offers candidates", create, devices=("cpu", "cuda"),
                          candidates=lambda _problem, _context: list(kinds))


def bad_offer(_problem, _context):
    raise ValueError("no idea")


IMPLEMENTATIONS = [
    offering("some", "refused", "fails", "slow", "fast"),
    offering("one", "slow"),
    offering("refusing", "refused", "refused"),
    offering("broken", "fails", "fails"),
    offering("lies", "slow", "wrong"),
    Implementation("torch/bad-offer", "sum", ("fp32",), "Offers nothing", create, devices=("cpu", "cuda"), candidates=bad_offer),
]
