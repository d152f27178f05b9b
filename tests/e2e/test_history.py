"""What results say over time, through the client: cells, baselines, causes, epochs. On the CPU with real numbers, and on a make-believe device whose
numbers the test sets, so that a regression comes and goes on any machine."""
import csv
import io
import itertools
import time

import grpc
import pytest

import fake_worker

SUM = ("sum", "fp32", "4Ki")
CASE = "sum fp32 n=4096"
LONG = 60  # seconds, at most, until five results are VALID


def cells(stack, *args):
    ran = stack.client("history", *args, "-o", "json")
    assert ran.code == 0, ran
    return [line["cell"] for line in ran.lines]


def state(stack, *args):
    found = cells(stack, *args)
    return found[0].get("state") if len(found) == 1 else None


def history(stack, *args):
    ran = stack.client("history", *SUM, *args, "-o", "json")
    assert ran.code == 0 and len(ran.lines) == 1, ran
    return ran.lines[0]["history"]


def names(ran):
    return [r["name"].removeprefix("results/") for r in ran.results]


# --- the CPU


def test_a_cell_is_learned_pinned_and_dropped(stack):
    assert stack.client("history").out.startswith("no cells yet: ")
    assert stack.client("baseline", "list").out == "no pinned baselines\n"
    quick = stack.submit(*SUM, "--impl", "cpu/naive", "--quick")
    assert quick.code in (0, 4), quick
    measured, valid = [], []
    end = time.monotonic() + LONG
    while len(valid) < 5 and time.monotonic() < end:
        ran = stack.submit(*SUM, "--impl", "cpu/naive", "--budget", "2s")
        assert ran.code in (0, 4), ran
        measured += names(ran)
        valid += [n for n, r in zip(names(ran), ran.results) if r["verdict"] == "VERDICT_VALID"]
        if len(measured) == 1:
            # Before there is a baseline nothing can be told.
            stack.wait_until(lambda: cells(stack, "sum"), "the first result is in no history")
            assert state(stack) == "LEARNING"
            ran = stack.client("why", *SUM)
            assert ran.code == 2 and "no baseline yet" in ran.err, ran
    if not valid:
        pytest.skip("this machine is too busy for a VALID number")
    learned = len(valid) == 5
    stack.wait_until(lambda: len(history(stack)["points"]) == len(measured), "the history lacks a result")
    points = history(stack)["points"]
    assert [p["result"].removeprefix("results/") for p in points] == measured, "all at default precision, and not the quick one"
    assert [p["result"].removeprefix("results/") for p in points if p["verdict"] == "VALID"] == valid
    cell = cells(stack)[0]
    assert cell["state"] == ("NONE" if learned else "LEARNING"), cell
    assert not learned or (cell["baseline"]["origin"], cell["baseline"]["results"]) == ("learned", 5), cell
    text = stack.client("history", *SUM).out
    assert text.startswith(f"{CASE}, cpu/naive, cold, on cpu: ") and f"epoch {cell['epoch']} since" in text, text
    assert all(name in text for name in measured[-20:]), text

    pinned = stack.client("baseline", "pin", *SUM, "--result", valid[0])
    assert pinned.code == 0 and f": {valid[0]}, " in " ".join(pinned.out.split()), pinned
    listed = stack.client("baseline", "list")
    assert listed.out.startswith(f"{CASE}, cold\n") and valid[0] in listed.out, listed
    assert stack.client("baseline", "pin", *SUM).code == 0
    assert cells(stack, "--pinned")[0]["baseline"]["result"] == cells(stack)[0]["newest"]
    dropped = stack.client("baseline", "drop", *SUM)
    assert dropped.code == 0 and "no pinned baseline any more" in dropped.out, dropped
    assert stack.client("baseline", "list").out == "no pinned baselines\n"
    again = stack.client("baseline", "drop", *SUM)
    assert again.code == 2 and "has no pinned baseline" in again.err, again

    why = stack.client("why", measured[0], f"results/{names(quick)[0]}", "-o", "json")
    assert why.code == 0 and why.lines[0]["cause"]["sentence"], why
    epochs = stack.client("report", "epoch", "cpu")
    assert epochs.code == 2 and "cpu has one environment" in epochs.err, epochs
    if not learned:
        pytest.skip("all but the learned baseline is shown: this machine is too busy for five VALID numbers")


# --- a device whose numbers the test sets


class Device(fake_worker.FakeWorker):
    """Answers every case with `seconds` at `hertz`, and a noise of 0.1 % that is the same every time."""
    seconds, hertz, driver, verdict = 1e-4, 1.7e9, "1.0", "VERDICT_VALID"
    wander = itertools.cycle((0.001, -0.0005, 0, 0.0005, -0.001, 0.0008, -0.0007))

    def result_of(self, assign):
        result = super().result_of(assign)
        middle = self.seconds * (1 + next(self.wander))
        rounds = [middle * (1 + 0.0005 * (i % 3 - 1)) for i in range(12)]
        result.verdict = self.result_pb2.Verdict.Value(self.verdict)
        result.device_time.CopyFrom(self.result_pb2.TimeDistribution(
            median=middle, low=middle * 0.9995, high=middle * 1.0005, history_low=middle * 0.997, history_high=middle * 1.003, confidence=0.95,
            rounds=12, samples=240, round_medians=rounds, round_numbers=range(12), round_clocks=[self.hertz] * 12))
        result.device_cycles = middle * self.hertz
        result.telemetry.sm_clock_hertz = self.hertz
        result.environment.CopyFrom(self.result_pb2.Environment(device_name="make-believe", driver=self.driver, kbench_version="0"))
        return result


@pytest.fixture
def device(empty, tmp_path):
    protos = fake_worker.load_protos(tmp_path)
    empty.start_server()
    with grpc.insecure_channel(f"unix:{empty.socket}") as channel:
        worker = Device(channel, protos, kernel="sum")
        empty.wait_until(empty.device_ready, "the device is not known")
        yield empty, worker
        worker.stop()


def measure(stack, count, mode="cold"):
    """So many results, each in a job of its own, all taken up by the history."""
    measured = []
    for _ in range(count):
        ran = stack.submit(*SUM, "--mode", mode)
        assert ran.code in (0, 4), ran
        measured += names(ran)
    stack.wait_until(lambda: measured[-1] in stack.client("history", *SUM, "--mode", mode, "-o", "csv").out, "the history lacks a result")
    return measured


def test_a_slow_clock_is_confirmed_explained_and_cleared(device):
    stack, worker = device
    measured = measure(stack, 6)
    assert state(stack) == "NONE"
    worker.seconds, worker.hertz = 1.1e-4, 1.7e9 / 1.1
    slow, = measure(stack, 1)
    # The coordinator measures it three times more.
    stack.wait_until(lambda: state(stack) == "CONFIRMED", "a cell 10 % slower is not confirmed")
    cell, = cells(stack, "--state", "confirmed")
    assert cell["suspect"] == f"results/{slow}" and len(cell["confirmations"]) == 3 and 0.08 < cell["change_ratio"] < 0.12, cell
    table = stack.client("history").out
    assert "CONFIRMED" in table and "cpu/naive on fake: confirmed, slower again in each of 3 fresh sessions" in " ".join(table.split()), table
    why = stack.client("why", *SUM)
    assert why.code == 0 and why.out.startswith("clock, not the kernel: +"), why
    assert f"to {slow}" in " ".join(why.out.split()) and "1700 MHz" in why.out, why
    both = stack.client("why", measured[0], slow, "-o", "csv")
    rows = list(csv.DictReader(io.StringIO(both.out)))
    assert rows[0]["verdict"] == "CLOCK" and rows[0]["difference"] == "clock" and float(rows[0]["time_ratio"]) > 0.08, both

    worker.seconds, worker.hertz = 1e-4, 1.7e9
    measure(stack, 1)  # and once more by the coordinator
    stack.wait_until(lambda: state(stack) == "NONE", "the cell is as fast as before, and still confirmed")
    assert cells(stack, "--state", "suspected,confirmed") == []


def test_a_driver_opens_an_epoch_and_raises_nothing(device):
    stack, worker = device
    first = measure(stack, 5)
    assert stack.client("baseline", "pin", *SUM, "--result", first[0]).code == 0
    worker.driver, worker.seconds = "2.0", 1.1e-4
    later = measure(stack, 5)
    assert state(stack) == "INCOMPARABLE"
    table = stack.client("history", *SUM)
    assert "driver 1.0 -> 2.0" in table.out, table
    # A result from before is not comparable with what there is now.
    refused = stack.client("baseline", "pin", *SUM, "--result", first[1])
    assert refused.code == 2 and "driver 1.0 -> 2.0 since" in refused.err, refused
    assert stack.client("baseline", "pin", *SUM, "--result", later[-1]).code == 0
    assert state(stack) == "NONE"

    ran = stack.client("report", "epoch", "fake", "-o", "json")
    report = ran.lines[0]["epochs"]
    assert report["after"]["changed"] == "driver 1.0 -> 2.0", report
    row, = report["rows"]
    assert row["verdict"] == "slower" and 1.08 < row["low"] <= row["ratio"] <= row["high"] < 1.12, row
    other = stack.client("report", "epoch", "nosuch", "--pinned")
    assert other.code == 2 and "nothing is recorded on nosuch" in other.err, other
    text = stack.client("report", "epoch", "fake", "--pinned")
    assert text.code == 0 and "changed: driver 1.0 -> 2.0\n" in text.out and "sum fp32 4096 cpu/naive cold" in text.out, text
    before, after = report["before"]["id"], report["after"]["id"]
    for named in (("--before", before), ("--after", after), ("--before", before, "--after", after)):
        assert stack.client("report", "epoch", "fake", *named, "-o", "json").lines[0]["epochs"]["rows"] == [row]
    for wrong, words in ((("--before", "nothing"), [f"no epoch nothing; there are: {before}, {after}"]),
                         (("--after", before), ["is the first epoch"]),
                         (("--before", after), ["is the epoch that it is compared with"])):
        ran = stack.client("report", "epoch", "fake", *wrong)
        assert ran.code == 2 and all(w in ran.err for w in words), ran
    ran = stack.client("report", "epoch", "gpu7")
    assert ran.code == 2 and "nothing is recorded on gpu7; there is fake" in ran.err, ran


def test_bad_input_is_named(device):
    stack, worker = device
    cold, = measure(stack, 1)
    hot, = measure(stack, 1, "hot")
    worker.verdict = "VERDICT_SUSPECT"
    doubtful, = measure(stack, 1)
    rows = cells(stack, *SUM)
    assert [c["cell"]["mode"] for c in rows] == ["cold", "hot"], "a row each where several fit"
    for args, words in ((("history", "som"), ["kernel", "nearest: sum"]),
                        (("history", "sum", "fp61"), ["dtype", "fp61"]),
                        (("history", "sum", "fp32", "none"), ["size"]),
                        (("history", "sum", "fp32", "8Ki"), ["nothing is recorded of sum fp32 n=8192", "there is sum fp32 4096 cpu/naive cold on fake"]),
                        (("history", *SUM, "--on", "gpu7"), ["on gpu7", "on fake"]),
                        (("history", *SUM, "--impl", "cublas"), ["cublas", "cpu/naive"]),
                        (("why", cold, "gone-0-0"), ["gone-0-0"]),
                        (("why", *SUM), ["no baseline yet"]),
                        (("baseline", "pin", *SUM, "--result", doubtful), [doubtful, "only a VALID result"]),
                        (("baseline", "pin", *SUM, "--result", "gone-0-0"), ["gone-0-0"]),
                        (("baseline", "pin", *SUM, "--result", hot, "--mode", "cold"), [hot, "hot on fake", "not what was named"]),
                        (("baseline", "drop", *SUM), ["has no pinned baseline"])):
        ran = stack.client(*args)
        assert ran.code == 2 and len(ran.err.splitlines()) == 1 and not ran.out, ran
        assert all(word in ran.err for word in words), (ran, words)


def test_a_cell_without_a_valid_result_is_learning(device):
    stack, worker = device
    worker.verdict = "VERDICT_SUSPECT"
    measure(stack, 1)
    cell, = cells(stack, "--state", "learning")
    assert cell["state"] == "LEARNING" and "newest" not in cell, cell
    for args, words in ((("why", *SUM), "no baseline yet: learning: no VALID result yet"), (("baseline", "pin", *SUM), "VALID"),
                        (("report", "epoch", "fake"), "no result on fake was VALID yet")):
        ran = stack.client(*args)
        assert ran.code == 2 and words in ran.err, ran
    text = stack.client("history", *SUM).out
    assert "learning: no VALID result yet" in text and "1970" not in text, text


def test_what_is_pinned_and_learned_outlives_a_restart(device, tmp_path):
    stack, _ = device
    first = measure(stack, 5)
    assert stack.client("baseline", "pin", *SUM, "--result", first[0]).code == 0
    known = history(stack)
    server = next(p for p in stack.processes if p.poll() is None)
    stack.kill9(server)
    stack.start_server()
    assert history(stack) == known
    assert first[0] in stack.client("baseline", "list").out
