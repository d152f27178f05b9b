"""The engine's memory as torch tensors, without a copy. The memory stays the engine's: no tensor may be used after its case."""
import ctypes
import math

# dtype of the catalog: (torch's, NumPy's letters for the same bits where it has none of its own, bytes)
DTYPES = {
    "fp64": ("float64", "<f8", 8),
    "fp32": ("float32", "<f4", 4),
    "fp16": ("float16", "<f2", 2),
    "bf16": ("bfloat16", "<i2", 2),
    "fp8e4m3": ("float8_e4m3fn", "|i1", 1),
    "int8": ("int8", "|i1", 1),
    "int32": ("int32", "<i4", 4),
}


class _CudaArray:
    """Memory as https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html describes it."""

    def __init__(self, address, letters, extents):
        self.__cuda_array_interface__ = {"shape": extents, "typestr": letters, "data": (address, False), "version": 2}


def over_memory(torch, device, address, dtype, extents):
    """Row-major and dense."""
    name, letters, size = DTYPES[dtype]
    wanted = getattr(torch, name)
    if device == "cuda":
        tensor = torch.as_tensor(_CudaArray(address, letters, tuple(extents)), device="cuda")
        tensor = tensor if tensor.dtype == wanted else tensor.view(wanted)
    else:
        memory = (ctypes.c_char * (size * math.prod(extents))).from_address(address)
        tensor = torch.frombuffer(memory, dtype=wanted).reshape(tuple(extents))
    if tensor.data_ptr() != address:
        raise RuntimeError(f"torch copied an operand of {dtype} {tuple(extents)} instead of looking at it")
    return tensor
