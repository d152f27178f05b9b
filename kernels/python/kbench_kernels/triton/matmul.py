"""matmul: a tile of C a program, operands through pointers in a pipeline of stages; any extents, any layout.

The candidates are timed by the runner, on a scratch output, not by @triton.autotune: that one times in the operands that it is given, keeps its
choice where no result can tell it, and asks the driver for a GPU when a module is imported, which whoever compiles ahead of time does not have.
"""
import dataclasses
from collections.abc import Mapping
from typing import Any

import triton
import triton.language as tl

from kbench_kernels.expressions import evaluate
from kbench_kernels.launches import Extent, Launch, Pointer, Variant, fitting, implementation

_DTYPES = ["fp32", "tf32", "fp16", "bf16", "fp8e4m3", "int8"]
# Offsets inside a tile have 32 bits.
_MOST_PITCH = 2**31 // 512

# (rows, columns and depth of a tile, warps, stages), the best guess first (H200, 4096).
_TILES = {
    "fp32": [(128, 64, 16, 8, 3), (64, 64, 16, 4, 3), (64, 128, 16, 8, 3), (128, 128, 16, 8, 3), (64, 64, 32, 8, 2), (32, 64, 32, 4, 3)],
    "tf32": [(128, 256, 32, 8, 3), (128, 128, 32, 8, 3), (128, 128, 32, 4, 4), (64, 128, 32, 4, 4), (64, 64, 32, 4, 4), (128, 64, 32, 4, 4)],
    "16": [(128, 256, 64, 8, 4), (128, 256, 64, 8, 3), (128, 128, 64, 8, 3), (128, 128, 64, 4, 4), (256, 128, 64, 8, 3), (128, 64, 64, 4, 4),
           (64, 64, 64, 4, 4), (128, 128, 32, 4, 4)],
    "8": [(128, 128, 128, 8, 3), (256, 128, 128, 8, 3), (128, 256, 128, 8, 3), (128, 128, 128, 4, 4), (128, 64, 128, 4, 4), (64, 64, 128, 4, 4)],
}


@triton.jit
def tile_of_program(m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP: tl.constexpr, program):
    """The tile's row and column: down GROUP rows of tiles, then a column on, so that programs that run together share operands in the cache."""
    rows, columns = tl.cdiv(m, BLOCK_M), tl.cdiv(n, BLOCK_N)
    group = program // (GROUP * columns)
    height = min(rows - group * GROUP, GROUP)
    within = program % (GROUP * columns)
    return group * GROUP + within % height, within // height


@triton.jit
def _load(pointers, mask, WHOLE: tl.constexpr):
    if WHOLE:
        return tl.load(pointers)
    return tl.load(pointers, mask=mask, other=0.0)


@triton.jit
def multiply(a_values, b_values, sums, A_IN_REGISTERS: tl.constexpr, PRECISION: tl.constexpr, IMPRECISE: tl.constexpr, SUM: tl.constexpr):
    if A_IN_REGISTERS:
        # What a product takes from an operation rather than from a load comes from registers. This one drops the bits that TF32 does not have.
        a_values = (a_values.to(tl.int32, bitcast=True) & -8192).to(tl.float32, bitcast=True)
    return tl.dot(a_values, b_values, sums, input_precision=PRECISION, max_num_imprecise_acc=IMPRECISE, out_dtype=SUM)


@triton.jit
def matmul_kernel(a, b, c, m, n, k, A_TRANSPOSED: tl.constexpr, B_TRANSPOSED: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                  BLOCK_K: tl.constexpr, GROUP: tl.constexpr, WHOLE: tl.constexpr, C_TRANSPOSED: tl.constexpr, A_IN_REGISTERS: tl.constexpr,
                  PRECISION: tl.constexpr, SUM: tl.constexpr, IMPRECISE: tl.constexpr):
    row, column = tile_of_program(m, n, BLOCK_M, BLOCK_N, GROUP, tl.program_id(0))
    rows, columns, depth = tl.arange(0, BLOCK_M)[:, None], tl.arange(0, BLOCK_N)[None, :], tl.arange(0, BLOCK_K)
    first_row, first_column = row.to(tl.int64) * BLOCK_M, column.to(tl.int64) * BLOCK_N
    if A_TRANSPOSED:
        a_tile, a_step = a + first_row + (rows + depth[None, :] * m), tl.cast(m, tl.int64) * BLOCK_K
    else:
        a_tile, a_step = a + first_row * k + (rows * k + depth[None, :]), BLOCK_K
    if B_TRANSPOSED:
        b_tile, b_step = b + first_column * k + (depth[:, None] + columns * k), BLOCK_K
    else:
        b_tile, b_step = b + first_column + (depth[:, None] * n + columns), tl.cast(n, tl.int64) * BLOCK_K
    rows_here, columns_here = rows < m - first_row, columns < n - first_column
    sums = tl.zeros([BLOCK_M, BLOCK_N], SUM)
    for at in range(0, k, BLOCK_K):
        a_values = _load(a_tile, rows_here & (depth[None, :] < k - at), WHOLE)
        b_values = _load(b_tile, columns_here & (depth[:, None] < k - at), WHOLE)
        sums = multiply(a_values, b_values, sums, A_IN_REGISTERS, PRECISION, IMPRECISE, SUM)
        a_tile += a_step
        b_tile += b_step
    if C_TRANSPOSED:
        c_tile = c + first_column * m + first_row + (columns * m + rows)
    else:
        c_tile = c + first_row * n + first_column + (rows * n + columns)
    if WHOLE:
        tl.store(c_tile, sums.to(c.dtype.element_ty))
    else:
        tl.store(c_tile, sums.to(c.dtype.element_ty), mask=rows_here & columns_here)


def tiles(dtype, context):
    width = 4 if dtype in _TILES else 1 if dtype in ("fp8e4m3", "int8") else 2
    return fitting(_TILES[dtype if dtype in _TILES else str(8 * width)], lambda tile: tile[4] * (tile[0] + tile[1]) * tile[2] * width, context)


@dataclasses.dataclass(frozen=True)
class Form:
    """Which operand is which. Exchanged, the kernel computes C^T = B^T A^T: its A is B, its m is n, and it stores its C transposed."""

    exchanged: bool
    a_transposed: bool
    b_transposed: bool
    constants: Mapping[str, Any]

    @property
    def a(self):
        return "b" if self.exchanged else "a"

    @property
    def b(self):
        return "a" if self.exchanged else "b"

    @property
    def m(self):
        return "n" if self.exchanged else "m"

    @property
    def n(self):
        return "m" if self.exchanged else "n"


def form(problem):
    """Hopper's tensor cores take 32-bit operands from shared memory only where they are contiguous along k, but the first one also from registers,
    where it does not matter. With layout nn that one has to be B, hence the exchange: without it B would be transposed on its way to shared memory,
    word by word.

    Left alone, they would keep some 14 bits of a sum of fp8 products: 128 of them go to fp32 at a time.
    """
    tf32, dtype = problem.dtype == "tf32", problem.dtype
    exchanged = tf32 and problem.layout == "nn"
    a_transposed, b_transposed = (True, True) if exchanged else (letter == "t" for letter in problem.layout)
    return Form(exchanged, a_transposed, b_transposed, {
        "A_TRANSPOSED": a_transposed, "B_TRANSPOSED": b_transposed, "C_TRANSPOSED": exchanged, "A_IN_REGISTERS": tf32 and a_transposed,
        "PRECISION": "ieee" if dtype == "fp32" else "tf32", "SUM": tl.int32 if dtype == "int8" else tl.float32,
        "IMPRECISE": 128 if dtype == "fp8e4m3" else 0})


def variants(problem, context):
    as_ = form(problem)
    arguments = {"a": Pointer(as_.a), "b": Pointer(as_.b), "c": Pointer("c"), "m": Extent(as_.m), "n": Extent(as_.n), "k": Extent("k")}
    found = []
    for block_m, block_n, block_k, warps, stages in tiles(problem.dtype, context):
        whole = f"{as_.m} % {block_m} == 0 and {as_.n} % {block_n} == 0 and k % {block_k} == 0"
        is_whole = bool(evaluate(whole, problem.extents))
        constants = {**as_.constants, "BLOCK_M": block_m, "BLOCK_N": block_n, "BLOCK_K": block_k, "GROUP": 8, "WHOLE": is_whole}
        launch = Launch(matmul_kernel, arguments, constants, (f"cdiv({as_.m}, BLOCK_M) * cdiv({as_.n}, BLOCK_N)",), warps, stages)
        found.append(Variant(f"{block_m}x{block_n}x{block_k},warps={warps},stages={stages}", [launch], whole if is_whole else "1"))
    return found


def unsupported(problem, context):
    extents = problem.extents
    pitch = max(extents["n"], extents["m" if problem.layout[0] == "t" else "k"], extents["k" if problem.layout[1] == "t" else "n"])
    if pitch > _MOST_PITCH:
        return f"a row of an operand has {pitch} elements, and offsets inside a tile have 32 bits: at most {_MOST_PITCH}"
    return None


IMPLEMENTATIONS = [implementation("triton", "matmul", _DTYPES, "tiles through pointers and a pipeline of stages, grouped in the cache", variants,
                                  unsupported=unsupported)]
