"""What is compared: the cells, and a reading of one of them by one side."""
import dataclasses
import statistics


@dataclasses.dataclass(frozen=True)
class Cell:
    kernel: str
    dtype: str
    size: str
    implementation: str
    memory_bound: bool

    @property
    def key(self):
        """A name of letters, digits and underscores."""
        return "_".join([self.kernel, self.dtype, self.size.replace("^", "p")])

    @property
    def label(self):
        return f"{self.kernel} {self.dtype} {self.size}"


CELLS = [
    Cell("sum", "fp32", "2^22", "cuda/naive", True),
    Cell("sum", "fp32", "2^26", "cuda/naive", True),
    Cell("copy", "fp32", "2^24", "cuda/naive", True),  # 64 MiB
    Cell("softmax", "fp32", "4096x4096", "cuda/naive", True),
    Cell("matmul", "bf16", "2048", "cublas", False),
    Cell("matmul", "bf16", "4096", "cublas", False),
    Cell("matmul", "bf16", "8192", "cublas", False),
]


def cells_of(keys, cells=None):
    """The cells with these keys (of CELLS, or others); all of them for none."""
    cells = CELLS if cells is None else cells
    known = {cell.key: cell for cell in cells}
    for key in keys:
        if key not in known:
            raise SystemExit(f"no cell is called '{key}': there are {', '.join(known)}")
    return [known[key] for key in keys] or cells


@dataclasses.dataclass
class Reading:
    """What a side says of a cell in one turn: the median seconds of a launch, and its cycles where the side knows them."""
    seconds: float
    cycles: float = 0.0
    power_limited: bool = False
    note: str = ""
    details: dict = dataclasses.field(default_factory=dict)


class SideError(Exception):
    """A side could not measure; the others go on."""


class SideAbsent(SideError):
    """What the side needs is not installed here."""


def middle(readings):
    """The turns of a side as one reading: medians; power-limited when most turns were."""
    known = [reading.cycles for reading in readings if reading.cycles > 0]
    return Reading(seconds=statistics.median(reading.seconds for reading in readings),
                   cycles=statistics.median(known) if known else 0.0,
                   power_limited=2 * sum(reading.power_limited for reading in readings) > len(readings))
