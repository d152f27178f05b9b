"""copy: a block of elements a program."""
import triton
import triton.language as tl

from kbench_kernels.launches import Extent, Launch, Pointer, Variant, implementation

_BYTES = {"fp64": 8, "fp32": 4, "fp16": 2, "bf16": 2, "int8": 1}


# Only the last program is masked: where n is no multiple of 16, masked elements move one by one.
@triton.jit
def copy_kernel(x, y, n, BLOCK: tl.constexpr):
    begin = tl.program_id(0).to(tl.int64) * BLOCK
    offsets = tl.arange(0, BLOCK)
    if begin + BLOCK <= n:
        tl.store(y + begin + offsets, tl.load(x + begin + offsets))
    else:
        mask = offsets < n - begin
        tl.store(y + begin + offsets, tl.load(x + begin + offsets, mask=mask), mask=mask)


def variants(problem, context):
    arguments = {"x": Pointer("x"), "y": Pointer("y"), "n": Extent("n")}
    found = []
    for words, warps in ((2, 8), (4, 8), (1, 4)):  # of 16 bytes a thread
        block = words * warps * 32 * 16 // _BYTES[problem.dtype]
        launch = Launch(copy_kernel, arguments, {"BLOCK": block}, ("cdiv(n, BLOCK)",), warps)
        found.append(Variant(f"block={block},warps={warps}", [launch]))
    return found


IMPLEMENTATIONS = [implementation("triton", "copy", list(_BYTES), "a block of some words of 16 bytes a thread", variants)]
