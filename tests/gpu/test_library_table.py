"""The pure parts of library_table.py, and its rows; runs without a GPU."""
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))

import library_table  # noqa: E402

TABLE = HERE / "library_table.csv"


def result(implementation, median, outcome="OUTCOME_OK"):
    return {"implementation": implementation, "outcome": outcome, "device_time": {"median": median}}


def test_every_row_has_numbers_and_a_floor_below_its_aim():
    rows = library_table.wanted_rows(TABLE)
    assert {row.wanted["kernel"] for row in rows} == {"sum", "softmax", "matmul", "attention"}
    for row in rows:
        assert 0 < float(row.wanted["floor"]) < float(row.wanted["aim"])
        assert row.wanted["roof"] in ("", *library_table.ROOFS)
        assert bool(row.wanted["roof"]) == bool(row.wanted["share"])
    steady = {row.wanted["kernel"] for row in rows if row.mode == "steady"}
    assert steady == {"matmul", "attention"}


def test_rows_are_chosen_by_kernel_mode_and_dtype():
    rows = library_table.wanted_rows(TABLE, ["matmul"], ["cold"], ["tf32"])
    assert len(library_table.wanted_rows(TABLE, ["matmul"], ["cold"], ["fp16"], ["8192"])) == 1
    assert {(row.wanted["kernel"], row.mode, row.wanted["dtype"]) for row in rows} == {("matmul", "cold", "tf32")}


def test_the_fastest_counts_and_one_without_a_time_does_not():
    results = [result("cublas", 2.0), result("cublaslt-tuned", 1.5), result("cudnn", 0.1, "OUTCOME_CRASHED"), result("cuda/mma", 1.0)]
    assert library_table.fastest(results, ["cublas", "cublaslt-tuned", "cudnn"])["implementation"] == "cublaslt-tuned"
    assert library_table.fastest(results, ["cudnn"]) is None


@pytest.mark.parametrize("low,share,expected", [
    (None, None, "no figure"), (0.94, None, "BELOW the floor"), (0.96, None, "floor"), (1.0, None, "aim"), (1.0, 0.95, "aim"),
    (1.0, 0.91, "floor: share of the roof below the aim")])
def test_what_a_row_reached(low, share, expected):
    row = library_table.Row({"floor": "0.95", "aim": "1.00", "share": "0.93"}, "cold")
    row.low, row.share = low, share
    assert row.reached == expected


def test_torch_counts_where_it_is_faster():
    row = library_table.Row({"libraries": "cudnn|torch", "dtype": "fp32", "size": "8x8"}, "cold")
    ours = {"device_time": {"median": 1.0, "low": 0.99, "high": 1.01}}
    row.ratio, row.low, row.high = 1.5, 1.4, 1.6
    library_table.against_torch(row, ours, {"fp32:8x8": 1.6})
    assert row.ratio == 1.5
    library_table.against_torch(row, ours, {"fp32:8x8": 1.2})
    assert (row.ratio, row.low) == (1.2, 1.2 / 1.01)
    library_table.against_torch(row, ours, {})
    assert row.notes[-1] == "torch was not timed"


@pytest.mark.parametrize("low,trusted,expected", [(None, True, False), (0.94, True, False), (0.95, True, True), (0.95, False, False)])
def test_a_row_holds_its_floor_with_valid_numbers_only(low, trusted, expected):
    row = library_table.Row({"floor": "0.95", "aim": "1.00"}, "cold")
    row.low, row.trusted = low, trusted
    assert row.holds is expected
