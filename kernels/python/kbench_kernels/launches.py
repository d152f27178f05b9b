"""How a Triton kernel is compiled and launched, as data: the same for Python's launch path and for whoever compiles ahead of time.

A file of triton/ gives for a problem its `Variant`s: each a list of `Launch`es (function, arguments, constants, grid), in which all that depends on
the problem's extents is an expression over them. `create` makes an instance of one; `compile_inputs` says what `triton.compile` needs for the same
function where there is no GPU. Neither torch nor Triton is imported with this module.
"""
from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kbench_kernels.expressions import evaluate
from kbench_kernels.implementation import CompileError, Context, Implementation, Instance, Operands, Problem, Unsupported

# The catalog's operands, the output last.
OPERANDS = {
    "null": (),
    "copy": ("x", "y"),
    "sum": ("x", "y"),
    "softmax": ("x", "y"),
    "chain": ("x", "y"),
    "matmul": ("a", "b", "c"),
    "attention": ("q", "k", "v", "o"),
}
# How Triton calls what a dtype is stored as.
STORAGE = {"fp64": "fp64", "fp32": "fp32", "tf32": "fp32", "fp16": "fp16", "bf16": "bf16", "fp8e4m3": "fp8e4nv", "int8": "i8"}


@dataclasses.dataclass(frozen=True)
class Pointer:
    """An operand, by the catalog's name."""

    operand: str


@dataclasses.dataclass(frozen=True)
class Descriptor:
    """A tensor descriptor of an operand, made on the host: a matrix (all extents but the last are one) in blocks of so many rows and columns."""

    operand: str
    block: tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Scratch:
    """Memory of the instance's own, the same for every launch that names it. `zeroed` once, when it is made: launches leave it as they found it."""

    name: str
    type: str  # as Triton calls it: fp32, i32
    elements: str
    zeroed: bool = False


@dataclasses.dataclass(frozen=True)
class Extent:
    """A whole number. 32 bits wherever it fits, as Triton has it."""

    expression: str


Argument = Pointer | Descriptor | Scratch | Extent


@dataclasses.dataclass(frozen=True)
class Launch:
    function: Any  # @triton.jit
    arguments: Mapping[str, Argument]  # by parameter, in order; those that are no constants
    constants: Mapping[str, Any]  # the tl.constexpr parameters
    grid: tuple[str, ...]  # one to three expressions
    num_warps: int = 4
    num_stages: int = 3

    @property
    def name(self) -> str:
        """The function's."""
        return self.function.fn.__name__


@dataclasses.dataclass(frozen=True)
class Variant:
    """One configuration of an implementation. `name` is its candidate's; `when` says which extents it is right for, of problems with the same dtype
    and form (layout, causal, depth, head size)."""

    name: str
    launches: Sequence[Launch]
    when: str = "1"


# Variants worth a try for a problem, the best guess first; none: the problem is not supported.
Variants = Callable[[Problem, Context], Sequence[Variant]]


@dataclasses.dataclass(frozen=True)
class TritonImplementation(Implementation):
    variants: Variants | None = None


def implementation(name: str, kernel: str, dtypes: Sequence[str], summary: str, variants: Variants, **others: Any) -> TritonImplementation:
    """The implementation that runs one of `variants`; those after the first are candidates."""
    return TritonImplementation(
        name=name, kernel=kernel, dtypes=dtypes, summary=summary, variants=variants, dtype_missing=dtype_missing,
        create=lambda problem, operands, context: create(variants, problem, operands, context),
        candidates=lambda problem, context: [variant.name for variant in variants(problem, context)], **others)


def dtype_missing(dtype: str, context: Context) -> str | None:
    """What Triton itself asks of a GPU."""
    needed = {"fp8e4m3": (8, 9), "tf32": (8, 0), "bf16": (8, 0)}.get(dtype, (7, 5))
    if context.device != "cuda" or context.capability >= needed:
        return None
    has = f"{context.capability[0]}.{context.capability[1]}"
    return f"Triton compiles {dtype} for compute capability {needed[0]}.{needed[1]} and up; this GPU has {has}"


def no_descriptors(context: Context) -> str | None:
    """Why there are no tensor descriptors here, or None."""
    import importlib.util

    import triton
    if context.device == "cuda" and context.capability < (9, 0):
        return f"tensor descriptors need compute capability 9.0 and up; this GPU has {context.capability[0]}.{context.capability[1]}"
    if importlib.util.find_spec("triton.tools.tensor_descriptor") is None:
        return f"tensor descriptors need Triton 3.4 and up; this is {triton.__version__}"
    return None


def shared_memory(capability: tuple[int, int]) -> int:
    """Bytes that one block may have."""
    kibibytes = {(7, 5): 64, (8, 0): 163, (8, 7): 163, (9, 0): 227, (10, 0): 227, (10, 3): 227, (11, 0): 227}
    return 1024 * kibibytes.get(capability, 99)


def fitting(tiles: Sequence[Any], shared_bytes: Callable[[Any], int], context: Context) -> list[Any]:
    """The tiles whose pipeline a block's shared memory holds, so that the first guess runs on this GPU; the last where none seems to."""
    return [tile for tile in tiles if shared_bytes(tile) <= shared_memory(context.capability)] or list(tiles[-1:])


def names_of(problem: Problem, launch: Launch, context: Context) -> dict[str, int]:
    """What the expressions of a launch may name."""
    constants = {name: int(value) for name, value in launch.constants.items() if isinstance(value, (int, bool))}
    return {**problem.extents, **constants, "multiprocessors": max(1, context.multiprocessors)}


def grid_of(problem: Problem, launch: Launch, context: Context) -> tuple[int, ...]:
    values = names_of(problem, launch, context)
    return tuple(evaluate(expression, values) for expression in launch.grid)


# ---- ahead of time --------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class CompileInputs:
    """`triton.compile(ASTSource(function, signature, constexprs, attrs), target, options)`."""

    signature: Mapping[str, str]
    constexprs: Mapping[str, Any]
    attrs: Mapping[tuple[int], Any]
    options: Mapping[str, int]


def operand_type(problem: Problem, operand: str) -> str:
    """Of its elements, as Triton calls them."""
    if operand != OPERANDS[problem.kernel][-1]:
        return STORAGE[problem.dtype]
    if problem.kernel == "sum":
        return "fp64" if problem.dtype == "fp64" else "fp32"
    return {"fp8e4m3": "bf16", "int8": "i32"}.get(problem.dtype, STORAGE[problem.dtype]) if problem.kernel == "matmul" else STORAGE[problem.dtype]


def compile_inputs(problem: Problem, launch: Launch, context: Context) -> CompileInputs:
    """For this problem's extents as Python's launch path would compile it, but that an argument of 1 stays an argument: what is divisible by 16 is
    promised to be, and so is every pointer (a multiple of 16 bytes)."""
    values = names_of(problem, launch, context)
    signature, attrs = {}, {}
    for place, parameter in enumerate(launch.function.arg_names):
        if parameter in launch.constants:
            signature[parameter] = "constexpr"
            continue
        argument = launch.arguments[parameter]
        if isinstance(argument, Extent):
            value = evaluate(argument.expression, values)
            signature[parameter] = "i32" if value < 2**31 else "i64"
            aligned = value % 16 == 0
        elif isinstance(argument, Descriptor):
            signature[parameter] = f"tensordesc<{operand_type(problem, argument.operand)}{list(argument.block)}>"
            aligned = False
        else:
            signature[parameter] = "*" + (argument.type if isinstance(argument, Scratch) else operand_type(problem, argument.operand))
            aligned = True
        if aligned:
            attrs[(place,)] = [["tt.divisibility", 16]]
    return CompileInputs(signature, dict(launch.constants), attrs, {"num_warps": launch.num_warps, "num_stages": launch.num_stages})


# ---- Python's launch path -------------------------------------------------------------------------------------------------


def create(variants: Variants, problem: Problem, operands: Operands, context: Context) -> Instance:
    """Compiles the candidate the context names (the first where it names none) and prepares its launches."""
    offered = variants(problem, context)
    chosen = next((variant for variant in offered if context.candidate in ("", variant.name)), None)
    if chosen is None:
        names = ", ".join(variant.name for variant in offered) or "none"
        raise Unsupported(f"there is no candidate '{context.candidate}' for {problem.kernel} {problem.dtype} {problem.shape}; offered are: {names}")
    tensors = dict(zip(OPERANDS[problem.kernel], [*operands.inputs, operands.output]))
    scratch: dict[str, Any] = {}
    calls = [_call(problem, launch, context, tensors, scratch) for launch in chosen.launches]
    began = time.perf_counter()
    kernels = {launch.name: _compile(call) for launch, call in zip(chosen.launches, calls)}
    seconds = time.perf_counter() - began
    first, first_kernel = chosen.launches[0], next(iter(kernels.values()))
    return Instance(launch=_sequence(calls), configuration=_configuration(problem, first, context, first_kernel), compile_seconds=seconds,
                    code=lambda: {name: _code(kernel) for name, kernel in kernels.items() if kernel is not None})


@dataclasses.dataclass(frozen=True)
class _Call:
    function: Any
    grid: tuple[int, ...]
    arguments: tuple
    options: Mapping[str, Any]


def _call(problem, launch, context, tensors, scratch) -> _Call:
    values = names_of(problem, launch, context)
    arguments = tuple(_argument(launch.arguments[parameter], values, tensors, scratch)
                      for parameter in launch.function.arg_names if parameter not in launch.constants)
    options = {**launch.constants, "num_warps": launch.num_warps, "num_stages": launch.num_stages}
    return _Call(launch.function, grid_of(problem, launch, context), arguments, options)


def _argument(argument, values, tensors, scratch):
    if isinstance(argument, Extent):
        return evaluate(argument.expression, values)
    if isinstance(argument, Pointer):
        return tensors[argument.operand]
    if isinstance(argument, Descriptor):
        from triton.tools.tensor_descriptor import TensorDescriptor
        return TensorDescriptor.from_tensor(tensors[argument.operand].flatten(0, -2), list(argument.block))
    if argument.name not in scratch:
        import torch
        types = {"fp64": torch.float64, "fp32": torch.float32, "i32": torch.int32}
        make = torch.zeros if argument.zeroed else torch.empty
        device = next(iter(tensors.values())).device
        scratch[argument.name] = make(evaluate(argument.elements, values), dtype=types[argument.type], device=device)
    return scratch[argument.name]


def _sequence(calls) -> Callable[[], None]:
    if len(calls) == 1:
        function, grid, arguments, options = calls[0].function, calls[0].grid, calls[0].arguments, calls[0].options

        def launch():
            function[grid](*arguments, **options)
    else:
        def launch():
            for call in calls:
                call.function[call.grid](*call.arguments, **call.options)
    return launch


def _compile(call: _Call) -> Any:
    """The compiled kernel, loaded; None from the interpreter."""
    from triton.compiler.errors import CompilationError
    from triton.runtime.errors import OutOfResources
    try:
        kernel = call.function.warmup(*call.arguments, grid=call.grid, **call.options)
        if kernel is not None:
            kernel.run  # loads it
        return kernel
    except OutOfResources as error:
        raise Unsupported(f"this GPU cannot run the candidate: {error}") from error
    except CompilationError as error:
        raise CompileError(str(error)) from error
    except RuntimeError as error:
        if "C compiler" in str(error):
            raise Unsupported("Triton compiles its launcher with a C compiler and finds none: install gcc and the headers of this Python, "
                              "or set CC") from error
        raise CompileError(str(error)) from error


def _configuration(problem, launch, context, kernel) -> dict[str, str]:
    configuration = {
        "grid": "x".join(str(extent) for extent in grid_of(problem, launch, context)),
        "block": str(32 * launch.num_warps),
        "stages": str(launch.num_stages),
    }
    if kernel is not None:  # not interpreted
        configuration |= {"registers": str(kernel.n_regs), "local_bytes": str(4 * kernel.n_spills),
                          "dynamic_shared_bytes": str(kernel.metadata.shared)}
    return configuration


def _code(kernel) -> dict[str, bytes]:
    return {"ptx": kernel.asm["ptx"].encode(), "cubin": kernel.asm["cubin"]}
