"""The switches by which torch computes something else than the dtype says."""
import warnings


def set_math_mode(dtype):
    """TF32 exactly where the dtype is tf32, by both of torch's flags, and no sums in 16 bits. They are global: whoever creates an instance sets
    them."""
    import torch
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer versions prefer other names for the same switches
        torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
        torch.backends.cudnn.allow_tf32 = dtype == "tf32"
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
