"""The worked examples of kernels/python/README.md: complete files, put where it says and tested as it says."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

ROOT = pathlib.Path(__file__).parents[3]
README = ROOT / "kernels" / "python" / "README.md"


@pytest.fixture
def tree(tmp_path):
    """A copy of what the README's commands touch."""
    for folder in ("kernels/python", "tests/kernels/python"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tests/kernels/cpu").mkdir()
    shutil.copy(ROOT / "tests/kernels/cpu/implementation_cases.cc", tmp_path / "tests/kernels/cpu")
    return tmp_path


def examples():
    """(file, its text) in the order of the README."""
    text = README.read_text(encoding="utf-8")
    return re.findall(r"[Ss]ave it as `([\w/]+\.py)`.*?```python\n(.*?)```", text, re.DOTALL)


def run(tree, test, name, **environment):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"tests/kernels/python/{test}", "-k", name]
    ended = subprocess.run(command, cwd=tree, env={**os.environ, **environment}, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert ended.returncode == 0, ended.stdout[-3000:]
    assert re.search(r"\b\d+ passed", ended.stdout), ended.stdout[-3000:]
    assert "skipped" not in ended.stdout, ended.stdout[-3000:]


def test_examples_are_there():
    assert [name for name, _ in examples()] == ["kbench_kernels/triton/walking_copy.py", "kbench_kernels/torch/added_copy.py"]


def test_examples_work_as_the_readme_says(tree):
    for name, text in examples():
        (tree / "kernels" / "python" / name).write_text(text, encoding="utf-8")
    run(tree, "test_triton_interpreted.py", "walking", TRITON_INTERPRET="1")
    run(tree, "test_ahead_of_time.py", "walking")
    run(tree, "test_torch_kernels.py", "added")
    readme = README.read_text(encoding="utf-8")
    for said in ("test_triton_interpreted.py -k walking", "test_ahead_of_time.py -k walking", "test_torch_kernels.py -k added"):
        assert said in readme
