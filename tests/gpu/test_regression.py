"""What regression.py calls wrong, on a made-up client; runs without a GPU."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import regression  # noqa: E402

FIXTURE = pathlib.Path(__file__).parents[1] / "worker/runner_py/fixture_kernels/torch/paced.py"


class MadeUp(regression.Lab):
    """Its states come one after the other, whatever is measured; the last one stays."""

    def __init__(self, states, cause="KERNEL"):
        super().__init__("client", "gpu0", None)
        self.states, self.cause, self.edits = list(states), cause, []

    def history(self):
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return {"state": {"state": state, "message": "said"}}

    def measure(self, *_options):
        return {"verdict": "VERDICT_VALID", "device_time": {"median": 1e-4}}

    def edit(self, ratio):
        self.edits.append(ratio)

    def ask(self, *_arguments):
        return [{"cause": {"verdict": self.cause, "sentence": "the kernel"}}]


@pytest.fixture(autouse=True)
def hurry(monkeypatch):
    monkeypatch.setattr(regression.time, "sleep", lambda _seconds: None)
    monkeypatch.setattr(regression, "PATIENCE", 0.05)
    monkeypatch.setattr(regression, "SUSPICION", 0.05)


@pytest.mark.parametrize("states,cause,words", [
    (["SUSPECTED", "SUSPECTED", "CONFIRMED"], "KERNEL", ""), (["NONE"], "KERNEL", "raised no suspicion"),
    (["SUSPECTED", "NONE"], "KERNEL", "not confirmed"), (["SUSPECTED", "CONFIRMED"], "CLOCK", "why says CLOCK")])
def test_a_slower_kernel_must_be_suspected_confirmed_and_explained(states, cause, words):
    said = regression.slowed(MadeUp(states, cause))
    assert words in said and bool(said) == bool(words)


@pytest.mark.parametrize("states,passed", [(["CONFIRMED", "NONE"], True), (["CONFIRMED"], False)])
def test_the_restored_kernel_must_clear_it(states, passed):
    lab = MadeUp(states)
    assert (regression.restored(lab) == "") is passed
    assert lab.edits == [0.0]


def test_two_alarms_of_the_same_kernel_are_one_too_many():
    assert regression.unchanged(MadeUp(["NONE", "CONFIRMED", "CONFIRMED", "NONE"]), 4) == ""
    assert "2 confirmed alarms" in regression.unchanged(MadeUp(["CONFIRMED", "NONE", "CONFIRMED", "NONE"]), 4)


def test_the_fixture_has_the_number_that_is_edited(tmp_path):
    copy = tmp_path / "paced.py"
    copy.write_text(FIXTURE.read_text(encoding="utf-8"), encoding="utf-8")
    regression.set_extra(copy, 0.05)
    assert "\nEXTRA = 0.05\n" in copy.read_text(encoding="utf-8")
    copy.write_text("nothing", encoding="utf-8")
    with pytest.raises(regression.cells.CellError, match="0 lines"):
        regression.set_extra(copy, 0.05)
