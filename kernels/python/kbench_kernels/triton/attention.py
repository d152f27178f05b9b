"""attention: FlashAttention-2. A program holds some rows of Q and walks over the keys with an online softmax; scores never leave the registers."""
import math

import triton
import triton.language as tl

from kbench_kernels.launches import Descriptor, Extent, Launch, Pointer, Variant, fitting, implementation, no_descriptors

_DTYPES = ["fp32", "tf32", "fp16", "bf16"]
_MOST_HEAD = 256

# (rows of Q, keys a step, warps, stages) by the head size, the best guess first.
_TILES = {
    "16": {64: [(128, 128, 8, 3), (128, 64, 4, 3), (128, 128, 4, 2), (128, 64, 8, 3), (64, 64, 4, 3)],
           128: [(128, 128, 8, 2), (128, 64, 8, 3), (128, 32, 4, 3), (64, 64, 4, 3), (64, 64, 4, 2)],
           256: [(128, 64, 8, 2), (64, 32, 4, 2), (64, 64, 4, 2)]},
    "tf32": {64: [(128, 64, 8, 2), (64, 64, 4, 2), (128, 32, 4, 3)],
             128: [(128, 32, 8, 2), (64, 32, 4, 2)],
             256: [(64, 32, 8, 2), (32, 32, 4, 2), (32, 32, 4, 1)]},
    "fp32": {64: [(64, 32, 8, 2), (64, 32, 8, 3), (128, 32, 16, 2), (64, 64, 16, 2), (64, 16, 8, 2), (32, 64, 8, 2), (32, 32, 4, 2)],
             128: [(64, 16, 16, 2), (64, 16, 8, 2), (64, 32, 16, 2), (32, 16, 4, 2)],
             256: [(32, 16, 16, 1), (32, 16, 8, 1), (16, 32, 8, 1), (16, 16, 8, 1)]},
}


@triton.jit
def over_keys(sums, largest, total, q, k, v, key_row, begin, end, s, row_numbers, D: tl.constexpr, D_BLOCK: tl.constexpr, BLOCK_N: tl.constexpr,
              MASKED: tl.constexpr, CAUSAL: tl.constexpr, SCALE: tl.constexpr, PRECISION: tl.constexpr, DESCRIPTORS: tl.constexpr):
    """Keys from begin to end, a tile at a time. MASKED: some of them are behind the last one, or after a row's own place. What descriptors read there
    belongs to the next head, or is 0, and gets no weight."""
    keys, lanes = tl.arange(0, BLOCK_N), tl.arange(0, D_BLOCK)
    for at in range(begin, end, BLOCK_N):
        first = key_row + at
        here = (lanes[None, :] < D) & (keys[:, None] < s - at)
        offsets = keys[:, None] * D + lanes[None, :]
        if DESCRIPTORS:
            k_values = k.load([first, 0])
        elif MASKED or D != D_BLOCK:
            k_values = tl.load(k + first.to(tl.int64) * D + offsets, mask=here, other=0.0)
        else:
            k_values = tl.load(k + first.to(tl.int64) * D + offsets)
        scores = tl.dot(q, tl.trans(k_values), input_precision=PRECISION)
        if MASKED:
            seen = at + keys[None, :] < s
            if CAUSAL:
                seen = seen & (at + keys[None, :] <= row_numbers[:, None])
            scores = tl.where(seen, scores, float("-inf"))
        # Scaled here, in fp32 and in the same instruction as the difference.
        larger = tl.maximum(largest, tl.max(scores, axis=1) * SCALE)
        weights = tl.exp2(scores * SCALE - larger[:, None])
        shrunk = tl.exp2(largest - larger)
        total = total * shrunk + tl.sum(weights, axis=1)
        sums = sums * shrunk[:, None]
        if DESCRIPTORS:
            v_values = v.load([first, 0])
        elif MASKED or D != D_BLOCK:
            v_values = tl.load(v + first.to(tl.int64) * D + offsets, mask=here, other=0.0)
        else:
            v_values = tl.load(v + first.to(tl.int64) * D + offsets)
        sums = tl.dot(weights.to(v_values.dtype), v_values, sums, input_precision=PRECISION)
        largest = larger
    return sums, largest, total


# `group` query heads read one key head.
@triton.jit
def attention_kernel(q, k, v, o, s, heads, group, D: tl.constexpr, D_BLOCK: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                     CAUSAL: tl.constexpr, SCALE: tl.constexpr, PRECISION: tl.constexpr, DESCRIPTORS: tl.constexpr):
    tiles = tl.cdiv(s, BLOCK_M)
    tile = tl.program_id(0) % tiles
    head = tl.program_id(0) // tiles
    if CAUSAL:
        tile = tiles - 1 - tile  # the longest first
    key_row = (head // heads * (heads // group) + head % heads // group) * s
    query_rows = (head.to(tl.int64) * s + tile * BLOCK_M) * D
    rows, lanes = tl.arange(0, BLOCK_M), tl.arange(0, D_BLOCK)
    row_numbers = tile * BLOCK_M + rows
    here = (row_numbers[:, None] < s) & (lanes[None, :] < D)
    offsets = rows[:, None] * D + lanes[None, :]
    q_values = tl.load(q + query_rows + offsets, mask=here, other=0.0)
    sums = tl.zeros([BLOCK_M, D_BLOCK], tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    largest = tl.full([BLOCK_M], float("-inf"), tl.float32)
    if CAUSAL:
        unmasked = tile * BLOCK_M // BLOCK_N * BLOCK_N
        end = tl.minimum(s, (tile + 1) * BLOCK_M)
    else:
        unmasked = s // BLOCK_N * BLOCK_N
        end = s
    sums, largest, total = over_keys(sums, largest, total, q_values, k, v, key_row, 0, unmasked, s, row_numbers, D, D_BLOCK, BLOCK_N, False, CAUSAL,
                                     SCALE, PRECISION, DESCRIPTORS)
    sums, largest, total = over_keys(sums, largest, total, q_values, k, v, key_row, unmasked, end, s, row_numbers, D, D_BLOCK, BLOCK_N, True, CAUSAL,
                                     SCALE, PRECISION, DESCRIPTORS)
    tl.store(o + query_rows + offsets, (sums / total[:, None]).to(o.dtype.element_ty), mask=here)


def tiles(dtype, head_size, context):
    by_head, width = _TILES[dtype if dtype in _TILES else "16"], 4 if dtype in _TILES else 2
    most = next(most for most in sorted(by_head) if head_size <= most)
    return fitting(by_head[most], lambda tile: (tile[0] + 2 * tile[3] * tile[1]) * most * width, context)


def constants(problem):
    """Of every tile."""
    size = problem.extents["d"]
    # The hardware has 2^x, so the scale holds log2(e) too.
    return {"D": size, "D_BLOCK": max(16, triton.next_power_of_2(size)), "CAUSAL": problem.causal, "SCALE": math.log2(math.e) / math.sqrt(size),
            "PRECISION": "ieee" if problem.dtype == "fp32" else "tf32"}


def _variants(problem, descriptors, context):
    found = []
    block = constants(problem)["D_BLOCK"]
    extents = {"s": Extent("s"), "heads": Extent("h"), "group": Extent("h // hkv" if "hkv" in problem.extents else "1")}
    for rows, keys, warps, stages in tiles(problem.dtype, problem.extents["d"], context):
        key_operands = {name: Descriptor(name, (keys, block)) if descriptors else Pointer(name) for name in "kv"}
        fixed = {**constants(problem), "BLOCK_M": rows, "BLOCK_N": keys, "DESCRIPTORS": descriptors}
        launch = Launch(attention_kernel, {"q": Pointer("q"), **key_operands, "o": Pointer("o"), **extents}, fixed, ("cdiv(s, BLOCK_M) * b * h",),
                        warps, stages)
        found.append(Variant(f"{rows}x{keys},warps={warps},stages={stages}", [launch]))
    return found


def pointers(problem, context):
    return _variants(problem, descriptors=False, context=context)


def by_descriptors(problem, context):
    return _variants(problem, descriptors=True, context=context)


def unsupported(problem, context):
    extents = problem.extents
    if extents["d"] > _MOST_HEAD:
        return f"heads of d={extents['d']} do not fit in registers: at most d={_MOST_HEAD}"
    rows = extents["b"] * extents["h"] * extents["s"]
    return f"{rows} rows of Q are more than 2^31 - 1" if rows >= 2**31 else None


def unsupported_by_descriptors(problem, context):
    row = problem.extents["d"] * (4 if problem.dtype == "tf32" else 2)
    if row % 16 != 0:
        return f"tensor descriptors need rows of a multiple of 16 bytes; those of K and V have {row}"
    return no_descriptors(context) or unsupported(problem, context)


IMPLEMENTATIONS = [
    implementation("triton", "attention", _DTYPES, "FlashAttention-2: online softmax over tiles of keys, scores in registers", pointers,
                   unsupported=unsupported),
    implementation("triton/tma", "attention", ["tf32", "fp16", "bf16"], "the same, with K and V by tensor descriptors (TMA)", by_descriptors, rung=1,
                   unsupported=unsupported_by_descriptors),
]
