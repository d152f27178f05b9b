"""Kernels written in Triton, one file a kernel or variant. None imports torch with its module: they are compiled ahead of time as well."""
