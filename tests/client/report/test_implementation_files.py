"""client/report/implementation_files.txt names every implementation there is, with the file that declares it."""
import ast
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
KERNELS = ROOT / "kernels"
PYTHON = KERNELS / "python" / "kbench_kernels"


def table():
    """{(kernel, implementation): [file]}"""
    found = {}
    for line in (ROOT / "client/report/implementation_files.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            kernel, name, *files = line.split()
            assert (kernel, name) not in found, f"{kernel} {name} stands twice"
            found[kernel, name] = files
    return found


def without_comments(path):
    return re.sub(r"//.*", "", path.read_text())


def declared_in_cpp():
    """{(kernel, implementation): file}, from the `name` and `kernel` of each Implementation."""
    found = {}
    for path in sorted(path for folder in ("cpu", "cublas", "cuda", "cudnn") for path in (KERNELS / folder).glob("*.c[cu]")):
        text, file = without_comments(path), path.relative_to(ROOT).as_posix()
        named = re.findall(r'\bname\s*=\s*(?:\w+\.family\s*=\s*)?"([^"]+)"', text)
        kernels = set(re.findall(r'\bkernel\s*=\s*"([^"]+)"', text))
        for kernel in re.findall(r'\bNaiveImplementation\(\s*"(\w+)"', text):
            found[kernel, path.parent.name + "/naive"] = file
        if path.name in ("naive.cc",) or "selftest" in path.name:
            continue
        # One file is of one kernel, whose name it ends in.
        kernel = kernels.pop() if kernels else path.stem.rsplit("_", 1)[-1]
        for name in named:
            found[kernel, name] = file
    return found


def strings(node):
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def declared_in_python():
    found = {}
    for path in sorted(PYTHON.glob("t*/*.py")):
        tree = ast.parse(path.read_text())
        for call in ast.walk(tree):
            called = getattr(getattr(call, "func", None), "id", "")
            if not isinstance(call, ast.Call) or called not in ("Implementation", "implementation"):
                continue
            kernel = strings(call.args[1])
            name = strings(call.args[0])
            names = [name] if name else [f"torch/{key}" for key in backends(tree)]  # attention: one a backend
            for one in names:
                found[kernel, one] = path.relative_to(ROOT).as_posix()
    return found


def backends(tree):
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_BACKENDS":
            return [strings(key) for key in node.value.keys]
    raise AssertionError("_BACKENDS is not there any more")


def ahead_of_time(python):
    """Those of kernels/triton_aot/table.cc, which are compiled from Triton's files."""
    lines = re.findall(r'\{"(triton-aot[^"]*)", "(\w+)", \d', (KERNELS / "triton_aot/table.cc").read_text())
    assert lines
    return {(kernel, name): python[kernel, name.replace("triton-aot", "triton")] for name, kernel in lines}


def test_every_implementation_is_listed_with_the_file_that_declares_it():
    python = declared_in_python()
    declared = declared_in_cpp() | python | ahead_of_time(python)
    listed = table()
    assert len(declared) > 50
    assert sorted(set(declared) - set(listed)) == [], "not listed: add them to client/report/implementation_files.txt"
    assert sorted(set(listed) - set(declared)) == [], "listed, and nothing declares them"
    for key, file in declared.items():
        assert file in listed[key], f"{key}: {file} declares it, listed are {listed[key]}"


def test_listed_files_exist():
    for key, files in table().items():
        assert files and all((ROOT / file).is_file() for file in files), (key, files)
