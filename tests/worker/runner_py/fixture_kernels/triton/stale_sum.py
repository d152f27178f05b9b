"""A sum that is wrong on purpose, for tests alone: programs add to the output with atomics and nothing sets it to 0 before, so that each launch, and
each configuration that a tuner tries in the same output, adds to what the last one left. A file like those in kbench_kernels/triton."""
import triton
import triton.language as tl

from kbench_kernels.launches import Extent, Launch, Pointer, Variant, implementation


@triton.jit
def stale_sum(x, y, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y, tl.sum(tl.load(x + offsets, mask=offsets < n, other=0.0), axis=0))


def variants(problem, context):
    arguments = {"x": Pointer("x"), "y": Pointer("y"), "n": Extent("n")}
    return [Variant(f"block={block}", [Launch(stale_sum, arguments, {"BLOCK": block}, ("cdiv(n, BLOCK)",))]) for block in (4096, 1024)]


IMPLEMENTATIONS = [implementation("triton/stale-sum", "sum", ["fp32"], "wrong: adds to what is in the output", variants, hidden=True,
                                  default_choice=False)]
