"""The index as C++: tables of plain structs (index.h), so that the runner parses nothing and links no more than it did."""
from __future__ import annotations

import ast
import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any


@dataclasses.dataclass
class Argument:
    kind: str  # Argument::Kind of index.h
    place: int  # of the operand, or of the scratch memory
    expression: str = ""
    element_bytes: int = 0
    zeroed: bool = False


@dataclasses.dataclass
class Launch:
    function: str
    arguments: Sequence[Argument]
    grid: Sequence[str]  # three
    warps: int
    stages: int
    shared_bytes: int
    global_scratch_bytes: int  # a block
    scratch_pointers: int
    cubin: bytes
    ptx: str
    offset: int = -1  # in cubins.bin


@dataclasses.dataclass
class Variant:
    implementation: str
    kernel: str
    dtype: str
    capability: int
    candidate: str
    when: str
    launches: Sequence[Launch]


class _Constants(ast.NodeTransformer):
    def __init__(self, constants: Mapping[str, Any]):
        self.constants = constants

    def visit_Name(self, node):
        value = self.constants.get(node.id)
        return ast.Constant(int(value)) if isinstance(value, (int, bool)) else node


def without_constants(expression: str, constants: Mapping[str, Any]) -> str:
    """The same with the launch's constants in their places, so that extents and the GPU's multiprocessors are all it names."""
    return ast.unparse(_Constants(constants).visit(ast.parse(expression, mode="eval")))


def atom(expression: str) -> str:
    return expression if expression.isidentifier() else f"({expression})"


def _argument(argument: Argument) -> str:
    return (f"{{Argument::Kind::{argument.kind}, {argument.place}, {json.dumps(argument.expression)}, {argument.element_bytes}, "
            f"{str(argument.zeroed).lower()}}}")


def _launch(launch: Launch, first_argument: int) -> str:
    grid = ", ".join(json.dumps(expression) for expression in launch.grid)
    return (f"{{{json.dumps(launch.function)}, {first_argument}, {len(launch.arguments)}, {{{grid}}}, {launch.warps}, {launch.stages}, "
            f"{launch.shared_bytes}, {launch.global_scratch_bytes}, {launch.scratch_pointers}, {launch.offset}, {len(launch.cubin)}}}")


def _variant(variant: Variant, first_launch: int) -> str:
    words = ", ".join(json.dumps(word) for word in (variant.implementation, variant.kernel, variant.dtype))
    return (f"{{{words}, {variant.capability}, {json.dumps(variant.candidate)}, {json.dumps(variant.when)}, {first_launch}, "
            f"{len(variant.launches)}}}")


def index(variants: Sequence[Variant], version: str) -> str:
    arguments, launches, lines = [], [], []
    for variant in variants:
        lines.append(_variant(variant, len(launches)))
        for launch in variant.launches:
            launches.append(_launch(launch, len(arguments)))
            arguments += [_argument(argument) for argument in launch.arguments]

    def table(kind: str, name: str, rows: list[str]) -> str:
        return f"constexpr {kind} {name}[] = {{\n" + "".join(f"    {row},\n" for row in rows) + "};\n"

    return "\n".join([
        "// Written by compile.py.", '#include "kernels/triton_aot/index.h"\n', "namespace kbench::aot {\nnamespace {\n",
        # A table of nothing would not compile.
        table("Argument", "kArguments", arguments or [_argument(Argument("kOperand", 0))]),
        table("Launch", "kLaunches", launches), table("Variant", "kVariants", lines),
        "}  // namespace\n\nconst Index& CompiledIndex() {",
        f"  static const Index index = {{{json.dumps(version)}, kVariants, kLaunches, kArguments, Cubins()}};",
        "  return index;\n}\n\n}  // namespace kbench::aot\n"])
