"""null: what a launch through Triton costs."""
import triton

from kbench_kernels.launches import Launch, Variant, implementation


@triton.jit
def null_kernel():
    pass


def variants(problem, context):
    return [Variant("warps=1", [Launch(null_kernel, {}, {}, ("1",), num_warps=1)])]


IMPLEMENTATIONS = [implementation("triton", "null", ["fp32"], "an empty kernel of one warp, launched through Triton's Python path", variants)]
