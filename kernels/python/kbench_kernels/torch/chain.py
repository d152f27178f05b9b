"""chain, eagerly: an operation of torch a step, into the output. The steps are kernels/catalog/chain_steps.h's."""
from kbench_kernels.implementation import Implementation, Instance


def create(problem, operands, context):
    import torch
    x, y = operands.inputs[0], operands.output
    half = torch.tensor(0.5, dtype=x.dtype)  # on the CPU: it reaches the kernel as a number
    steps = [
        lambda from_: torch.mul(from_, 1.25, out=y),
        lambda from_: torch.add(from_, 0.375, out=y),
        lambda from_: torch.ops.aten.leaky_relu.out(from_, 0.75, out=y),
        lambda from_: torch.mul(from_, 0.875, out=y),
        lambda from_: torch.sub(half, from_, out=y),
    ]
    depth = problem.extents["depth"]

    def launch():
        from_ = x
        for step in range(depth):
            steps[step % 5](from_)
            from_ = y
    return Instance(launch)


IMPLEMENTATIONS = [Implementation("torch", "chain", ["fp32", "fp16", "bf16"], "eager: an operation a step, each reads and writes all elements",
                                  create, devices=["cuda", "cpu"])]
