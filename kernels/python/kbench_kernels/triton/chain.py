"""chain: all steps in one kernel, from one read to one write. The steps are kernels/catalog/chain_steps.h's."""
import triton
import triton.language as tl

from kbench_kernels.launches import Extent, Launch, Pointer, Variant, implementation

_BYTES = {"fp32": 4, "fp16": 2, "bf16": 2}


@triton.jit
def _steps(y, DEPTH: tl.constexpr):
    for step in tl.static_range(DEPTH):
        if step % 5 == 0:
            y = y * 1.25
        elif step % 5 == 1:
            y = y + 0.375
        elif step % 5 == 2:
            y = tl.maximum(y, y * 0.75)  # leaky ReLU
        elif step % 5 == 3:
            y = y * 0.875
        else:
            y = 0.5 - y
    return y


# Only the last program is masked: where n is no multiple of 16, masked elements move one by one.
@triton.jit
def chain_kernel(x, y, n, DEPTH: tl.constexpr, BLOCK: tl.constexpr):
    begin = tl.program_id(0).to(tl.int64) * BLOCK
    offsets = tl.arange(0, BLOCK)
    if begin + BLOCK <= n:
        values = tl.load(x + begin + offsets).to(tl.float32)
        tl.store(y + begin + offsets, _steps(values, DEPTH).to(y.dtype.element_ty))
    else:
        mask = offsets < n - begin
        values = tl.load(x + begin + offsets, mask=mask).to(tl.float32)
        tl.store(y + begin + offsets, _steps(values, DEPTH).to(y.dtype.element_ty), mask=mask)


def variants(problem, context):
    found = []
    for words, warps in ((2, 4), (1, 4), (2, 8), (4, 4)):
        block = words * warps * 32 * 16 // _BYTES[problem.dtype]
        launch = Launch(chain_kernel, {"x": Pointer("x"), "y": Pointer("y"), "n": Extent("n")}, {"DEPTH": problem.extents["depth"], "BLOCK": block},
                        ("cdiv(n, BLOCK)",), num_warps=warps)
        found.append(Variant(f"block={block},warps={warps}", [launch]))
    return found


IMPLEMENTATIONS = [implementation("triton", "chain", list(_BYTES), "one fused kernel: all steps in fp32 registers, one read and one write", variants)]
