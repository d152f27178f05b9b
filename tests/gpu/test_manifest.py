"""The manifests of tests/gpu can be read, and hold what the GPU side must prove; runs without a GPU."""
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))

import cells  # noqa: E402
import check_cells  # noqa: E402

KERNELS = {"null", "copy", "sum", "softmax", "matmul", "attention", "chain"}
OUTCOMES = {"OK", "WRONG_RESULT", "CRASHED", "TIMED_OUT", "OUT_OF_MEMORY"}
FIXTURES = {"fixtures.csv": OUTCOMES, "python_fixtures.csv": OUTCOMES | {"COMPILE_ERROR"}}


def test_every_kernel_and_every_cublas_dtype_is_there():
    rows = cells.read_manifest(HERE / "manifest.csv")
    assert {row["kernel"] for row in rows if row["implementation"] in ("cuda/naive", "cuda/launches")} == KERNELS
    assert {row["dtype"] for row in rows if row["implementation"] == "cublas"} == {"fp64", "fp32", "tf32", "fp16", "bf16", "int8"}
    assert any((row["dtype"], row["size"], row["implementation"]) == ("fp16", "4096", "cublas") for row in rows)
    assert {row["outcome"] for row in rows} == {"OK", "UNSUPPORTED"}


def test_every_framework_is_there_in_every_kernel():
    rows = cells.read_manifest(HERE / "frameworks.csv")
    for family in ("torch", "triton", "triton-aot"):
        assert {row["kernel"] for row in rows if row["implementation"].split("/")[0] == family} == KERNELS
    assert {row["outcome"] for row in rows} == {"OK"}


@pytest.mark.parametrize("file,expected", FIXTURES.items())
def test_every_misbehaviour_is_followed_by_a_good_cell(file, expected):
    rows = cells.read_manifest(HERE / file)
    outcomes = [row["outcome"] for row in rows]
    assert set(outcomes) == expected
    for bad, good in zip(outcomes[::2], outcomes[1::2], strict=True):
        assert bad != "OK" and good == "OK"


@pytest.mark.parametrize("file", FIXTURES)
def test_every_misbehaviour_has_a_reason_and_it_is_asked_for(file):
    rows = cells.read_manifest(HERE / file)
    for row in rows:
        assert (row["reason"] == "-") == (row["outcome"] == "OK")
    row = {"reason": "TOLERANCE NORM"}
    assert check_cells.reason_matches(row, {"reason": "NORM"})
    assert not check_cells.reason_matches(row, {"reason": "NOT_FINITE"})
    assert check_cells.reason_matches({"reason": "-"}, {})
    assert check_cells.reason_matches({}, {})


def row(size, implementation, outcome="OK"):
    return {"kernel": "sum", "dtype": "fp32", "size": size, "implementation": implementation, "outcome": outcome}


def test_rows_of_a_cell_are_one_job_and_misbehaviour_is_alone():
    rows = [row("8", "a"), row("8", "b", "UNSUPPORTED"), row("9", "a"), row("9", "bad", "CRASHED"), row("9", "a")]
    assert [[one["implementation"] for one in job] for job in check_cells.jobs_of(rows)] == [["a", "b"], ["a"], ["bad"], ["a"]]


def test_a_row_is_judged_by_its_own_result():
    results = [{"implementation": "a", "outcome": "OUTCOME_OK", "verification": {"verified": True}, "device_time": {"median": 1e-6}},
               {"implementation": "b", "outcome": "OUTCOME_OK", "verification": {}, "device_time": {"median": 1e-6}},
               {"implementation": "c", "outcome": "OUTCOME_UNSUPPORTED"}]
    judged = {one: check_cells.check(row("8", one, outcome), results, 1, "nothing")[0]
              for one, outcome in (("a", "OK"), ("b", "OK"), ("c", "UNSUPPORTED"), ("d", "OK"))}
    assert judged == {"a": True, "b": False, "c": True, "d": False}


@pytest.mark.parametrize("message,passed", [
    ("the workspace: out of memory (needed: 35184372088832 bytes; free: 1024 bytes)", True),
    ("no handle (needed: unknown; free: 1024 bytes)", True), ("the operands need 4096 bytes and 1024 are free", True),
    ("no handle (needed: unknown; free: unknown)", False), ("the workspace: out of memory", False), ("", False)])
def test_what_ran_out_of_memory_must_say_both_numbers(message, passed):
    results = [{"implementation": "a", "outcome": "OUTCOME_OUT_OF_MEMORY", "message": message}]
    assert check_cells.check(row("8", "a", "OUT_OF_MEMORY"), results, 1, "nothing")[0] is passed


@pytest.mark.parametrize("words,capability,expected", [
    ("all", "7.5", True), ("sm_90", "9.0", True), ("sm_90", "10.0", False), ("sm_80+", "12.0", True), ("sm_80+", "7.5", False),
    ("sm_89 sm_100+", "8.9", True), ("sm_89 sm_100+", "9.0", False)])
def test_architectures(words, capability, expected):
    assert cells.applies(words, capability) is expected


@pytest.mark.parametrize("row", ["sum,fp32,1,x,all", "sum,fp32,1,x,all,OK,more", "sum,fp32,1,x,hopper,OK"])
def test_a_broken_row_is_named(tmp_path, row):
    path = tmp_path / "manifest.csv"
    path.write_text("kernel,dtype,size,implementation,architectures,outcome\n" + row + "\n", encoding="utf-8")
    with pytest.raises(cells.CellError):
        cells.read_manifest(path)
