"""Which candidate is the fastest, by successive halving: the rules of worker/tuning/halving.cc. Time is an argument: pure."""
import math
import statistics

# Of each round: many short ones at the end rather than a long one, for a device at its power limit runs at other clocks within a second.
SAMPLES = (1, 4, 10, 10, 10, 10, 10, 10)
# How far behind the fastest a candidate of the slower half has to be to be dropped.
BEHIND = (1.15, 1.06, 1.03, 1.02, 1.02, 1.01, 1.01, 1.01)
FEWEST = 2  # that stay in to the end: half of two would decide by luck
FAR_BEHIND = 1.5  # one sample is enough to see that a candidate is far behind
AS_FAST = 1.005


class Halving:
    def __init__(self, candidates, max_seconds):
        """`candidates`: how many, the best guess first. After `max_seconds` nothing more is asked for."""
        self._max_seconds = max_seconds
        self._samples = [[] for _ in range(candidates)]
        self._in = [True] * candidates
        self._round = 0
        self._at = 0  # of the round's turns

    def next(self, elapsed_seconds):
        """(candidate, samples) of the next trial; None when it is decided, or when the time is over."""
        if elapsed_seconds >= self._max_seconds:
            return None
        while self._round < len(SAMPLES):
            while self._at < len(self._in) and not self._in[self._turn]:
                self._at += 1
            if self._at < len(self._in):
                return self._turn, SAMPLES[self._round]
            self._end_round()
        return None

    @property
    def _turn(self):
        """The candidate whose turn it is: every other round goes backwards, so that a clock that drifts favours nobody."""
        return self._at if self._round % 2 == 0 else len(self._in) - 1 - self._at

    def report(self, samples):
        """The samples of that trial, seconds; none: it failed, and is out."""
        if self._at >= len(self._in):
            return
        turn = self._turn
        self._samples[turn] += samples
        if not samples:
            self._in[turn] = False
            self._samples[turn] = []
        self._at += 1

    def _end_round(self):
        behind = BEHIND[self._round]
        self._at = 0
        self._round += 1
        order = sorted((one for one in range(len(self._in)) if self._in[one]), key=self._median)
        if len(order) <= 1:
            self._round = len(SAMPLES)  # nothing left to decide
        keep = max(FEWEST, math.ceil(len(order) / 2))
        for place, one in enumerate(order):
            ratio = self._median(one) / self._median(order[0])
            if place and (ratio > FAR_BEHIND or (place >= keep and ratio > behind)):
                self._in[one] = False

    def _median(self, candidate):
        return statistics.median(self._samples[candidate])

    def is_in(self, candidate):
        return self._in[candidate]

    @property
    def best(self):
        """The fastest so far by the median of all of its samples, the best guess among those as fast within half a percent; None when none was timed."""
        timed = [one for one in range(len(self._in)) if self._in[one] and self._samples[one]]
        fastest = min((self._median(one) for one in timed), default=0.0)
        return next((one for one in timed if self._median(one) <= AS_FAST * fastest), None)

    @property
    def timed(self):
        """Candidates that gave a time."""
        return sum(1 for samples in self._samples if samples)

    @property
    def decided(self):
        return self._round >= len(SAMPLES)
