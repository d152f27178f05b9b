"""Every Triton function compiles where there is no GPU, from what its file says of it: signature, constants, warps, stages."""
import importlib
import os
import pathlib
import pkgutil
import subprocess
import sys

import pytest

pytest.importorskip("torch")
triton = pytest.importorskip("triton")
if os.environ.get("TRITON_INTERPRET") == "1":
    pytest.skip("the interpreter compiles nothing", allow_module_level=True)

import kernel_problems as kp  # noqa: E402
import kbench_kernels.triton  # noqa: E402
from kbench_kernels import launches  # noqa: E402
from kbench_kernels.expressions import evaluate  # noqa: E402
from kbench_kernels.implementation import Context, Problem  # noqa: E402

IMPLEMENTATIONS = [implementation for found in pkgutil.iter_modules(kbench_kernels.triton.__path__)
                   for implementation in importlib.import_module(f"kbench_kernels.triton.{found.name}").IMPLEMENTATIONS]
CELLS = [pytest.param(implementation, dtype, id=f"{implementation.kernel}-{implementation.name}-{dtype}")
         for implementation in IMPLEMENTATIONS for dtype in implementation.dtypes]
PROBLEMS = {
    "null": ["n=1"], "copy": ["n=4096"], "sum": ["n=1048576"], "softmax": ["rows=64,cols=1024", "rows=64,cols=65536"],
    "chain": ["n=4096,depth=30"], "matmul": ["m=512,n=512,k=512,layout=nn", "m=48,n=48,k=48,layout=tt"],
    "attention": ["b=1,h=4,s=1000,d=64,hkv=2,causal", "b=1,h=2,s=512,d=128", "b=1,h=1,s=100,d=256"],
}


def context(capability):
    return Context(device="cuda", capability=capability, multiprocessors=132)


def compiled(problem, launch, capability, ones=()):
    """`ones`: arguments that are 1, which Python's launch path makes constants."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    inputs = launches.compile_inputs(problem, launch, context(capability))
    signature = {name: "constexpr" if name in ones else kind for name, kind in inputs.signature.items()}
    source = ASTSource(launch.function, signature, {**inputs.constexprs, **{name: 1 for name in ones}}, inputs.attrs)
    return triton.compile(source, target=GPUTarget("cuda", 10 * capability[0] + capability[1], 32), options=dict(inputs.options))


@pytest.mark.parametrize("implementation, dtype", CELLS)
def test_first_guess_compiles_for_each_architecture(implementation, dtype):
    tried = 0
    for shape in PROBLEMS[implementation.kernel]:
        problem = Problem(implementation.kernel, dtype, shape)
        for capability in ((8, 0), (8, 9), (9, 0)):
            unsupported = implementation.unsupported and implementation.unsupported(problem, context(capability))
            if unsupported or implementation.dtype_missing(dtype, context(capability)):
                continue
            first = implementation.variants(problem, context(capability))[0]
            assert evaluate(first.when, problem.extents) == 1
            for launch in first.launches:
                kernel = compiled(problem, launch, capability)
                assert kernel.metadata.name == launch.name
                assert len(kernel.asm["cubin"]) > 0
                assert kernel.metadata.shared <= launches.shared_memory(capability), "the first guess does not run there"
                assert all(extent >= 1 for extent in launches.grid_of(problem, launch, context(capability)))
                tried += 1
    assert tried > 0


@pytest.mark.parametrize("implementation, dtype", CELLS)
def test_arguments_of_one_compile(implementation, dtype):
    shapes = {"sum": "n=1", "copy": "n=1", "chain": "n=1,depth=1", "softmax": "rows=1,cols=1", "matmul": "m=1,n=1,k=1,layout=nt",
              "attention": "b=1,h=1,s=1,d=64", "null": "n=1"}
    problem = Problem(implementation.kernel, dtype, shapes[implementation.kernel])
    if implementation.unsupported and implementation.unsupported(problem, context((9, 0))):
        pytest.skip("the implementation does not take such extents")
    for launch in implementation.variants(problem, context((9, 0)))[0].launches:
        values = launches.names_of(problem, launch, context((9, 0)))
        ones = [name for name, argument in launch.arguments.items()
                if isinstance(argument, launches.Extent) and evaluate(argument.expression, values) == 1]
        compiled(problem, launch, (9, 0), ones)


def test_hopper_multiplies_tf32_without_transposing_words():
    """What the exchange of operands is for: the copies to shared memory have 16 bytes, and the products are Hopper's own."""
    from kbench_kernels.triton.matmul import IMPLEMENTATIONS as found
    matmul = found[0]
    problem = Problem("matmul", "tf32", "m=4096,n=4096,k=4096,layout=nn")
    ptx = compiled(problem, matmul.variants(problem, context((9, 0)))[0].launches[0], (9, 0)).asm["ptx"]
    assert "wgmma.mma_async" in ptx
    assert "cp.async.ca.shared.global" not in ptx


def test_declared_arguments_are_the_functions():
    for implementation in IMPLEMENTATIONS:
        for dtype in implementation.dtypes:
            for problem in kp.problems(implementation.kernel, dtype):
                if implementation.unsupported and implementation.unsupported(problem, context((9, 0))):
                    continue
                for variant in implementation.variants(problem, context((9, 0))):
                    for launch in variant.launches:
                        declared = [name for name in launch.function.arg_names if name not in launch.constants]
                        assert declared == list(launch.arguments), variant
                        assert evaluate(variant.when, launches.names_of(problem, launch, context((9, 0)))) == 1


def test_files_need_no_torch():
    """Whoever compiles ahead of time has none."""
    names = [found.name for found in pkgutil.iter_modules(kbench_kernels.triton.__path__)]
    program = ("import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module('kbench_kernels.triton.' + name)\n"
               "assert 'torch' not in sys.modules")
    folder = str(pathlib.Path(kbench_kernels.__path__[0]).parent)
    ended = subprocess.run([sys.executable, "-c", program, *names], env={**os.environ, "PYTHONPATH": folder}, capture_output=True, text=True,
                           stdin=subprocess.DEVNULL)
    assert ended.returncode == 0, ended.stderr
