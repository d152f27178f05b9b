"""PyTorch's own operations, one file a kernel or variant."""
