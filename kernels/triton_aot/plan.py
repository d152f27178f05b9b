"""What is compiled ahead of time: of every plain implementation its first candidates, for problems that each stand for a class.

A class is what one binary is right for: the layout, the head size, the depth or the columns that are its constants, and whether the extents that
matter are multiples of 16, which the compiler is promised. `classes` gives a problem of each, the more specialised ones first: the first that is
right for a problem is run.
"""
from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterator, Sequence

CAPABILITIES = ((8, 0), (8, 9), (9, 0))
DEPTHS = (1, 2, 4, 8, 16, 30, 32, 64)
COLUMNS = tuple(2**power for power in range(4, 16))
HEADS = (64, 128)
LAYOUTS = ("nn", "nt", "tn", "tt")
# What tensor cores take of 8-bit operands, and what they are benchmarked in.
LAYOUTS_OF_BYTES = ("nt",)


@dataclasses.dataclass(frozen=True)
class Line:
    """An implementation of kbench_kernels/triton/ and how much of it is compiled."""

    kernel: str
    variant: str  # triton's: "" or "/two-launches"
    candidates: int
    # Conditions of the whole implementation, over extents; its Python file refuses what breaks them.
    limits: Sequence[str] = ()

    def implementation(self):
        found = importlib.import_module(f"kbench_kernels.triton.{self.kernel}").IMPLEMENTATIONS
        return next(one for one in found if one.name == "triton" + self.variant)


LINES = (
    Line("null", "", 1),
    Line("copy", "", 3),
    Line("sum", "", 3),
    Line("sum", "/two-launches", 3),
    Line("softmax", "", 2),
    Line("chain", "", 2),
    Line("matmul", "", 2, ("max(m, max(n, k)) <= 4194304",)),
    Line("attention", "", 2, ("b * h * s < 2147483648",)),
)


@dataclasses.dataclass(frozen=True)
class Class:
    shape: str  # a problem of it
    condition: str = "1"  # what else makes a problem one of it: over extents, `causal`, `a_transposed` and `b_transposed`


def classes(kernel: str, dtype: str) -> Iterator[Class]:
    """Extents that are to carry no promise are no multiples of 16."""
    if kernel == "null":
        yield Class("n=1")
    elif kernel in ("copy", "sum"):
        yield from (Class("n=1048576"), Class("n=1048577"))
    elif kernel == "chain":
        for depth in DEPTHS:
            for n in (1048576, 1048577):
                yield Class(f"n={n},depth={depth}", f"depth == {depth}")
    elif kernel == "softmax":
        yield from _softmax()
    elif kernel == "matmul":
        yield from _matmul(dtype)
    elif kernel == "attention":
        yield from _attention()


def _softmax():
    for cols in COLUMNS:
        # Fewer columns than the least take its binary, masked; of the others each has its own.
        least = 0 if cols == COLUMNS[0] else cols // 2
        for extent in (cols, cols - 1):
            yield Class(f"rows=4095,cols={extent}", f"cols > {least}")
    for extent in (2 * COLUMNS[-1], 2 * COLUMNS[-1] + 1):
        yield Class(f"rows=4095,cols={extent}", f"cols > {COLUMNS[-1]}")


def _matmul(dtype):
    for layout in LAYOUTS_OF_BYTES if dtype in ("fp8e4m3", "int8") else LAYOUTS:
        condition = f"a_transposed == {int(layout[0] == 't')} and b_transposed == {int(layout[1] == 't')}"
        # Whole tiles; rows of whole words; anything.
        for extent in (4096, 4080, 4095):
            yield Class(f"m={extent},n={extent},k={extent},layout={layout}", condition)


def _attention():
    for head in HEADS:
        for causal in (0, 1):
            for s in (4096, 4095):
                yield Class(f"b=1,h=4,s={s},d={head},hkv=2" + ",causal" * causal, f"d == {head} and causal == {causal}")
