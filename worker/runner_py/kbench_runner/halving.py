"""Which candidate is the fastest, by successive halving: the rules of worker/tuning/halving.cc. Time is an argument: pure."""
import math
import statistics

# Of each round: about as much work in each, and enough at the end for a median that a device at its power limit does not decide by chance.
SAMPLES = (1, 4, 10, 20, 40)
FEWEST = 2  # that stay in to the end: half of two would decide by luck
FAR_BEHIND = 1.5  # one sample is enough to see that a candidate is far behind


class Halving:
    def __init__(self, candidates, max_seconds):
        """`candidates`: how many, the best guess first. After `max_seconds` nothing more is asked for."""
        self._max_seconds = max_seconds
        self._samples = [[] for _ in range(candidates)]
        self._in = [True] * candidates
        self._round = 0
        self._at = 0  # the candidate whose turn it is

    def next(self, elapsed_seconds):
        """(candidate, samples) of the next trial; None when it is decided, or when the time is over."""
        if elapsed_seconds >= self._max_seconds:
            return None
        while self._round < len(SAMPLES):
            while self._at < len(self._in) and not self._in[self._at]:
                self._at += 1
            if self._at < len(self._in):
                return self._at, SAMPLES[self._round]
            self._end_round()
        return None

    def report(self, samples):
        """The samples of that trial, seconds; none: it failed, and is out."""
        if self._at >= len(self._in):
            return
        self._samples[self._at] += samples
        if not samples:
            self._in[self._at] = False
            self._samples[self._at] = []
        self._at += 1

    def _end_round(self):
        self._at = 0
        self._round += 1
        order = sorted((one for one in range(len(self._in)) if self._in[one]), key=self._median)
        if len(order) <= 1:
            self._round = len(SAMPLES)  # nothing left to decide
        keep = max(FEWEST, math.ceil(len(order) / 2))
        for place, one in enumerate(order):
            if place and (place >= keep or self._median(one) > FAR_BEHIND * self._median(order[0])):
                self._in[one] = False

    def _median(self, candidate):
        return statistics.median(self._samples[candidate])

    def is_in(self, candidate):
        return self._in[candidate]

    @property
    def best(self):
        """The fastest so far by the median of all of its samples, the better guess among equals; None when none was timed."""
        timed = [one for one in range(len(self._in)) if self._in[one] and self._samples[one]]
        return min(timed, key=self._median, default=None)

    @property
    def timed(self):
        """Candidates that gave a time."""
        return sum(1 for samples in self._samples if samples)

    @property
    def decided(self):
        return self._round >= len(SAMPLES)
