"""Times a launch through torch as kbench times its own: bursts behind a blocked stream, before each sample a clean flush (write 2xL2, then read
2xL2), and as little rest between samples as can be had: a card that rests longer runs faster in them."""
import statistics

import torch

SAMPLES = 16  # a burst
BURSTS = 12
MOST_BLOCK_CYCLES = 1e9


def uniform(*extents, dtype, seed=1):
    """Uniform in [-1, 1) as kbench's inputs: what the numbers are changes the power they take, and so the clock."""
    generator = torch.Generator("cuda").manual_seed(seed)
    return torch.rand(*extents, generator=generator, device="cuda").mul_(2).sub_(1).to(dtype)


class TorchStopwatch:
    """Times one launch on the current stream. The buffers for flushing hold 2xL2 each: one is written, the other read."""

    def __init__(self, launch):
        device = torch.device("cuda")
        words = 2 * torch.cuda.get_device_properties(device).L2_cache_size // 4
        self.written = torch.empty(words, dtype=torch.int32, device=device)
        self.read = torch.zeros(words, dtype=torch.float32, device=device)
        self.sum = torch.zeros((), dtype=torch.float32, device=device)
        self.launch = launch
        self.launch()
        self.read_pass, self.flush_seconds = self._fastest_read()
        self.block_cycles = 1_000_000

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
