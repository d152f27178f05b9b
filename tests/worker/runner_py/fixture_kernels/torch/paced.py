"""A sum that can be made slower: it reads so much of its input once more. tests/gpu/regression.py edits the number, as a change of a kernel would."""
import torch

from kbench_kernels.implementation import Implementation, Instance

EXTRA = 0.0


def create(_problem, operands, _context):
    x, y = operands.inputs[0], operands.output
    again = x[:int(EXTRA * x.numel())]
    scratch = torch.empty_like(y)

    def launch():
        if again.numel() > 0:
            torch.sum(again, dim=0, keepdim=True, out=scratch)
        torch.sum(x, dim=0, keepdim=True, out=y)

    return Instance(launch)


IMPLEMENTATIONS = [Implementation("torch/paced", "sum", ("fp32",), "Can be made slower", create, devices=("cpu", "cuda"), default_choice=False)]
