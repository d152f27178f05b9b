"""Implementations of kbench's kernels in Python: one file each in torch/ and triton/, found by their folder."""
