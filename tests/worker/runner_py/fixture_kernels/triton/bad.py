"""A Triton implementation of sum that does not compile."""
import triton
import triton.language as tl

from kbench_kernels.launches import Extent, Launch, Pointer, Variant, implementation


@triton.jit
def does_not_compile(x, y, n, BLOCK: tl.constexpr):
    tl.store(y + tl.arange(0, BLOCK), tl.load(x + tl.arange(0, 2 * BLOCK)))


def variants(_problem, _context):
    arguments = {"x": Pointer("x"), "y": Pointer("y"), "n": Extent("n")}
    return [Variant("", [Launch(does_not_compile, arguments, {"BLOCK": 1024}, ("1",))])]


IMPLEMENTATIONS = [implementation("triton/does-not-compile", "sum", ["fp32"], "misbehaves", variants, hidden=True, default_choice=False)]
