"""Implementations that misbehave: each is an outcome in the table, and the next case runs clean."""
import re

import pytest

from stack import outcomes

EXPECTED = {
    "fixture/crash": {"CRASHED"},
    "fixture/hang": {"TIMED_OUT"},
    "fixture/wrong": {"WRONG_RESULT"},
    "fixture/nan": {"WRONG_RESULT"},
    "fixture/oom": {"OUT_OF_MEMORY"},
    "fixture/bad-frame": {"CRASHED", "INFRA"},
    "fixture/huge-frame": {"CRASHED", "INFRA"},
    "fixture/nan-frame": {"CRASHED", "INFRA"},
}


@pytest.mark.parametrize("name", EXPECTED)
def test_outcome_and_the_next_case(adversary, name):
    ran = adversary.submit("sum", "fp32", "4Ki", "--quick", "--budget", "8s", "--impl", f"{name},cpu/naive")
    rows = {r["implementation"]: r for r in ran.results}
    assert set(rows) == {name, "cpu/naive"}, ran
    bad = rows[name]
    assert bad["outcome"].removeprefix("OUTCOME_") in EXPECTED[name], bad
    assert bad.get("message"), bad
    assert len(bad["message"].splitlines()) == 1
    assert "verdict" not in bad or bad["verdict"] == "VERDICT_UNSPECIFIED"
    assert rows["cpu/naive"]["outcome"] == "OUTCOME_OK", "its neighbour is not disturbed"
    expected_codes = {"TIMED_OUT": 6, "INFRA": 5}
    assert ran.code == expected_codes.get(bad["outcome"].removeprefix("OUTCOME_"), 1), ran
    clean = adversary.submit("sum", "fp32", "4Ki", "--quick", "--impl", "cpu/naive")
    assert outcomes(clean.results) == {"cpu/naive": "OK"}, clean


def test_what_ran_out_of_memory_says_how_much_was_needed_and_is_free(adversary):
    ran = adversary.client("submit", "sum", "fp32", "4Ki", "--quick", "--impl", "fixture/oom")
    said = " ".join(ran.out.split())
    assert re.search(r"needed: 1125899906842624 bytes; free: \d+ bytes", said), ran


def test_a_sweep_goes_on_after_a_crash(adversary):
    ran = adversary.submit("sum", "fp32", "1Ki,2Ki,4Ki", "--quick", "--impl", "fixture/crash,cpu/naive")
    assert ran.code == 1, ran
    assert len(ran.results) == 6
    for row in ran.results:
        assert row["outcome"] == ("OUTCOME_OK" if row["implementation"] == "cpu/naive" else "OUTCOME_CRASHED"), row


def test_the_table_explains(adversary):
    ran = adversary.client("submit", "sum", "fp32", "4Ki", "--quick", "--impl", "fixture/crash,fixture/wrong")
    assert ran.code == 1
    assert "CRASHED: " in ran.out and "WRONG_RESULT: " in ran.out
    assert max(map(len, ran.out.splitlines())) <= 90
