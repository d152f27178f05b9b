#!/usr/bin/env python3
"""Times torch.softmax for the cells named, a process of its own: it ends before kbench measures anything, which is to have the card for itself.

    torch_softmax.py DTYPE:ROWSxCOLS...

Prints a JSON object of the cells' seconds.
"""
import json
import sys

import torch

from torch_stopwatch import TorchStopwatch, uniform

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def seconds_of(cell):
    dtype, size = cell.split(":")
    x = uniform(*(int(word) for word in size.split("x")), dtype=DTYPES[dtype])
    y = torch.empty_like(x)
    return TorchStopwatch(lambda: torch.softmax(x, 1, out=y)).median()


if __name__ == "__main__":
    print(json.dumps({cell: seconds_of(cell) for cell in sys.argv[1:]}))
