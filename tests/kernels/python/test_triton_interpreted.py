"""Every Triton kernel under Triton's interpreter, which runs it on the CPU: right on small and odd problems of every dtype and layout.

Triton decides at its import whether it compiles or interprets, so this file runs itself once more in a process of its own.
"""
import importlib
import os
import pkgutil
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

import kernel_problems as kp  # noqa: E402
from kbench_kernels.implementation import Context, Problem, Unsupported  # noqa: E402

# What the interpreter cannot do, and why.
CANNOT = {
    ("matmul", "bf16"): "its tl.dot multiplies the bits of bf16 as if they were whole numbers",
    ("attention", "bf16"): "its tl.dot multiplies the bits of bf16 as if they were whole numbers",
}
# What a candidate other than the first is tried on.
ONE_SIZE = {
    "null": "n=1", "copy": "n=4097", "sum": "n=300003", "softmax": "rows=5,cols=1000", "chain": "n=4097,depth=8",
    "matmul": "m=144,n=272,k=80,layout=nn", "attention": "b=1,h=2,s=70,d=40,hkv=1,causal",
}
# It takes seconds where a GPU takes microseconds.
MOST_WORK = {"attention": 2.5e6, "matmul": 5e5, "softmax": 1.2e5}
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
CPU = Context(device="cpu", capability=(9, 0), multiprocessors=4)


def cells():
    import kbench_kernels.triton
    for found in pkgutil.iter_modules(kbench_kernels.triton.__path__):
        for implementation in importlib.import_module(f"kbench_kernels.triton.{found.name}").IMPLEMENTATIONS:
            for dtype in implementation.dtypes:
                why = CANNOT.get((implementation.kernel, dtype))
                yield pytest.param(implementation, dtype, id=f"{implementation.kernel}-{implementation.name}-{dtype}",
                                   marks=[pytest.mark.skip(reason=f"the interpreter cannot: {why}")] if why else [])


def mend_interpreter():
    """Triton 3.6's interpreter takes the bounds of a range from arrays of one element by int(), which numpy refuses from 2.4 on."""
    from triton.runtime import interpreter
    patch = interpreter._patch_lang_tensor

    def mended(tensor, scope):
        patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))
    interpreter._patch_lang_tensor = mended


def refused(implementation, problem):
    return implementation.unsupported is not None and implementation.unsupported(problem, CPU)


if not INTERPRETED:
    def test_every_kernel_under_the_interpreter():
        environment = {**os.environ, "TRITON_INTERPRET": "1"}
        ended = subprocess.run([sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", __file__], env=environment,
                               capture_output=True, text=True, stdin=subprocess.DEVNULL)
        print(ended.stdout[-6000:], ended.stderr[-2000:])
        assert ended.returncode == 0, "see what it printed"
else:
    mend_interpreter()

    @pytest.mark.parametrize("implementation, dtype", cells())
    def test_right_under_the_interpreter(implementation, dtype):
        ran = 0
        for problem in kp.problems(implementation.kernel, dtype, MOST_WORK.get(implementation.kernel, 2e6)):
            if not refused(implementation, problem):
                assert kp.complaint(implementation, problem, CPU) == "", problem
                ran += 1
        assert ran > 0, "nothing of it ran"

    @pytest.mark.parametrize("implementation, dtype", cells())
    def test_every_candidate(implementation, dtype):
        problem = Problem(implementation.kernel, dtype, ONE_SIZE[implementation.kernel])
        if why := refused(implementation, problem):
            pytest.fail(f"the size does not suit it: {why}")
        names = implementation.candidates(problem, CPU)
        assert len(set(names)) == len(names) > 0
        for name in names:
            context = Context(device="cpu", capability=(9, 0), multiprocessors=4, candidate=name)
            assert kp.complaint(implementation, problem, context) == "", name

    @pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
    def test_whole_tiles_need_no_mask(layout):
        from kbench_kernels.triton.matmul import IMPLEMENTATIONS as found
        for dtype in ("fp16", "tf32"):
            problem = Problem("matmul", dtype, f"m=256,n=256,k=64,layout={layout}")
            assert found[0].variants(problem, CPU)[0].launches[0].constants["WHOLE"]
            assert kp.complaint(found[0], problem, CPU) == "", problem

    def test_a_candidate_that_is_not_offered_is_said_in_words():
        from kbench_kernels.triton.copy import IMPLEMENTATIONS
        problem = Problem("copy", "fp32", "n=10")
        with pytest.raises(Unsupported, match="offered are"):
            IMPLEMENTATIONS[0].create(problem, kp.operands(problem), Context(device="cpu", candidate="other"))

    def test_partial_sums_left_in_the_output_are_caught():
        from fixture_kernels.triton.stale_sum import IMPLEMENTATIONS
        problem = Problem("sum", "fp32", "n=100003")
        assert "launch 1" in kp.complaint(IMPLEMENTATIONS[0], problem, CPU)
        # Even where whoever measures hands out an output of zeros, a second launch shows it.
        made = kp.operands(problem)
        instance = IMPLEMENTATIONS[0].create(problem, made, CPU)
        made.output.zero_()
        expected = kp.reference(problem, made.inputs)
        instance.launch()
        assert kp.error(problem, made.output, expected) <= kp.tolerance(problem)
        instance.launch()
        assert kp.error(problem, made.output, expected) > 0.9
