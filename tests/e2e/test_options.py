"""The tables of flags and keys in the READMEs against the programs themselves."""
import re
import subprocess

import pytest

from stack import BIN, ROOT

UNTOLD = {"--help", "--version"}


def flags_of(program):
    out = subprocess.run([BIN / program, "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", out, re.MULTILINE)) - UNTOLD


def flags_in_table(readme):
    text = (ROOT / readme).read_text()
    rows = re.findall(r"^\| `(--[\w-]+)", text, re.MULTILINE)
    assert len(rows) == len(set(rows)), "a flag stands in the table twice"
    return set(rows)


@pytest.mark.parametrize("program,readme", [("kbench-server", "server/README.md"), ("kbench-worker", "worker/README.md")])
def test_every_flag_stands_in_the_table(program, readme):
    assert flags_in_table(readme) == flags_of(program)
