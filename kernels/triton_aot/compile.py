"""compile.py --out FOLDER [--kernels sum,softmax] [--capabilities 80,89,90] [--jobs 2]

Compiles Triton's kernels for GPUs that this machine need not have and writes what the C++ runner links:
  index.cc    which binary is right for which problem and how it is launched (index.h)
  cubins.bin  the binaries, one after the other
  code/       the same binaries and their PTX, one file each, to look at
"""
from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import hashlib
import multiprocessing
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "python")]

import emit  # noqa: E402
import plan  # noqa: E402

# What stands for a GPU's own count while compiling: nothing that is compiled depends on it.
MULTIPROCESSORS = 132


@dataclasses.dataclass(frozen=True)
class Task:
    """A class of problems of a line in a dtype for an architecture: all its candidates."""

    line: int
    dtype: str
    shape: str
    condition: str
    capability: tuple[int, int]


def tasks(kernels, capabilities):
    from kbench_kernels.implementation import Context
    found = []
    for place, line in enumerate(plan.LINES):
        if kernels and line.kernel not in kernels:
            continue
        implementation = line.implementation()
        for dtype in implementation.dtypes:
            for capability in capabilities:
                if implementation.dtype_missing(dtype, Context(capability=capability)):
                    continue
                found += [Task(place, dtype, one.shape, one.condition, capability) for one in plan.classes(line.kernel, dtype)]
    return found


def compiled(task: Task) -> list[emit.Variant]:
    from kbench_kernels.implementation import Context, Problem
    line = plan.LINES[task.line]
    problem = Problem(line.kernel, task.dtype, task.shape)
    context = Context(capability=task.capability, multiprocessors=MULTIPROCESSORS)
    variants = []
    for variant in line.implementation().variants(problem, context)[:line.candidates]:
        scratch: dict[str, int] = {}
        conditions = collections.OrderedDict.fromkeys([task.condition, *line.limits, variant.when])
        launches = [_launch(problem, launch, context, scratch, conditions) for launch in variant.launches]
        when = " and ".join(condition for condition in conditions if condition != "1") or "1"
        variants.append(emit.Variant("triton-aot" + line.variant, line.kernel, task.dtype, 10 * task.capability[0] + task.capability[1], variant.name,
                                     when, launches))
    return variants


def _launch(problem, launch, context, scratch, conditions) -> emit.Launch:
    """Adds to `conditions` what the compiler was promised."""
    from kbench_kernels import launches
    inputs = launches.compile_inputs(problem, launch, context)
    arguments = []
    for place, parameter in enumerate(launch.function.arg_names):
        if parameter in launch.constants:
            continue
        argument, kind = launch.arguments[parameter], inputs.signature[parameter]
        if isinstance(argument, launches.Pointer):
            arguments.append(emit.Argument("kOperand", launches.OPERANDS[problem.kernel].index(argument.operand)))
        elif isinstance(argument, launches.Scratch):
            number = scratch.setdefault(argument.name, len(scratch))
            arguments.append(emit.Argument("kScratch", number, emit.without_constants(argument.elements, launch.constants),
                                           {"fp64": 8, "fp32": 4, "i32": 4}[argument.type], argument.zeroed))
        elif isinstance(argument, launches.Extent):
            expression = emit.without_constants(argument.expression, launch.constants)
            arguments.append(emit.Argument({"i32": "kInt32", "i64": "kInt64"}[kind], 0, expression))
            if kind == "i32":
                conditions[f"{emit.atom(expression)} < 2147483648"] = None
            if (place,) in inputs.attrs:
                conditions[f"{emit.atom(expression)} % 16 == 0"] = None
        else:
            raise SystemExit(f"{launch.name}: a tensor descriptor cannot be launched from C++ yet: plan.py lists plain pointer kernels")
    kernel = _compile(launch, inputs, context.capability)
    grid = [emit.without_constants(expression, launch.constants) for expression in launch.grid]
    metadata = kernel.metadata
    return emit.Launch(metadata.name, arguments, grid + ["1"] * (3 - len(grid)), metadata.num_warps, launch.num_stages, metadata.shared,
                       getattr(metadata, "global_scratch_size", 0), _scratch_pointers(metadata), kernel.asm["cubin"], kernel.asm["ptx"])


def _compile(launch, inputs, capability):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    source = ASTSource(launch.function, dict(inputs.signature), dict(inputs.constexprs), dict(inputs.attrs))
    kernel = triton.compile(source, target=GPUTarget("cuda", 10 * capability[0] + capability[1], 32), options=dict(inputs.options))
    for name, plain in (("num_ctas", 1), ("launch_cooperative_grid", False), ("launch_pdl", False), ("profile_scratch_size", 0)):
        if getattr(kernel.metadata, name, plain) != plain:
            raise SystemExit(f"{launch.name}: {name} is {getattr(kernel.metadata, name)}, and the C++ launcher knows only {plain}")
    return kernel


def _scratch_pointers(metadata) -> int:
    """How many parameters Triton appends: one a kind of scratch memory that this version has."""
    return sum(hasattr(metadata, name) for name in ("global_scratch_size", "profile_scratch_size"))


def write(folder: pathlib.Path, variants: list[emit.Variant], version: str) -> None:
    code = folder / "code"
    code.mkdir(parents=True, exist_ok=True)
    offsets: dict[str, int] = {}
    blob = bytearray()
    for launch in (launch for variant in variants for launch in variant.launches):
        key = hashlib.sha256(launch.cubin).hexdigest()[:16]
        if key not in offsets:
            blob += bytes(-len(blob) % 64)
            offsets[key] = len(blob)
            blob += launch.cubin
            (code / f"{launch.function}-{key}.cubin").write_bytes(launch.cubin)
            (code / f"{launch.function}-{key}.ptx").write_text(launch.ptx)
        launch.offset = offsets[key]
    (folder / "cubins.bin").write_bytes(blob)
    (folder / "index.cc").write_text(emit.index(variants, version))
    print(f"triton-aot: {len(variants)} variants, {len(offsets)} binaries, {len(blob) / 2**20:.1f} MiB, Triton {version}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--kernels", default="", help="only these of plan.py's, with commas between")
    parser.add_argument("--capabilities", default=",".join(str(10 * major + minor) for major, minor in plan.CAPABILITIES))
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    # Before Triton is imported, here and in the children. Line tables name paths of this machine and are most of a binary.
    os.environ.setdefault("TRITON_CACHE_DIR", str(options.out.resolve() / "cache"))
    os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
    import triton
    capabilities = [divmod(int(one), 10) for one in options.capabilities.split(",")]
    todo = tasks([kernel for kernel in options.kernels.split(",") if kernel], capabilities)
    with concurrent.futures.ProcessPoolExecutor(max(1, options.jobs), mp_context=multiprocessing.get_context("spawn")) as pool:
        found = [variant for variants in pool.map(compiled, todo, chunksize=8) for variant in variants]
    write(options.out, found, triton.__version__)


if __name__ == "__main__":
    main()
