"""What launch_costs.py calls wrong, on made-up results; runs without a GPU."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import launch_costs  # noqa: E402


def answer(monkeypatch, fields):
    """Every submit comes back with these results."""
    results = [{"implementation": name, "outcome": "OUTCOME_OK", **more} for name, more in fields.items()]
    monkeypatch.setattr(launch_costs.cells, "submit", lambda *_, **__: (0, results, "said"))


@pytest.mark.parametrize("aot,passed", [(6.5e-6, True), (6.7e-6, False)])
def test_ahead_of_time_may_cost_two_microseconds_more_than_cuda(monkeypatch, aot, passed):
    times = {"cuda/vectorized": 4.6e-6, "triton-aot": aot, "triton": 27e-6, "torch": 17e-6}
    answer(monkeypatch, {name: {"host_submit_time": {"median": seconds}} for name, seconds in times.items()})
    assert (launch_costs.launch_costs("client", "gpu0") == "") is passed


@pytest.mark.parametrize("errors,words", [
    ((2.6e-4, 6.9e-4, 6.9e-4), ""), ((2.6e-4, 2.6e-4, 6.9e-4), "triton 2.60e-04"), ((6.9e-4, 6.9e-4, 6.9e-4), "cublas 6.90e-04")])
def test_who_rounds_and_who_truncates(monkeypatch, errors, words):
    names = ("cublas", "triton", "triton-aot")
    answer(monkeypatch, {name: {"verification": {"relative_error": error}} for name, error in zip(names, errors, strict=True)})
    said = launch_costs.truncation("client", "gpu0")
    assert said.startswith(words) and bool(said) == bool(words)


def test_a_path_without_a_figure_is_named(monkeypatch):
    answer(monkeypatch, {"cublas": {"verification": {"relative_error": 2.6e-4}}})
    assert launch_costs.truncation("client", "gpu0") == "no figure of triton, triton-aot: said"
    assert launch_costs.launch_costs("client", "gpu0") == "no figure of cuda/vectorized, torch, triton, triton-aot: said"
