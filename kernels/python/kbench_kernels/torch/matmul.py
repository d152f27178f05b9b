"""matmul: torch.mm, torch._scaled_mm for fp8 and torch._int_mm for int8, into the given output."""
from kbench_kernels.implementation import Implementation, Instance
from kbench_kernels.math_mode import set_math_mode


def _transposed(matrix):
    """What has one row or column is the same in memory either way; its strides then say so, which a transposed view's do not: torch._int_mm of 2.11
    multiplies wrongly on a CPU where both are 1."""
    rows, columns = matrix.shape
    return matrix.view(columns, rows) if 1 in (rows, columns) else matrix.t()


def create(problem, operands, context):
    import torch
    set_math_mode(problem.dtype)
    (a, b), c = operands.inputs, operands.output
    a = _transposed(a) if problem.layout[0] == "t" else a
    b = _transposed(b) if problem.layout[1] == "t" else b
    if problem.dtype == "int8":
        def launch():
            torch._int_mm(a, b, out=c)
    elif problem.dtype == "fp8e4m3":
        one = torch.ones((), dtype=torch.float32, device=a.device)

        def launch():
            torch._scaled_mm(a, b, one, one, out_dtype=c.dtype, use_fast_accum=False, out=c)
    else:
        def launch():
            torch.mm(a, b, out=c)
    return Instance(launch)


def unsupported(problem, context):
    m, n, k = (problem.extents[name] for name in "mnk")
    if problem.dtype == "fp8e4m3":
        if problem.layout != "nt":
            return f"torch._scaled_mm takes fp8 only in layout nt, both operands contiguous along k; this is {problem.layout}"
        if n % 16 or k % 16:
            return f"torch._scaled_mm takes fp8 only with n and k that are multiples of 16; they are {n} and {k}"
    if problem.dtype == "int8" and context.device == "cuda":
        if problem.layout != "nt":
            return f"torch._int_mm has kernels only for layout nt, both operands contiguous along k; this is {problem.layout}"
        if m <= 16 or n % 8 or k % 8:
            return f"torch._int_mm needs m > 16 and n and k that are multiples of 8; they are {m}, {n} and {k}"
    return None


def dtype_missing(dtype, context):
    if dtype == "tf32" and context.device == "cpu":
        return "processors have no TF32"
    needed = {"tf32": (8, 0), "bf16": (8, 0), "fp8e4m3": (8, 9), "int8": (7, 5)}.get(dtype, (0, 0))
    if context.device == "cuda" and context.capability < needed:
        return f"{dtype} needs compute capability {needed[0]}.{needed[1]} and up; this GPU has {context.capability[0]}.{context.capability[1]}"
    return None


IMPLEMENTATIONS = [Implementation("torch", "matmul", ["fp64", "fp32", "tf32", "fp16", "bf16", "fp8e4m3", "int8"],
                                  "torch.mm on transposed views; torch._scaled_mm for fp8, torch._int_mm for int8", create, devices=["cuda", "cpu"],
                                  unsupported=unsupported, dtype_missing=dtype_missing)]
