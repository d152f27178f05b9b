"""sum: each program adds up tiles of the vector; their sums are added up by whichever program ends last, or by a second launch."""
import triton
import triton.language as tl

from kbench_kernels.launches import Extent, Launch, Pointer, Scratch, Variant, implementation

_BYTES = {"fp64": 8, "fp32": 4, "fp16": 2, "bf16": 2}


@triton.jit
def _sum_of_tiles(x, n, BLOCK: tl.constexpr, SUM: tl.constexpr):
    """The program's share: every so many-th tile of BLOCK elements, added up lane by lane. Only what is behind the last whole tile is masked."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    offsets = tl.arange(0, BLOCK)
    sums = tl.zeros([BLOCK], SUM)
    tiles = n // BLOCK
    for tile in range(program, tiles, programs):
        sums += tl.load(x + tl.cast(tile, tl.int64) * BLOCK + offsets).to(SUM)
    if program == tiles % programs:
        begin = tl.cast(tiles, tl.int64) * BLOCK
        sums += tl.load(x + begin + offsets, mask=offsets < n - begin, other=0).to(SUM)
    return tl.sum(sums, axis=0)


@triton.jit
def _sum_of_partials(partials, count, CHUNK: tl.constexpr, SUM: tl.constexpr):
    offsets = tl.arange(0, CHUNK)
    sums = tl.zeros([CHUNK], SUM)
    for begin in range(0, count, CHUNK):
        sums += tl.load(partials + begin + offsets, mask=offsets < count - begin, other=0)
    return tl.sum(sums, axis=0)


# The ticket orders the partial sums: whoever draws the last one sees all of them, and leaves the counter as it was found.
@triton.jit
def sum_last_program(x, y, partials, tickets, n, BLOCK: tl.constexpr, SUM: tl.constexpr, CHUNK: tl.constexpr):
    programs = tl.num_programs(0)
    tl.store(partials + tl.program_id(0), _sum_of_tiles(x, n, BLOCK, SUM))
    tl.debug_barrier()
    ticket = tl.atomic_add(tickets, 1, sem="acq_rel")
    if ticket == programs - 1:
        tl.store(y, _sum_of_partials(partials, programs, CHUNK, SUM))
        tl.store(tickets, 0)


@triton.jit
def sum_partials(x, partials, n, BLOCK: tl.constexpr, SUM: tl.constexpr):
    tl.store(partials + tl.program_id(0), _sum_of_tiles(x, n, BLOCK, SUM))


@triton.jit
def sum_finish(partials, y, count, CHUNK: tl.constexpr, SUM: tl.constexpr):
    tl.store(y, _sum_of_partials(partials, count, CHUNK, SUM))


# (words of 16 bytes a thread, warps, programs a multiprocessor), the best guess first.
_SHAPES = ((8, 8, 4), (8, 4, 8), (4, 8, 8), (8, 8, 16), (8, 16, 2))


def _variants(problem, launches):
    kind = "fp64" if problem.dtype == "fp64" else "fp32"
    for words, warps, each in _SHAPES:
        block = words * warps * 32 * 16 // _BYTES[problem.dtype]
        programs = f"max(1, min({each} * multiprocessors, cdiv(n, {block})))"
        constants = {"BLOCK": block, "SUM": tl.float64 if kind == "fp64" else tl.float32}
        yield Variant(f"block={block},warps={warps},programs={each}", launches(constants, Scratch("partials", kind, programs), programs, warps))


def last_program(problem, context):
    def launches(constants, partials, programs, warps):
        tickets = Scratch("tickets", "i32", "1", zeroed=True)
        arguments = {"x": Pointer("x"), "y": Pointer("y"), "partials": partials, "tickets": tickets, "n": Extent("n")}
        return [Launch(sum_last_program, arguments, {**constants, "CHUNK": 1024}, (programs,), warps)]
    return list(_variants(problem, launches))


def two_launches(problem, context):
    def launches(constants, partials, programs, warps):
        first = Launch(sum_partials, {"x": Pointer("x"), "partials": partials, "n": Extent("n")}, constants, (programs,), warps)
        second = Launch(sum_finish, {"partials": partials, "y": Pointer("y"), "count": Extent(programs)}, {"CHUNK": 1024, "SUM": constants["SUM"]},
                        ("1",))
        return [first, second]
    return list(_variants(problem, launches))


IMPLEMENTATIONS = [
    implementation("triton", "sum", list(_BYTES), "one launch: a partial sum a program, added up by the program that ends last", last_program,
                   rung=1),
    implementation("triton/two-launches", "sum", list(_BYTES), "a partial sum a program, a second launch of one program adds them up", two_launches),
]
