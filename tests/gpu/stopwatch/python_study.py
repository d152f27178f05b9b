"""The torch and Triton cells that python_stopwatch.py compares."""
import dataclasses

from stopwatch.study import Cell


@dataclasses.dataclass(frozen=True)
class PythonCell(Cell):
    kernels: int | None = 1  # a launch's; None: whatever torch makes of it

    @property
    def key(self):
        return "_".join([super().key, self.implementation.replace("/", "_")])


SINGLE = [
    ("sum", "fp32", "2^28", True), ("softmax", "fp32", "4096x4096", True), ("softmax", "fp16", "32768x4096", True),
    ("matmul", "fp16", "2048", False), ("matmul", "tf32", "2048", False), ("matmul", "fp16", "4096", False), ("chain", "fp32", "64Mi", True),
]
CELLS = [PythonCell(kernel, dtype, size, name, memory_bound, None if (kernel, name) == ("chain", "torch") else 1)
         for kernel, dtype, size, memory_bound in SINGLE for name in ("torch", "triton")]
CELLS += [
    PythonCell("chain", "fp32", "64Mi", "torch/compile", True),
    PythonCell("attention", "fp16", "b=1,h=16,s=4096,d=64", "triton", False),
    PythonCell("attention", "fp16", "b=1,h=16,s=4096,d=64", "torch/flash", False, None),
    PythonCell("sum", "fp32", "2^28", "triton/two-launches", True, None),
]


def cells_of(keys):
    """The cells with these keys; all of them for none."""
    known = {cell.key: cell for cell in CELLS}
    for key in keys:
        if key not in known:
            raise SystemExit(f"no cell is called '{key}': there are {', '.join(known)}")
    return [known[key] for key in keys] or CELLS
