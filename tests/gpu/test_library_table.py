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


@pytest.mark.parametrize("low,share,verdict,expected", [
    (None, None, None, "no figure"), (0.94, None, "VALID", "BELOW the floor"), (0.96, None, "VALID", "floor"), (1.0, None, "VALID", "aim"),
    (1.0, 0.95, "VALID", "aim"), (1.0, 0.91, "VALID", "floor: share of the roof below the aim"),
    (1.0, 0.95, "SUSPECT", "nothing: SUSPECT"), (0.94, None, "INVALID SUSPECT", "nothing: INVALID SUSPECT")])
def test_what_a_row_reached(low, share, verdict, expected):
    row = library_table.Row({"floor": "0.95", "aim": "1.00", "share": "0.93"}, "cold")
    row.low, row.share, row.verdict = low, share, verdict
    assert row.reached == expected


@pytest.mark.parametrize("low,verdict,expected", [(None, None, False), (0.94, "VALID", False), (0.95, "VALID", True), (0.95, "SUSPECT", False)])
def test_a_row_holds_its_floor_with_valid_numbers_only(low, verdict, expected):
    row = library_table.Row({"floor": "0.95", "aim": "1.00"}, "cold")
    row.low, row.verdict = low, verdict
    assert row.holds is expected


def test_the_printed_table_shows_the_verdict():
    row = library_table.Row({"kernel": "sum", "dtype": "fp32", "size": "8", "floor": "0.95", "aim": "1.00", "roof": "", "share": ""}, "cold")
    row.ratio, row.low, row.high, row.verdict = 1.1, 1.0, 1.2, "SUSPECT"
    header, _, line = library_table.markdown([row]).splitlines()
    shown = dict(zip(header.split(" | "), line.split(" | "), strict=True))
    assert (shown["verdict"], shown["reached |"]) == ("SUSPECT", "nothing: SUSPECT |")


CLIENT = """#!/usr/bin/env python3
import json, sys
words = sys.argv[1:]
asked = words[words.index("--impl") + 1].split(",") if "--impl" in words else []
times = {"cuda/registers": 1e-6, "cudnn": 2e-6, "torch": 1.5e-6}
verdicts = {"torch": "VERDICT_" + TORCH}
if words[0] == "kernels":
    print(json.dumps({"kernel": {"name": "softmax", "implementations": [{"name": name} for name in OFFERED]}}))
    print(json.dumps({"absent": {"device": "gpu0", "framework": {"framework": "triton", "starting": STARTING}}}))
elif words[0] == "submit":
    for name in asked:
        print(json.dumps({"result": {"name": "results/" + name, "implementation": name, "outcome": "OUTCOME_OK", "case": {"kernel": "softmax"},
                                     "verdict": verdicts.get(name, "VERDICT_VALID"), "device_time": {"median": times[name]}}}))
else:
    speedup = times[words[2]] / times[words[1]]
    print(json.dumps({"compared": {"comparison": {"speedup": speedup, "low": 0.99 * speedup, "high": 1.01 * speedup}}}))
"""


def write_client(path, offered, torch="VALID", starting=False):
    words = {"TORCH": torch, "OFFERED": offered, "STARTING": starting}
    text = CLIENT
    for word, value in words.items():
        text = text.replace(word, repr(value))
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def test_what_is_still_starting_is_waited_for_and_not_for_ever(tmp_path, monkeypatch):
    client = tmp_path / "client"
    write_client(client, ["cudnn"], starting=True)
    assert library_table.offered_implementations(client, patience=0) == {"softmax": {"cudnn"}}
    monkeypatch.setattr(library_table.time, "sleep", lambda _: write_client(client, ["cudnn", "torch"]))
    assert library_table.offered_implementations(client) == {"softmax": {"cudnn", "torch"}}


def measured(tmp_path, offered, torch="VALID"):
    """A softmax row measured through a client that knows these implementations."""
    client = tmp_path / "client"
    write_client(client, offered, torch)
    (row,) = library_table.wanted_rows(TABLE, ["softmax"], ["cold"], ["fp32"], ["4096x4096"])
    library_table.measure(client, "gpu0", row, {}, library_table.offered_implementations(client))
    return row


def test_torch_is_one_of_the_libraries_of_the_case(tmp_path):
    row = measured(tmp_path, ["cuda/registers", "cudnn", "torch"])
    assert row.library.startswith("torch ") and row.ratio == pytest.approx(1.5)
    assert [one["implementation"] for one in row.results] == ["cuda/registers", "cudnn", "torch"]
    assert (row.verdict, row.reached, row.notes) == ("VALID", "floor", [])
    row = measured(tmp_path, ["cuda/registers", "cudnn", "torch"], torch="SUSPECT")
    assert (row.verdict, row.holds) == ("SUSPECT", False)


def test_where_torch_is_not_offered_the_row_says_so(tmp_path):
    row = measured(tmp_path, ["cuda/registers", "cudnn"])
    assert row.library.startswith("cudnn ") and row.ratio == pytest.approx(2)
    assert row.notes == ["torch is not offered here"]
