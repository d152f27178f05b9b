"""compile.py on two kernels, and the vectors that the C++ evaluator is held to."""
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
SOURCE = ROOT / "kernels" / "triton_aot"
sys.path.insert(0, str(ROOT / "kernels" / "python"))


def module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    found = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = found
    spec.loader.exec_module(found)
    return found


def test_vectors_are_what_python_says():
    here = pathlib.Path(__file__).resolve().parent
    vectors = module(here / "expression_vectors.py")
    assert (here / "expression_vectors.txt").read_text().splitlines() == list(vectors.lines()), "run expression_vectors.py anew"


def test_constants_are_put_in_their_places():
    emit = module(SOURCE / "emit.py")
    from kbench_kernels.expressions import evaluate
    expression = "cdiv(m, BLOCK_M) * (BLOCK_N - n % BLOCK_N)"
    plain = emit.without_constants(expression, {"BLOCK_M": 128, "BLOCK_N": 64, "WHOLE": True, "SUM": object()})
    assert "BLOCK" not in plain
    names = {"m": 1000, "n": 77}
    assert evaluate(plain, names) == evaluate(expression, {**names, "BLOCK_M": 128, "BLOCK_N": 64})


def compiled(folder, *options):
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    ended = subprocess.run([sys.executable, "-B", str(SOURCE / "compile.py"), "--out", str(folder), "--jobs", "1", *options], capture_output=True,
                           text=True, stdin=subprocess.DEVNULL, env=environment)
    assert ended.returncode == 0, ended.stderr
    return (folder / "index.cc").read_text(), (folder / "cubins.bin").read_bytes()


def test_two_kernels(tmp_path):
    pytest.importorskip("triton")
    index, cubins = compiled(tmp_path, "--kernels", "null,copy", "--capabilities", "80,90")
    # null; and of copy five dtypes, three candidates, multiples of 16 and others.
    assert index.count('"triton-aot", ') == 2 * (1 + 5 * 3 * 2)
    assert '"n < 2147483648 and n % 16 == 0"' in index and '"n < 2147483648"' in index
    launches = re.findall(r'\{"(\w+)", \d+, \d+, \{("[^}]*)\}, \d+, \d+, \d+, \d+, \d+, (\d+), (\d+)\}', index)
    assert {name for name, *_ in launches} == {"null_kernel", "copy_kernel"}
    for name, grid, offset, size in launches:
        assert grid.startswith('"1"' if name == "null_kernel" else '"cdiv(n, ')
        binary = cubins[int(offset):int(offset) + int(size)]
        assert binary[:4] == b"\x7fELF" and len(binary) == int(size)
        assert f".nv.info.{name}".encode() in binary
        assert str(ROOT).encode() not in binary, "no path of the machine that compiled it"
    code = {path.suffix for path in (tmp_path / "code").iterdir()}
    assert code == {".cubin", ".ptx"}
    # Anew: the same, byte for byte.
    assert compiled(tmp_path / "again", "--kernels", "null,copy", "--capabilities", "80,90") == (index, cubins)


def test_every_class_is_its_own():
    """The problem that stands for a class meets the conditions of that class."""
    pytest.importorskip("triton")
    plan = module(SOURCE / "plan.py")
    from kbench_kernels.expressions import evaluate
    from kbench_kernels.implementation import Problem
    for line in plan.LINES:
        implementation = line.implementation()
        for dtype in implementation.dtypes:
            for one in plan.classes(line.kernel, dtype):
                problem = Problem(line.kernel, dtype, one.shape)
                names = {**problem.extents, "causal": int(problem.causal), "a_transposed": int(problem.layout[:1] == "t"),
                         "b_transposed": int(problem.layout[1:] == "t")}
                assert all(evaluate(condition, names) for condition in (one.condition, *line.limits)), one
