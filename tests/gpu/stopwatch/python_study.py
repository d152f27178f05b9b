"""The torch and Triton cells that python_stopwatch.py compares. How many kernels a launch of theirs has is for the profiler to see."""
from stopwatch import study


class PythonCell(study.Cell):
    """One of several implementations of a problem."""

    @property
    def key(self):
        return "_".join([super().key, self.implementation.replace("/", "_")])


PROBLEMS = [
    ("sum", "fp32", "2^28", True), ("softmax", "fp32", "4096x4096", True), ("softmax", "fp16", "32768x4096", True),
    ("matmul", "fp16", "2048", False), ("matmul", "tf32", "2048", False), ("matmul", "fp16", "4096", False), ("chain", "fp32", "64Mi", True),
]
CELLS = [PythonCell(kernel, dtype, size, name, memory_bound) for kernel, dtype, size, memory_bound in PROBLEMS for name in ("torch", "triton")]
CELLS += [
    PythonCell("chain", "fp32", "64Mi", "torch/compile", True),
    PythonCell("attention", "fp16", "b=1,h=16,s=4096,d=64", "triton", False),
    PythonCell("attention", "fp16", "b=1,h=16,s=4096,d=64", "torch/flash", False),
    PythonCell("sum", "fp32", "2^28", "triton/two-launches", True),
]


def cells_of(keys):
    return study.cells_of(keys, CELLS)
