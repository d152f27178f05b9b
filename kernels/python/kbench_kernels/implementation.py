"""What a file of torch/ or triton/ declares: one way to run a kernel.

A file lists its implementations in `IMPLEMENTATIONS`; nothing else has to know it. Implementations know nothing of timing, checking, frames or processes:
they get operands and return a launch. Whatever may be done once (compiling, choosing a configuration, workspaces) is done in `create`; a launch only
enqueues on torch's current stream, never synchronizes and never allocates more than torch's allocator has at hand.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any


class Unsupported(Exception):
    """This problem cannot be run here; the message says why and what can."""


class CompileError(Exception):
    """The kernel did not compile; the message is the compiler's."""


@dataclasses.dataclass(frozen=True)
class Problem:
    """A kernel, a dtype (which fixes the math mode) and a canonical shape, as the catalog resolved them."""

    kernel: str
    dtype: str  # fp64 fp32 tf32 fp16 bf16 fp8e4m3 int8
    shape: str  # "m=4096,n=4096,k=4096,layout=nn"
    mode: str = "cold"

    @property
    def extents(self) -> dict[str, int]:
        """{"m": 4096, "n": 4096, "k": 4096}"""
        pairs = (word.split("=", 1) for word in self.shape.split(",") if "=" in word)
        return {name: int(value) for name, value in pairs if value.isdecimal()}

    @property
    def layout(self) -> str:
        """matmul: nn, nt, tn or tt, in row-major letters, A's first; else empty."""
        return next((word[len("layout="):] for word in self.shape.split(",") if word.startswith("layout=")), "")

    @property
    def causal(self) -> bool:
        """attention"""
        return "causal" in self.shape.split(",")


@dataclasses.dataclass(frozen=True)
class Operands:
    """Tensors over the engine's memory: row-major, dense, with the extents of the catalog (a transposed matrix has them exchanged)."""

    inputs: Sequence[Any]
    output: Any  # None for a kernel without operands


@dataclasses.dataclass(frozen=True)
class Context:
    device: str = "cuda"  # cuda, cpu
    threads: int = 1  # cpu: how many a launch may use
    capability: tuple[int, int] = (0, 0)  # cuda: (9, 0)
    multiprocessors: int = 0
    candidate: str = ""  # one of what `candidates` offered; empty: its first


@dataclasses.dataclass
class Instance:
    """A prepared implementation."""

    launch: Callable[[], None]  # raises where it fails
    configuration: Mapping[str, str] = dataclasses.field(default_factory=dict)  # part of the result
    compile_seconds: float = 0.0  # of what `create` took, how much went to a compiler
    # Device code by function and kind: {"softmax_kernel": {"ptx": b"...", "cubin": b"..."}}. Asked for when the rounds are over.
    code: Callable[[], Mapping[str, Mapping[str, bytes]]] | None = None


@dataclasses.dataclass(frozen=True)
class Implementation:
    name: str  # "torch", "torch/flash", "triton"
    kernel: str
    dtypes: Sequence[str]
    summary: str  # the idea in one sentence
    create: Callable[[Problem, Operands, Context], Instance]
    devices: Sequence[str] = ("cuda",)
    default_choice: bool = True  # runs without --impl where no other of its family stands on a higher rung
    rung: int = 0
    hidden: bool = False
    # Why this problem cannot be run, or None. Called before anything is allocated.
    unsupported: Callable[[Problem, Context], str | None] | None = None
    # Configurations worth timing, the best guess first; None: nothing to tune. They are timed on a scratch output, never on the case's own.
    candidates: Callable[[Problem, Context], Sequence[str]] | None = None
    # Why this machine has no such dtype, or None.
    dtype_missing: Callable[[str, Context], str | None] | None = None

    @property
    def family(self) -> str:
        return self.name.split("/", 1)[0]
