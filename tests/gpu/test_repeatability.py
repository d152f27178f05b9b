"""What repeated measurements must show, pass and fail; runs without a GPU, against a client that is a script."""
import json
import pathlib
import stat
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))

import repeatability  # noqa: E402
from repeat import exported, pace, selftest, spread  # noqa: E402
from repeat.spread import Run  # noqa: E402


def names_of_failures(found):
    return [check.name for check in found if not check.passed]


def test_quantiles_are_type_7():
    assert spread.quantile([4, 1, 3, 2], 0.5) == 2.5
    assert spread.quantile(range(21), 0.05) == 1.0
    assert spread.quantile([7.0], 0.95) == 7.0


def runs(medians, half=0.01):
    return [Run(median, median * (1 - half), median * (1 + half)) for median in medians]


def test_twenty_alike():
    assert not names_of_failures(spread.check("x", runs([1 + 0.0004 * i for i in range(20)]), 20))


def test_a_spread_of_more_than_a_percent():
    found = spread.check("x", runs([1 + 0.0007 * i for i in range(20)], half=0.05), 20)  # p95 - p5 is 1.2 %
    assert names_of_failures(found) == ["x: (p95 - p5) / median at most 1%"]


def test_intervals_that_miss_the_grand_median():
    alike = [1 + 0.0001 * i for i in range(20)]
    narrow = runs(alike, half=0.00086)  # the outermost pairs miss the middle
    assert sum(one.history_low <= 1.00095 <= one.history_high for one in narrow) == 18
    assert not names_of_failures(spread.check("x", narrow, 20))
    assert names_of_failures(spread.check("x", runs(alike, half=0.0008), 20)) == ["x: history intervals cover the grand median"]


def test_results_without_history_intervals_or_figures():
    assert names_of_failures(spread.check("x", [Run(1.0, 0.0, 0.0)] * 20, 20)) == ["x: history intervals cover the grand median"]
    assert "x: every submit gives a figure" in names_of_failures(spread.check("x", runs([1.0] * 19), 20))
    assert len(spread.check("x", [], 20)) == 1


def selftest_failures(false=1, pairs=100, found=19, tries=20):
    checks = [{"name": "quantum", "state": "PASS", "text": "32 ns"},
              {"name": "same twice", "state": "PASS", "text": "", "false": float(false), "pairs": float(pairs)},
              {"name": "2% more work", "state": "PASS", "text": "", "found": float(found), "pairs": float(tries)}]
    text = "a line of another program\n" + json.dumps({"selftest": {"device": "gpu0", "passed": True, "checks": checks}}) + "\n"
    return names_of_failures(selftest.check(text, 100))


def test_selftest_counts():
    assert not selftest_failures()
    assert selftest_failures(false=2)[0].startswith("A/A")
    assert selftest_failures(pairs=99, false=0)[0].startswith("A/A")  # too few pairs
    assert selftest_failures(found=18)[0].startswith("2 % more work")
    assert selftest_failures(found=19, tries=19)[0].startswith("2 % more work")  # too few tries


def test_selftest_that_says_nothing():
    assert len(names_of_failures(selftest.check("unknown command selftest", 100))) == 2
    assert len(names_of_failures(selftest.check('{"selftest":{"passed":true}}', 100))) == 2



METRICS = """# HELP kbench_device_busy_seconds_total Seconds by phase.
# TYPE kbench_device_busy_seconds_total counter
kbench_device_busy_seconds_total{device="gpu0",phase="burst"} 12.5
kbench_device_busy_seconds_total{device="gpu0",phase="verify"} 1.25
kbench_device_busy_seconds_total{device="gpu1",phase="burst"} 100
kbench_case_gap_seconds_sum{device="gpu0"} 3e-1
kbench_build_info{version="0.1 \\"x\\""} 1
"""


def test_metrics():
    samples = exported.parse(METRICS)
    assert exported.busy_seconds(samples, "gpu0", "burst") == 12.5
    assert exported.busy_seconds(samples, "gpu0", "nothing") is None
    assert exported.phases(samples) == ["burst", "verify"]
    assert exported.gap_families(samples) == ["kbench_case_gap_seconds_sum"]


def test_where_the_metrics_are(monkeypatch, tmp_path):
    (tmp_path / "kbench").mkdir()
    (tmp_path / "kbench/server.json").write_text('{"metrics":"127.0.0.1:7601","pid":1}')
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert exported.address() == "http://127.0.0.1:7601/metrics"


def implementation(name, kernel="matmul", dtypes=("fp16",), hidden=False):
    return {"name": name, "kernel": kernel, "dtypes": list(dtypes), "hidden": hidden}


def test_three_implementations_are_what_anybody_may_run():
    device = {"implementations": [implementation("cuda/naive"), implementation("fixture/x", hidden=True), implementation("cuda/tf32", dtypes=["tf32"]),
                                  implementation("cuda/sum", kernel="sum"), implementation("cublaslt"), implementation("cublas"), implementation("z")]}
    assert pace.three_implementations(device) == ["cublas", "cublaslt", "cuda/naive"]


def test_pace():
    names, samples = ["a", "b", "c"], exported.parse(METRICS)
    assert not names_of_failures(pace.check(names, [3.9, 5.0, 3.0], [2.0, 2.6, 1.4], [], samples))
    assert "at most 4 s" in names_of_failures(pace.check(names, [4.1, 4.2, 3.0], [3.0, 3.0, 3.0], [], samples))[0]
    assert "inside bursts" in names_of_failures(pace.check(names, [3.0], [1.4], [], samples))[0]
    assert "every result OK" in names_of_failures(pace.check(names, [3.0], [2.0], ["exit code 1"], samples))[0]
    assert "exported" in names_of_failures(pace.check(names, [3.0], [2.0], [], []))[0]
    assert names_of_failures(pace.check(["a", "b"], [], [], [], []))


CLIENT = """#!{python}
import json, pathlib, sys
verb = sys.argv[1]
if "--help" in sys.argv:
    print("  --fresh  measures again")
elif verb == "devices":
    calibration = {{"passed": True, "event_cost_seconds": 1.5e-6, "canaries": 6, "between_session_ratio": 0.002}}
    print(json.dumps({{"device": {{"name": "gpu0", "calibration": calibration}}}}))
elif verb == "submit":
    assert "--fresh" in sys.argv
    count = pathlib.Path(__file__).with_suffix(".count")
    number = int(count.read_text()) if count.exists() else 0
    count.write_text(str(number + 1))
    median = 1e-4 * (1 + {wobble} * (number % 7))
    time = {{"median": median, "history_low": median * 0.99, "history_high": median * 1.01}}
    result = {{"implementation": sys.argv[sys.argv.index("--impl") + 1], "outcome": "OUTCOME_OK", "verdict": "VERDICT_VALID", "device_time": time}}
    print(json.dumps({{"event": {{}}}}))
    print(json.dumps({{"result": result}}))
else:
    print("unknown verb", file=sys.stderr)
    sys.exit(2)
"""


def run_spread(monkeypatch, tmp_path, wobble, *options):
    client = tmp_path / "client"
    client.write_text(CLIENT.format(python=sys.executable, wobble=wobble))
    client.chmod(client.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sys, "argv", ["x", str(client), "gpu0", "--out", str(tmp_path), "--canary-wait", "0", "--submits", "7", *options])
    return repeatability.main(), json.loads((tmp_path / "repeatability.json").read_text())


def test_the_program_passes_and_fails(monkeypatch, tmp_path):
    code, record = run_spread(monkeypatch, tmp_path, 0.001, "--only", "spread")
    assert code == 0 and record["canaries"] == 6
    assert [len(found) for found in record["spread"].values()] == [7, 7]
    code, record = run_spread(monkeypatch, tmp_path, 0.01, "--only", "spread")
    assert code == 1


def test_a_client_without_the_verb_fails_with_a_word(monkeypatch, tmp_path):
    code, record = run_spread(monkeypatch, tmp_path, 0.001, "--only", "selftest")
    assert code == 1
    assert any("no such verb" in check["figure"] for check in record["checks"])


@pytest.mark.parametrize("part", ["pace", "spread"])
def test_a_device_that_is_not_there_is_a_failed_check(monkeypatch, tmp_path, part):
    client = tmp_path / "client"
    client.write_text(f"#!{sys.executable}\nprint()\n")
    client.chmod(0o755)
    monkeypatch.setattr(sys, "argv", ["x", str(client), "gpu0", "--out", str(tmp_path), "--only", part])
    assert repeatability.main() == 1
