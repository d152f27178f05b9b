"""Twenty separate submits: how far their medians spread, and how often their history intervals hold the grand median. Pure."""
import dataclasses
import statistics

SPREAD = 0.01
COVERED_SHARE = 18 / 20


@dataclasses.dataclass(frozen=True)
class Check:
    name: str
    passed: bool
    figure: str


@dataclasses.dataclass(frozen=True)
class Run:
    median: float        # seconds
    history_low: float   # both 0: the result carries no history interval
    history_high: float
    note: str = ""

    @staticmethod
    def of(result, note=""):
        device_time = result.get("device_time", {})
        return Run(float(device_time.get("median", 0.0)), float(device_time.get("history_low", 0.0)),
                   float(device_time.get("history_high", 0.0)), note)


def quantile(values, q):
    """Type 7, as the results' own quantiles."""
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def check(label, runs, wanted):
    """The checks of one cell's runs, of which `wanted` had to come back."""
    came = Check(f"{label}: every submit gives a figure", len(runs) == wanted, f"{len(runs)} of {wanted}")
    if not runs:
        return [came]
    medians = [run.median for run in runs]
    grand = statistics.median(medians)
    spread = (quantile(medians, 0.95) - quantile(medians, 0.05)) / grand
    covering = sum(run.history_low <= grand <= run.history_high for run in runs)
    widths = [(run.history_high - run.history_low) / 2 / grand for run in runs]
    return [came,
            Check(f"{label}: (p95 - p5) / median at most {SPREAD:.0%}", spread <= SPREAD,
                  f"{spread:.2%} around {grand * 1e6:.2f} us, {min(medians) * 1e6:.2f} to {max(medians) * 1e6:.2f}"),
            Check(f"{label}: history intervals cover the grand median", covering >= COVERED_SHARE * wanted,
                  f"{covering} of {len(runs)}, half-width {statistics.median(widths):.2%}")]
