"""Comparing what was measured, and the page for a sceptic."""
import re


def names(ran):
    return [r["name"].removeprefix("results/") for r in ran.results]


def test_two_results_by_name_and_two_implementations_now(shared):
    ran = shared.submit("matmul", "fp32", "96", "--quick", "--impl", "cpu/naive,cpu/openblas")
    assert ran.code in (0, 4), ran
    a, b = names(ran)
    compared = shared.client("compare", a, b, "-o", "json")
    assert compared.code == 0, compared
    comparison = compared.lines[0]["compared"]["comparison"]
    # Cells of one case are compared by round, where the host left them enough rounds in common.
    rounds = [set(r["device_time"]["round_numbers"]) for r in ran.results]
    assert comparison.get("paired", False) == (len(rounds[0] & rounds[1]) >= 6), (comparison, rounds)
    ratio = ran.results[1]["device_time"]["median"] / ran.results[0]["device_time"]["median"]
    assert 0.7 < comparison["speedup"] / ratio < 1.4, (comparison, ratio)
    now = shared.client("compare", "matmul", "fp32", "96", "--impl", "cpu/naive,cpu/openblas", "--quick")
    assert now.code in (0, 4), now
    assert re.search(r"a has [\d.]+x( \[[\d., ]+\])? the speed of b", " ".join(now.out.split())), now


def test_results_of_two_sizes_are_refused_with_the_difference(shared):
    first = shared.submit("sum", "fp32", "4Ki", "--quick", "--impl", "cpu/naive")
    second = shared.submit("sum", "fp32", "8Ki", "--quick", "--impl", "cpu/naive")
    ran = shared.client("compare", *names(first), *names(second))
    assert ran.code == 2, ran
    assert "n=4096" in ran.out + ran.err and "n=8192" in ran.out + ran.err, ran


def test_selftest_of_this_machine(shared):
    ran = shared.client("selftest", "--pairs", "2", "-o", "json")
    assert ran.code in (0, 1), ran  # on a machine that others use two pairs may scatter
    page = ran.lines[0]["selftest"]
    states = {}
    for check in page["checks"]:
        states.setdefault(check["name"], set()).add(check["state"])
    assert states["calibration"] == {"PASS"}, page
    assert states["known duration"] == {"PASS"}, page
    assert {"same twice", "2% more work", "coverage"} <= set(states), page
    assert page["passed"] == (ran.code == 0) == all("FAIL" not in state for state in states.values())
    listed = shared.client("kernels")
    assert "selftest/" not in listed.out, "its fixtures are hidden"
