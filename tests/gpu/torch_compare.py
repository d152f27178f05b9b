#!/usr/bin/env python3
"""kbench's cublas against torch.matmul, fp16 4096, in the same minutes. Torch is timed as kbench times: bursts behind a blocked stream, before
each sample a clean flush (write 2xL2, then read 2xL2), and as little rest between samples as can be had: a card that rests longer runs faster
in them. Both are run in turns; the ratio of the two medians must be within 3 %.

    torch_compare.py CLIENT DEVICE [TURNS]
"""
import statistics
import sys

import cells
import torch

LIMIT = 0.03
SIZE = 4096
SAMPLES = 16  # a burst
BURSTS = 12
MOST_BLOCK_CYCLES = 1e9


class TorchStopwatch:
    """Times one product on the current stream. The buffers for flushing hold 2xL2 each: one is written, the other read."""

    def __init__(self):
        device = torch.device("cuda")
        words = 2 * torch.cuda.get_device_properties(device).L2_cache_size // 4
        self.written = torch.empty(words, dtype=torch.int32, device=device)
        self.read = torch.zeros(words, dtype=torch.float32, device=device)
        self.sum = torch.zeros((), dtype=torch.float32, device=device)
        generator = torch.Generator(device).manual_seed(1)
        # Uniform in [-1, 1) as kbench's: what the numbers are changes the power they take, and so the clock.
        self.a, self.b = (torch.rand(SIZE, SIZE, generator=generator, device=device).mul_(2).sub_(1).half() for _ in range(2))
        self.c = torch.empty(SIZE, SIZE, dtype=torch.float16, device=device)
        self.launch()
        self.read_pass, self.flush_seconds = self._fastest_read()
        self.block_cycles = 1_000_000

    def launch(self):
        torch.matmul(self.a, self.b, out=self.c)

    def _fastest_read(self):
        """What reads the buffer in the shortest time, and how long a flush with it takes: torch's sum and cuBLAS's dot differ by a factor."""
        timed = []
        for read_pass in (lambda: torch.sum(self.read, dim=0, out=self.sum), lambda: torch.dot(self.read, self.read)):
            self.read_pass = read_pass
            self.flush()
            torch.cuda.synchronize()
            timed.append((min(self._seconds(self.flush) for _ in range(10)), read_pass))
        seconds, read_pass = min(timed, key=lambda one: one[0])
        return read_pass, seconds

    def flush(self):
        self.written.zero_()
        self.read_pass()

    @staticmethod
    def _seconds(work):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work()
        stop.record()
        torch.cuda.synchronize()
        return start.elapsed_time(stop) / 1e3

    def burst(self):
        """Seconds of SAMPLES samples, all queued while the stream is still blocked. The block is no longer than that takes: it is rest."""
        while (seconds := self._blocked_burst()) is None:
            if self.block_cycles > MOST_BLOCK_CYCLES:
                raise RuntimeError("a burst cannot be queued behind a blocked stream: something in it waits for the device")
            self.block_cycles *= 2
        return seconds

    def _blocked_burst(self):
        events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(SAMPLES)]
        queued = torch.cuda.Event()
        torch.cuda._sleep(self.block_cycles)
        queued.record()
        for start, stop in events:
            self.flush()
            start.record()
            self.launch()
            stop.record()
        blocked = not queued.query()
        torch.cuda.synchronize()
        if not blocked:
            return None  # some of the times would be the host's
        return [start.elapsed_time(stop) / 1e3 for start, stop in events]

    def median(self):
        """The median of the bursts' medians; the first burst warms up."""
        self.burst()
        return statistics.median(statistics.median(self.burst()) for _ in range(BURSTS))


def kbench_median(client, device):
    code, results, errors = cells.submit(client, "matmul", "fp16", str(SIZE), "--impl", "cublas", "--device", device)
    for result in results:
        if result.get("implementation") == "cublas" and cells.outcome(result) == "OK":
            return cells.median_seconds(result), " ".join([cells.verdict(result), *result.get("verdict_reasons", [])])
    raise cells.CellError(f"kbench gave no cublas result (exit code {code}): {errors or results}")


def main():
    client, device = sys.argv[1:3]
    turns = int(sys.argv[3]) if len(sys.argv) > 3 else 4
    print(f"torch {torch.__version__}, CUDA {torch.version.cuda}, {torch.cuda.get_device_name()}")
    stopwatch = TorchStopwatch()
    stopwatch.burst()
    print(f"one flush takes {stopwatch.flush_seconds * 1e6:.0f} us, a burst is blocked for {stopwatch.block_cycles / 1e6:.0f} M cycles")
    ours, theirs = [], []
    for turn in range(turns):
        theirs.append(stopwatch.median())
        seconds, word = kbench_median(client, device)
        ours.append(seconds)
        print(f"turn {turn}: torch {theirs[-1] * 1e6:.2f} us, kbench cublas {seconds * 1e6:.2f} us ({word})", flush=True)
    theirs.append(stopwatch.median())
    torch_seconds, kbench_seconds = statistics.median(theirs), statistics.median(ours)
    ratio = kbench_seconds / torch_seconds
    rate = 2.0 * SIZE**3
    print(f"torch  {torch_seconds * 1e6:.2f} us  {rate / torch_seconds / 1e12:.1f} TFLOP/s")
    print(f"kbench {kbench_seconds * 1e6:.2f} us  {rate / kbench_seconds / 1e12:.1f} TFLOP/s")
    print(f"ratio kbench/torch {ratio:.4f}: {'within' if abs(ratio - 1) <= LIMIT else 'NOT within'} {LIMIT:.0%}")
    return 0 if abs(ratio - 1) <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
