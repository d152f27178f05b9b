"""softmax: a row, or a few short ones, held in registers from one read to one write; rows too long for that are read twice."""
import triton
import triton.language as tl

from kbench_kernels.launches import Extent, Launch, Pointer, Variant, implementation

_BYTES = {"fp32": 4, "fp16": 2, "bf16": 2}
_MOST_HELD = 32768  # columns
_LOOPED = 8192
_LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def softmax_whole_rows(x, y, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS
    rows_here, columns = tl.arange(0, ROWS)[:, None], tl.arange(0, COLS)[None, :]
    offsets = rows_here * cols + columns
    mask = (rows_here < rows - row) & (columns < cols)
    values = tl.load(x + row * cols + offsets, mask=mask, other=float("-inf")).to(tl.float32)
    largest = tl.maximum(tl.max(values, axis=1), -3.0e38)[:, None]  # rows behind the last one are all -inf
    exponentials = tl.exp2((values - largest) * _LOG2_E)
    tl.store(y + row * cols + offsets, (exponentials / tl.sum(exponentials, axis=1)[:, None]).to(y.dtype.element_ty), mask=mask)


# Each lane keeps the largest of its own elements and the sum that belongs to it; they meet at the end of the first read.
@triton.jit
def softmax_two_reads(x, y, cols, COLS: tl.constexpr):
    begin = tl.program_id(0).to(tl.int64) * cols
    columns = tl.arange(0, COLS)
    largest = tl.full([COLS], -3.0e38, tl.float32)
    sums = tl.zeros([COLS], tl.float32)
    for at in range(0, cols, COLS):
        values = tl.load(x + begin + at + columns, mask=columns < cols - at, other=float("-inf")).to(tl.float32)
        larger = tl.maximum(largest, values)
        sums = sums * tl.exp2((largest - larger) * _LOG2_E) + tl.exp2((values - larger) * _LOG2_E)
        largest = larger
    most = tl.max(largest, axis=0)
    inverse = 1.0 / tl.sum(sums * tl.exp2((largest - most) * _LOG2_E), axis=0)
    for at in range(0, cols, COLS):
        mask = columns < cols - at
        values = tl.load(x + begin + at + columns, mask=mask, other=float("-inf")).to(tl.float32)
        tl.store(y + begin + at + columns, (tl.exp2((values - most) * _LOG2_E) * inverse).to(y.dtype.element_ty), mask=mask)


def _whole_rows(problem):
    cols = triton.next_power_of_2(problem.extents["cols"])
    rows = max(1, 1024 // cols)
    arguments = {"x": Pointer("x"), "y": Pointer("y"), "rows": Extent("rows"), "cols": Extent("cols")}
    words = max(1, rows * cols * _BYTES[problem.dtype] // 16 // 32)  # of 16 bytes, a lane of one warp
    guess = min(16, max(1, triton.next_power_of_2(words) // 4))
    for warps in dict.fromkeys([guess, min(32, 2 * guess), max(1, guess // 2), min(32, 4 * guess)]):
        launch = Launch(softmax_whole_rows, arguments, {"ROWS": rows, "COLS": cols}, ("cdiv(rows, ROWS)",), warps)
        yield Variant(f"rows={rows},cols={cols},warps={warps}", [launch], f"cols <= {cols}")


def _two_reads(problem):
    for warps in (16, 8):
        launch = Launch(softmax_two_reads, {"x": Pointer("x"), "y": Pointer("y"), "cols": Extent("cols")}, {"COLS": _LOOPED}, ("rows",), warps)
        yield Variant(f"looped={_LOOPED},warps={warps}", [launch])


def variants(problem, context):
    return list(_whole_rows(problem) if problem.extents["cols"] <= _MOST_HELD else _two_reads(problem))


IMPLEMENTATIONS = [implementation("triton", "softmax", list(_BYTES), "rows of up to 32768 columns are read once; longer ones twice", variants)]
