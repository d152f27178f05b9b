"""triton.testing.do_bench over the same launches, on torch's current stream; its median, a JSON line a cell.

    python3 -m stopwatch.do_bench_target LIBRARY CELL...
"""
import json
import sys

from launchers import Launchers
from stopwatch.study import cells_of


def main():
    launchers = Launchers(sys.argv[1])  # before torch: the same cuBLAS as everywhere
    import torch
    from triton.testing import do_bench
    stream = torch.cuda.current_stream().cuda_stream
    for cell in cells_of(sys.argv[2:]):
        launch = launchers.prepare(cell.kernel, cell.dtype, cell.size, cell.implementation)
        milliseconds = do_bench(lambda: launch.launch(stream), warmup=25, rep=200, return_mode="median")
        torch.cuda.synchronize()
        print(json.dumps({"cell": cell.key, "seconds": milliseconds * 1e-3, "configuration": launch.configuration()}), flush=True)
        launch.close()


if __name__ == "__main__":
    main()
