"""Whole-number expressions over a problem's extents: grids, arguments and conditions that Python and a launcher in another language read alike.

    cdiv(m, BLOCK_M) * cdiv(n, BLOCK_N)        min(4 * multiprocessors, cdiv(n, BLOCK))        cols <= 4096 and cols % 16 == 0

Numbers, names, + - * // %, cdiv, min and max of two, comparisons and `and`; a condition that holds is 1.
"""
from __future__ import annotations

import ast
from collections.abc import Mapping

_BINARY = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}
_COMPARISONS = {
    ast.LtE: lambda a, b: a <= b,
    ast.Lt: lambda a, b: a < b,
    ast.GtE: lambda a, b: a >= b,
    ast.Gt: lambda a, b: a > b,
    ast.Eq: lambda a, b: a == b,
}
_FUNCTIONS = {"cdiv": lambda a, b: -(-a // b), "min": min, "max": max}


def evaluate(expression: str, values: Mapping[str, int]) -> int:
    """The expression's value. ValueError names what is not allowed in it, or which name has no value."""
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError as error:
        raise ValueError(f"'{expression}' is not an expression: {error.msg}") from None
    return _value(tree.body, values, expression)


def _value(node: ast.AST, values: Mapping[str, int], expression: str) -> int:
    def value(child):
        return _value(child, values, expression)

    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        if node.id not in values:
            raise ValueError(f"'{expression}' names '{node.id}'; there are: {', '.join(sorted(values))}")
        return int(values[node.id])
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        left, right = value(node.left), value(node.right)
        if right == 0 and isinstance(node.op, (ast.FloorDiv, ast.Mod)):
            raise ValueError(f"'{expression}' divides by 0")
        return _BINARY[type(node.op)](left, right)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
        return int(_COMPARISONS[type(node.ops[0])](value(node.left), value(node.comparators[0])))
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return int(all(value(part) for part in node.values))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS and len(node.args) == 2 and not node.keywords:
        left, right = value(node.args[0]), value(node.args[1])
        if right == 0 and node.func.id == "cdiv":
            raise ValueError(f"'{expression}' divides by 0")
        return _FUNCTIONS[node.func.id](left, right)
    raise ValueError(f"'{expression}': {ast.unparse(node)} is not allowed; numbers, names, + - * // %, cdiv, min, max, comparisons and `and` are")
