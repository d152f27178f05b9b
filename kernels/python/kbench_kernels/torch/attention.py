"""attention: scaled_dot_product_attention, with each of torch's backends as an implementation of its own."""
import warnings

from kbench_kernels.implementation import Implementation, Instance, Unsupported
from kbench_kernels.math_mode import set_math_mode

# backend: (its name in torch, rung, dtypes, devices, idea)
_BACKENDS = {
    "cudnn": ("CUDNN_ATTENTION", 3, ["fp16", "bf16"], ["cuda"], "cuDNN's fused attention"),
    "flash": ("FLASH_ATTENTION", 2, ["fp32", "fp16", "bf16"], ["cuda", "cpu"], "FlashAttention-2"),
    "efficient": ("EFFICIENT_ATTENTION", 1, ["fp32", "fp16", "bf16"], ["cuda"], "memory-efficient attention"),
    "math": ("MATH", 0, ["fp32", "tf32", "fp16", "bf16"], ["cuda", "cpu"], "the two products and the softmax one after the other"),
}


class _Enabled:
    """The one backend that is enabled. It stays so between launches: to enter and leave torch's context manager at each of them would be timed."""

    def __init__(self):
        self.name, self.manager = "", None

    def only(self, name):
        if name == self.name:
            return
        from torch.nn.attention import SDPBackend, sdpa_kernel
        if self.manager is not None:
            self.manager.__exit__(None, None, None)
        self.name, self.manager = name, sdpa_kernel(getattr(SDPBackend, name))
        self.manager.__enter__()


_enabled = _Enabled()


def _grouped(tensor, b, hkv, group):
    """[b, hkv, s, d] as [b hkv, group, s, d] without a copy: the heads of a group are one in memory. enable_gqa came with torch 2.5, and not for
    every backend."""
    s, d = tensor.shape[2:]
    return tensor.view(b * hkv, 1, s, d).expand(b * hkv, group, s, d)


def _create(backend):
    def create(problem, operands, context):
        from torch.nn.functional import scaled_dot_product_attention
        set_math_mode(problem.dtype)
        (q, k, v), o = operands.inputs, operands.output
        causal, only = problem.causal, _enabled.only

        def attention(q, k, v, **others):
            def attend():
                only(backend)
                return scaled_dot_product_attention(q, k, v, is_causal=causal, **others)
            return attend
        b, h, s, d = q.shape
        hkv = k.shape[1]
        if hkv == h:
            ways = [("", attention(q, k, v))]
        else:
            group = h // hkv
            views = attention(q.view(b * hkv, group, s, d), _grouped(k, b, hkv, group), _grouped(v, b, hkv, group))
            ways = [("views of the key heads", views), ("enable_gqa", attention(q, k, v, enable_gqa=True))]
        how, attend = _first_that_runs(ways, backend, problem)
        o = o.view(b * hkv, h // hkv, s, d) if how.startswith("views") else o

        def launch():
            o.copy_(attend())
        return Instance(launch, {"backend": backend.lower(), **({"grouped_heads": how} if how else {})})
    return create


# What torch and cuDNN say of a problem that a backend does not take; any other error is one.
_REFUSALS = ("No available kernel", "No viable backend", "cuDNN Frontend error", "unexpected keyword argument 'enable_gqa'")


def _first_that_runs(ways, backend, problem):
    """Only a call tells whether a backend takes a problem; torch says why not in warnings. Nothing of it reaches the output."""
    refused = []
    for how, attend in ways:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                attend()
                return how, attend
            except (RuntimeError, TypeError) as error:
                if not any(words in str(error) for words in _REFUSALS):
                    raise
                reasons = [str(warning.message).split(" (Triggered internally")[0] for warning in said]
                telling = [reason for reason in reasons if "not used because" not in reason and "has been runtime disabled" not in reason]
                refused += telling or [str(error)]
    raise Unsupported(f"torch's backend {backend} does not take {problem.dtype} {problem.shape}: {' '.join(refused)}")


def _dtype_missing(name):
    def dtype_missing(dtype, context):
        if context.device == "cpu":
            return "processors have no TF32" if dtype == "tf32" else None
        if name == "flash" and dtype == "fp32":
            return "FlashAttention on a GPU takes fp16 and bf16 alone"
        needed = (8, 0) if name in ("cudnn", "flash") or dtype in ("tf32", "bf16") else (0, 0)
        if context.capability < needed:
            return f"this needs compute capability 8.0 and up; this GPU has {context.capability[0]}.{context.capability[1]}"
        return None
    return dtype_missing


IMPLEMENTATIONS = [
    Implementation(f"torch/{name}", "attention", dtypes, f"scaled_dot_product_attention by {idea}; torch copies its result to the output",
                   _create(backend), devices=devices, rung=rung, dtype_missing=_dtype_missing(name))
    for name, (backend, rung, dtypes, devices, idea) in _BACKENDS.items()
]
