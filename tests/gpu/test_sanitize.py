"""sanitize.csv has every CUDA kernel of ours in every dtype; runs without a GPU."""
import pathlib
import stat
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))

import cells  # noqa: E402
import sanitize  # noqa: E402

CELL = {"kernel": "sum", "dtype": "fp32", "size": "1", "implementations": "cuda/naive|cuda/shuffle"}


def test_every_kernel_of_ours_is_sanitized():
    ours = {(row["kernel"], row["dtype"], row["implementation"]) for row in cells.read_manifest(HERE / "manifest.csv")
            if row["implementation"].startswith("cuda/") and row["outcome"] == "OK"}
    # The same code whatever the element is: whole words of it are moved.
    ours = {cell for cell in ours if cell[0] != "copy" or cell[1] in ("fp32", "int8")}
    sanitized = {(row["kernel"], row["dtype"], name) for row in cells.read_table(HERE / "sanitize.csv") for name in row["implementations"].split("|")}
    assert ours - sanitized == set()


def fake(tmp_path, body):
    path = tmp_path / "compute-sanitizer"
    path.write_text("#!/bin/sh\n" + body + "\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.parametrize("body,wrong", [
    ("echo 'a: checked'; echo 'b: checked'; echo '========= ERROR SUMMARY: 0 errors'", ""),
    ("echo 'a: checked'; echo '========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'", ""),
    ("echo 'a: checked'; echo '========= ERROR SUMMARY: 3 errors'; exit 86", "exit code 86"),
    ("echo 'a: checked'; echo '========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)'", "exit code 0"),
    ("echo 'a: wrong'; echo '========= ERROR SUMMARY: 0 errors'; exit 1", "exit code 1"),
    ("echo 'a: unsupported'; echo '========= ERROR SUMMARY: 0 errors'", "nothing was checked"),
    ("echo 'Device not supported'", "exit code 0")])
def test_a_complaint_is_seen(tmp_path, body, wrong):
    said, _ = sanitize.run_cell(fake(tmp_path, body), "lab", "memcheck", CELL)
    assert said.startswith(wrong) if wrong else said == ""
