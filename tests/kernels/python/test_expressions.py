import pytest

pytest.importorskip("hypothesis")
from hypothesis import given, strategies as st  # noqa: E402

from kbench_kernels.expressions import evaluate  # noqa: E402
from kbench_kernels.implementation import Problem  # noqa: E402

EXTENT = st.integers(1, 2**40)
BLOCK = st.integers(0, 12).map(lambda power: 2**power)


@given(m=EXTENT, block=BLOCK)
def test_a_grid_covers_the_extent_and_no_more(m, block):
    tiles = evaluate("cdiv(m, BLOCK)", {"m": m, "BLOCK": block})
    assert (tiles - 1) * block < m <= tiles * block


@given(a=st.integers(0, 2**40), b=st.integers(0, 2**40), c=EXTENT)
def test_it_is_pythons_arithmetic(a, b, c):
    values = {"a": a, "b": b, "c": c}
    assert evaluate("a + b * c - a // c % 7", values) == a + b * c - a // c % 7
    assert evaluate("max(1, min(a, b))", values) == max(1, min(a, b))
    assert evaluate("a <= b and c >= 1", values) == int(a <= b)
    assert evaluate("a == b", values) + evaluate("a < b", values) + evaluate("a > b", values) == 1


@pytest.mark.parametrize("expression", [
    "", "m +", "m ** 2", "m / 2", "-m", "f(m, 2)", "cdiv(m)", "cdiv(m, 2, 3)", "min(m, key=2)", "m.real", "m[0]", "'m'", "1.5", "True", "m or n",
    "1 < m < 3", "__import__('os')", "lambda: 1", "(m, n)", "missing", "m // 0", "cdiv(m, 0)", "m % (m - m)"])
def test_nothing_else_is_an_expression(expression):
    with pytest.raises(ValueError):
        evaluate(expression, {"m": 3, "n": 4})


def test_a_name_without_a_value_is_named_with_those_that_have_one():
    with pytest.raises(ValueError, match="'hkv'; there are: h, s"):
        evaluate("h // hkv", {"s": 1, "h": 2})


@given(extents=st.dictionaries(st.sampled_from(["m", "n", "k", "b", "h", "s", "d", "hkv", "rows", "cols", "depth"]), EXTENT),
       layout=st.sampled_from(["", "nn", "nt", "tn", "tt"]), causal=st.booleans())
def test_a_canonical_shape_is_read_back(extents, layout, causal):
    words = [f"{name}={extent}" for name, extent in extents.items()] + [f"layout={layout}"] * bool(layout) + ["causal"] * causal
    problem = Problem("matmul", "fp16", ",".join(words))
    assert (problem.extents, problem.layout, problem.causal) == (extents, layout, causal)
