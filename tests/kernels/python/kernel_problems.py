"""Small and odd problems of every kernel, their operands as torch tensors, fp64 references and the catalog's tolerances: what the tests here and the
run on a GPU share. What kernels, layouts, norms and tolerances are stands in kernels/catalog/*.cc; it is written down once more for tests that have
no engine at hand.
"""
import itertools
import math
import pathlib
import re

import torch

from kbench_kernels.implementation import Operands, Problem

CASES = pathlib.Path(__file__).parents[1] / "cpu" / "implementation_cases.cc"
DTYPES = {
    "null": ["fp32"],
    "copy": ["fp64", "fp32", "fp16", "bf16", "int8"],
    "sum": ["fp64", "fp32", "fp16", "bf16"],
    "softmax": ["fp64", "fp32", "fp16", "bf16"],
    "matmul": ["fp64", "fp32", "tf32", "fp16", "bf16", "fp8e4m3", "int8"],
    "attention": ["fp32", "tf32", "fp16", "bf16"],
    "chain": ["fp32", "fp16", "bf16"],
}
STORAGE = {"fp64": torch.float64, "fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16,
           "fp8e4m3": torch.float8_e4m3fn, "int8": torch.int8}
_EXTENTS = {"null": ["n"], "copy": ["n"], "sum": ["n"], "softmax": ["rows", "cols"], "matmul": ["m", "n", "k"], "attention": ["b", "h", "s", "d"],
            "chain": ["n", "depth"]}
_ROUNDOFF = {"fp64": 2.0**-53, "fp32": 2.0**-24, "tf32": 2.0**-24, "fp16": 2.0**-11, "bf16": 2.0**-8, "fp8e4m3": 2.0**-8, "int8": 0}
_TF32_ROUNDOFF = 2.0**-11


def canonical(kernel, size, layout="nn"):
    """A size as typed ("17x33x1", "n=17,depth=3", "b=1,h=2,...,causal") in the catalog's canonical form."""
    words = size.split(",")
    plain = [extent for word in words if "=" not in word and word[0].isdigit() for extent in word.split("x")]
    extents = dict(zip(_EXTENTS[kernel], plain)) | dict(word.split("=") for word in words if "=" in word)
    if kernel == "chain":
        extents.setdefault("depth", "30")
    if kernel == "matmul":
        extents.setdefault("layout", layout)
    return ",".join([f"{name}={extent}" for name, extent in extents.items()] + ["causal"] * ("causal" in words))


def listed_sizes(kernel):
    """The sizes that the C++ implementations are tested with."""
    text = CASES.read_text(encoding="utf-8")
    rows = re.findall(r'\{"(\w+)",\s*\{((?:"[^"]*"(?:,\s*)?)+)\}\}', text)
    return next(re.findall(r'"([^"]*)"', sizes) for name, sizes in rows if name == kernel)


def sizes(kernel):
    """The same sizes in the kernel's other forms too."""
    found = listed_sizes(kernel)
    if kernel == "matmul":
        odd = ["m=1,n=1,k=1", "m=17,n=33,k=65", "m=129,n=64,k=31", "m=1,n=40,k=300", "m=264,n=136,k=72"]
        aligned = ["m=20,n=36,k=44", "m=33,n=48,k=80", "m=128,n=272,k=144", "m=256,n=256,k=256"]
        found = found + [f"{size},layout={layout}" for size in odd for layout in ("nt", "tn", "tt")]
        found += [f"{size},layout={layout}" for size in aligned for layout in ("nn", "nt", "tn", "tt")]
    if kernel == "attention":
        found = found + [size + ",causal" for size in found]
        found += ["b=2,h=4,s=65,d=32,hkv=2", "b=2,h=6,s=67,d=64,hkv=2,causal", "b=1,h=3,s=20,d=16,hkv=1", "b=1,h=2,s=1,d=64",
                  "b=1,h=4,s=129,d=72,hkv=2,causal", "b=2,h=4,s=193,d=128,hkv=2"]
    return found


def problems(kernel, dtype, most_work=math.inf):
    layout = "nt" if dtype in ("fp8e4m3", "int8") else "nn"
    found = [Problem(kernel, dtype, canonical(kernel, size, layout)) for size in sizes(kernel)]
    return [problem for problem in found if work(problem) <= most_work]


def work(problem):
    e = problem.extents
    if problem.kernel == "attention":
        return 4 * e["b"] * e["h"] * e["s"] ** 2 * e["d"]
    return math.prod(e.values())


def storage_of_output(problem):
    if problem.kernel == "sum":
        return torch.float64 if problem.dtype == "fp64" else torch.float32
    if problem.kernel == "matmul":
        return {"fp8e4m3": torch.bfloat16, "int8": torch.int32}.get(problem.dtype, STORAGE[problem.dtype])
    return STORAGE[problem.dtype]


def shapes(problem):
    """Of the operands, the output last."""
    e = problem.extents
    if problem.kernel == "null":
        return []
    if problem.kernel == "softmax":
        return [(e["rows"], e["cols"])] * 2
    if problem.kernel == "matmul":
        a, b = (e["m"], e["k"]), (e["k"], e["n"])
        return [a[::-1] if problem.layout[0] == "t" else a, b[::-1] if problem.layout[1] == "t" else b, (e["m"], e["n"])]
    if problem.kernel == "attention":
        q, k = (e["b"], e["h"], e["s"], e["d"]), (e["b"], e.get("hkv", e["h"]), e["s"], e["d"])
        return [q, k, k, q]
    return [(e["n"],), (1,) if problem.kernel == "sum" else (e["n"],)]


def _uniform(shape, problem, device, generator):
    if problem.dtype == "int8":
        return torch.randint(-128, 128, shape, dtype=torch.int8, device=device, generator=generator)
    wide = torch.float64 if problem.dtype == "fp64" else torch.float32
    values = torch.rand(shape, dtype=wide, device=device, generator=generator)
    return (values if problem.kernel == "sum" else 2 * values - 1).to(STORAGE[problem.dtype])


def poison(tensor):
    """0xff in every byte: NaN in every floating type."""
    tensor.view(torch.uint8).fill_(0xFF)


def operands(problem, device="cpu", seed=1):
    generator = torch.Generator(device=device).manual_seed(seed)
    *inputs, output = shapes(problem) or [None]
    if output is None:
        return Operands([], None)
    made = Operands([_uniform(shape, problem, device, generator) for shape in inputs],
                    torch.empty(output, dtype=storage_of_output(problem), device=device))
    poison(made.output)
    return made


def reference(problem, inputs):
    """In fp64, which holds every sum of products of int8 exactly."""
    wide = [tensor.to(torch.float32).to(torch.float64) if problem.dtype == "fp8e4m3" else tensor.to(torch.float64) for tensor in inputs]
    if problem.kernel == "copy":
        return wide[0]
    if problem.kernel == "sum":
        return wide[0].sum().view(1)
    if problem.kernel == "softmax":
        return torch.softmax(wide[0], dim=1)
    if problem.kernel == "chain":
        return _chain(wide[0], problem.extents["depth"])
    if problem.kernel == "matmul":
        a, b = (tensor.t() if letter == "t" else tensor for tensor, letter in zip(wide, problem.layout))
        return a @ b
    return _attention(*wide, problem.causal)


def _chain(y, depth):
    for operation in itertools.islice(itertools.cycle(range(5)), depth):
        y = [lambda: y * 1.25, lambda: y + 0.375, lambda: torch.maximum(y, y * 0.75), lambda: y * 0.875, lambda: 0.5 - y][operation]()
    return y


def _attention(q, k, v, causal):
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[3])
    if causal:
        s = q.shape[2]
        scores = scores.masked_fill(torch.ones(s, s, dtype=torch.bool, device=q.device).triu(1), -math.inf)
    return torch.softmax(scores, dim=3) @ v


def error(problem, output, expected):
    """In the catalog's norm; infinite where the output holds what is no number."""
    difference = (output.to(torch.float64) - expected).abs()
    if not bool(torch.isfinite(difference).all()):
        return math.inf
    if problem.kernel in ("softmax", "attention"):
        return float((difference.amax(-1) / expected.abs().amax(-1).clamp_min(1e-300)).max())
    if problem.kernel == "chain":  # a few elements may all err more than most do, and may all be small
        count = difference.numel()
        return float(difference.norm()) / math.sqrt(max(count, 16)) / max(0.6, float(expected.norm()) / math.sqrt(count))
    if problem.kernel in ("copy", "sum") or problem.dtype == "int8":
        return float((difference / expected.abs().clamp_min(1e-300)).max())
    return float(difference.norm() / expected.norm().clamp_min(1e-300))


def tolerance(problem):
    e, dtype = problem.extents, problem.dtype
    out, accumulate = _ROUNDOFF[dtype], 2.0**-53 if dtype == "fp64" else 2.0**-24
    if problem.kernel == "copy" or dtype == "int8":
        return 0.0
    if problem.kernel == "sum":
        return accumulate * (8 + 4 * math.ceil(math.log2(e["n"])))
    if problem.kernel == "softmax":
        return 2.05 * out + accumulate * (16 + math.sqrt(e["cols"])) + (2.0**-25 * e["cols"] / 2.3 if dtype == "fp16" else 0)
    if problem.kernel == "chain":
        return out * (1 + 0.45 * math.sqrt(e["depth"]))
    if problem.kernel == "matmul":
        inputs = {"tf32": 2 * _TF32_ROUNDOFF, "fp8e4m3": 2.0**-12}.get(dtype, 0)
        return out + inputs + accumulate * (16 + math.sqrt(e["k"]) + (0 if dtype in ("fp64", "fp32") else e["k"] / 32))
    inputs = 6 * _TF32_ROUNDOFF if dtype == "tf32" else 0
    return 4 * out + inputs + accumulate * (32 + 4 * math.sqrt(e["s"]) + (0 if dtype == "fp32" else e["s"] / 32))


def complaint(implementation, problem, context, seed=1):
    """Runs it three times, on fresh inputs the last time. What is wrong with the outputs or with what happened to the inputs; empty where nothing
    is."""
    made = operands(problem, context.device, seed)
    instance = implementation.create(problem, made, context)
    if made.output is None:
        instance.launch()
        return ""
    if not bool((made.output.view(torch.uint8) == 0xFF).all()):
        return "create wrote to the output"
    expected = reference(problem, made.inputs)
    for turn in range(3):
        if turn == 2:
            for old, new in zip(made.inputs, operands(problem, context.device, seed + 1).inputs):
                old.copy_(new)
            expected = reference(problem, made.inputs)
        before = [tensor.clone() for tensor in made.inputs]
        poison(made.output)
        instance.launch()
        if any(not torch.equal(tensor.view(torch.uint8), old.view(torch.uint8)) for tensor, old in zip(made.inputs, before)):
            return f"launch {turn + 1} wrote to an input"
        off, allowed = error(problem, made.output, expected), tolerance(problem)
        if not off <= allowed:
            return f"launch {turn + 1}: error {off:.3g}, tolerance {allowed:.3g}"
    return ""
