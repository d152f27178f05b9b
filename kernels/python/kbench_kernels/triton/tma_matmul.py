"""matmul by tensor descriptors: the copies are whole tiles by Hopper's tensor memory accelerator; persistent programs, or one a tile."""
import triton
import triton.language as tl

from kbench_kernels.launches import Descriptor, Extent, Launch, Variant, fitting, implementation, no_descriptors
from kbench_kernels.triton.matmul import form, multiply, tile_of_program

_BYTES = {"tf32": 4, "fp16": 2, "bf16": 2, "fp8e4m3": 1, "int8": 1}
_BYTES_OF_C = {"tf32": 4, "fp16": 2, "bf16": 2, "fp8e4m3": 2, "int8": 4}

# (rows, columns and depth of a tile, warps, stages, parts C is stored in, persistent), the best guess first (H200, 4096). Left out: (128, 128, 32, 8, 4, 1,
# False), which Triton 3.6 compiles to wrong products where an operand of tf32 comes through registers (layout nn: relative error 3.7e-3).
_TILES = {
    4: [(128, 256, 32, 8, 3, 2, True), (128, 128, 32, 8, 4, 1, True), (256, 128, 32, 8, 2, 1, True),
        (256, 64, 32, 8, 3, 1, True), (128, 128, 32, 4, 3, 1, False), (64, 128, 32, 4, 4, 1, False)],
    2: [(128, 256, 64, 8, 3, 1, True), (128, 256, 64, 8, 4, 2, True), (128, 256, 64, 8, 3, 1, False), (256, 128, 64, 8, 4, 2, True),
        (128, 128, 64, 4, 4, 1, True), (128, 128, 64, 4, 4, 1, False), (128, 64, 64, 4, 4, 1, False), (64, 64, 64, 4, 4, 1, False)],
    1: [(256, 128, 128, 8, 3, 2, True), (128, 256, 128, 8, 3, 2, True), (128, 256, 128, 8, 4, 2, True), (128, 256, 128, 8, 3, 2, False),
        (128, 128, 128, 4, 4, 1, False), (64, 64, 128, 4, 4, 1, False)],
}


@triton.jit
def tma_matmul_kernel(a, b, c, m, n, k, A_TRANSPOSED: tl.constexpr, B_TRANSPOSED: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                      BLOCK_K: tl.constexpr, GROUP: tl.constexpr, PARTS: tl.constexpr, FLATTEN: tl.constexpr, C_TRANSPOSED: tl.constexpr,
                      A_IN_REGISTERS: tl.constexpr, PRECISION: tl.constexpr, SUM: tl.constexpr, IMPRECISE: tl.constexpr):
    tiles = tl.cdiv(m, BLOCK_M) * tl.cdiv(n, BLOCK_N)
    # Flattened, the loads of a program's next tile begin under the last products of this one.
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=FLATTEN):
        row, column = tile_of_program(m, n, BLOCK_M, BLOCK_N, GROUP, tile)
        first_row, first_column = row * BLOCK_M, column * BLOCK_N
        sums = tl.zeros([BLOCK_M, BLOCK_N], SUM)
        for step in range(tl.cdiv(k, BLOCK_K)):
            at = step * BLOCK_K
            a_values = a.load([at, first_row]).T if A_TRANSPOSED else a.load([first_row, at])
            b_values = b.load([first_column, at]).T if B_TRANSPOSED else b.load([at, first_column])
            sums = multiply(a_values, b_values, sums, A_IN_REGISTERS, PRECISION, IMPRECISE, SUM)
        if C_TRANSPOSED:
            c.store([first_column, first_row], tl.trans(sums).to(c.dtype))
        elif PARTS == 2:
            halves = tl.permute(tl.reshape(sums, (BLOCK_M, 2, BLOCK_N // 2)), (0, 2, 1))
            left, right = tl.split(halves)
            c.store([first_row, first_column], left.to(c.dtype))
            c.store([first_row, first_column + BLOCK_N // 2], right.to(c.dtype))
        else:
            c.store([first_row, first_column], sums.to(c.dtype))


def variants(problem, context):
    as_ = form(problem)
    extents = {"m": Extent(as_.m), "n": Extent(as_.n), "k": Extent("k")}
    tiles = f"cdiv({as_.m}, BLOCK_M) * cdiv({as_.n}, BLOCK_N)"
    found = []
    width, width_of_c = _BYTES[problem.dtype], _BYTES_OF_C[problem.dtype]
    shapes = fitting(_TILES[width], lambda tile: tile[4] * (tile[0] + tile[1]) * tile[2] * width + tile[0] * tile[1] // tile[5] * width_of_c, context)
    for block_m, block_n, block_k, warps, stages, parts, persistent in shapes:
        if as_.exchanged and parts > 1:
            continue
        constants = {**as_.constants, "BLOCK_M": block_m, "BLOCK_N": block_n, "BLOCK_K": block_k, "GROUP": 8, "PARTS": parts, "FLATTEN": persistent}
        arguments = {"a": Descriptor(as_.a, (block_k, block_m) if as_.a_transposed else (block_m, block_k)),
                     "b": Descriptor(as_.b, (block_n, block_k) if as_.b_transposed else (block_k, block_n)),
                     "c": Descriptor("c", (block_n, block_m) if as_.exchanged else (block_m, block_n // parts)), **extents}
        launch = Launch(tma_matmul_kernel, arguments, constants, (f"min(multiprocessors, {tiles})" if persistent else tiles,), warps, stages)
        name = f"{block_m}x{block_n}x{block_k},warps={warps},stages={stages},parts={parts}" + (",persistent" if persistent else "")
        found.append(Variant(name, [launch]))
    return found


def unsupported(problem, context):
    if why := no_descriptors(context):
        return why
    extents = problem.extents
    for name, row, size in (("a", extents["m" if problem.layout[0] == "t" else "k"], _BYTES[problem.dtype]),
                            ("b", extents["k" if problem.layout[1] == "t" else "n"], _BYTES[problem.dtype]),
                            ("c", extents["n"], _BYTES_OF_C[problem.dtype])):
        if row * size % 16 != 0:
            return f"tensor descriptors need rows of a multiple of 16 bytes; those of {name} have {row * size}"
    return None


IMPLEMENTATIONS = [implementation("triton/tma", "matmul", list(_BYTES), "tiles by tensor descriptors (TMA), persistent programs", variants, rung=1,
                                  unsupported=unsupported)]
