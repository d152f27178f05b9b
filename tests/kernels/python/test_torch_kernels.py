"""Every torch implementation on the CPU, on small and odd problems of every dtype and layout."""
import importlib
import pkgutil

import pytest

torch = pytest.importorskip("torch")

import kernel_problems as kp  # noqa: E402
import kbench_kernels.torch  # noqa: E402
from kbench_kernels.implementation import Context, Problem, Unsupported  # noqa: E402

IMPLEMENTATIONS = [implementation for found in pkgutil.iter_modules(kbench_kernels.torch.__path__)
                   for implementation in importlib.import_module(f"kbench_kernels.torch.{found.name}").IMPLEMENTATIONS]
CPU = Context(device="cpu", threads=1)
CELLS = [(implementation, dtype) for implementation in IMPLEMENTATIONS if "cpu" in implementation.devices for dtype in implementation.dtypes
         if implementation.dtype_missing is None or implementation.dtype_missing(dtype, CPU) is None]
NAMES = [f"{implementation.kernel}-{implementation.name}-{dtype}" for implementation, dtype in CELLS]


@pytest.mark.parametrize("implementation, dtype", CELLS, ids=NAMES)
def test_right_on_the_cpu(implementation, dtype):
    # torch.compile compiles each problem anew.
    problems = kp.problems(implementation.kernel, dtype, most_work=5e7)
    if implementation.name == "torch/compile":
        problems = [problem for problem in problems if problem.extents["n"] in (1, 17, 1001, 4097, 1025)]
    ran = 0
    for problem in problems:
        if implementation.unsupported is not None and (why := implementation.unsupported(problem, CPU)):
            assert len(why) > 20, problem
            continue
        try:
            assert kp.complaint(implementation, problem, CPU) == "", problem
            ran += 1
        except Unsupported as error:
            assert len(str(error)) > 20, problem
    assert ran > 0, "nothing of it ran"


def test_each_file_lists_implementations_of_its_family():
    assert {implementation.family for implementation in IMPLEMENTATIONS} == {"torch"}
    assert {implementation.kernel for implementation in IMPLEMENTATIONS} == set(kp.DTYPES)
    for implementation in IMPLEMENTATIONS:
        assert set(implementation.dtypes) <= set(kp.DTYPES[implementation.kernel]), implementation.name
        assert implementation.summary
    names = [(implementation.kernel, implementation.name) for implementation in IMPLEMENTATIONS]
    assert len(set(names)) == len(names)


def test_a_compiled_chain_is_never_eager_in_silence():
    """More shapes than torch compiles of one function before it gives up on it."""
    compiled = next(implementation for implementation in IMPLEMENTATIONS if implementation.name == "torch/compile")
    for n in range(1, 13):
        problem = Problem("chain", "fp32", f"n={n},depth=2")
        made = kp.operands(problem)
        instance = compiled.create(problem, made, CPU)
        assert instance.compile_seconds > 0
        graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
        instance.launch()
        assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == graphs, "a launch compiled"
        assert kp.error(problem, made.output, kp.reference(problem, made.inputs)) <= kp.tolerance(problem)


def test_no_compiler_is_said_in_words(monkeypatch):
    from torch._inductor import config
    monkeypatch.setattr(config.cpp, "cxx", ("no-such-compiler",))
    torch._dynamo.reset()
    compiled = next(implementation for implementation in IMPLEMENTATIONS if implementation.name == "torch/compile")
    problem = Problem("chain", "fp32", "n=12345,depth=7")
    with pytest.raises(Unsupported, match="install g\\+\\+"):
        compiled.create(problem, kp.operands(problem), CPU)


def test_tf32_is_set_by_the_dtype():
    matmul = next(implementation for implementation in IMPLEMENTATIONS if implementation.kernel == "matmul")
    for dtype, on in (("tf32", True), ("fp32", False), ("fp16", False)):
        problem = Problem("matmul", dtype, "m=16,n=16,k=16,layout=nn")
        matmul.create(problem, kp.operands(problem), CPU)
        assert torch.backends.cuda.matmul.allow_tf32 is on
        assert torch.backends.cudnn.allow_tf32 is on


def test_attention_says_what_no_backend_takes():
    """What it was refused for, in torch's own words; other errors stay what they are."""
    from kbench_kernels.torch import attention
    problem = Problem("attention", "fp16", "b=1,h=1,s=1,d=1")

    def raises(error):
        def attend():
            raise error
        return [("", attend)]
    with pytest.raises(Unsupported, match="CUDNN_ATTENTION does not take fp16 b=1.*: No available kernel"):
        attention._first_that_runs(raises(RuntimeError("No available kernel. Aborting execution.")), "CUDNN_ATTENTION", problem)
    with pytest.raises(RuntimeError, match="illegal memory"):
        attention._first_that_runs(raises(RuntimeError("an illegal memory access")), "CUDNN_ATTENTION", problem)
    assert attention._first_that_runs(raises(RuntimeError("No viable backend")) + [("second", lambda: None)], "MATH", problem)[0] == "second"


def test_gpu_rules_are_words():
    matmul = next(implementation for implementation in IMPLEMENTATIONS if implementation.kernel == "matmul")
    gpu = Context(device="cuda", capability=(8, 0))
    assert "8.9" in matmul.dtype_missing("fp8e4m3", gpu)
    assert matmul.dtype_missing("fp16", gpu) is None
    assert "layout nt" in matmul.unsupported(Problem("matmul", "fp8e4m3", "m=16,n=16,k=16,layout=nn"), gpu)
    assert "m > 16" in matmul.unsupported(Problem("matmul", "int8", "m=16,n=16,k=16,layout=nt"), gpu)
    assert matmul.unsupported(Problem("matmul", "int8", "m=17,n=16,k=16,layout=nt"), gpu) is None
