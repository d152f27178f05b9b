"""The small parts that need no torch: options, failures, successive halving, the registry."""
import pathlib
import re
import sys

import pytest

from kbench_kernels import implementation as contract
from kbench_runner import abi, failures, frameworks, halving, options, registry, tensors
from kbench_runner.engine import EngineError
from runner_talk import ENGINE

ROOT = pathlib.Path(__file__).resolve().parents[3]
NEEDED = ["--framework", "torch", "--device", "cpu", "--engine", str(ENGINE)]


def test_a_whole_command_line():
    parsed = options.parse([*NEEDED, "--environment", "torch211", "--stdio", "--cpus", "0,2-3", "--threads", "2", "--parent", "17"])
    assert parsed == options.Options("torch", "cpu", str(ENGINE), "torch211", True, (0, 2, 3), 2, 17)


@pytest.mark.parametrize("arguments, words", [
    ([], "--framework is missing"), (["--dance"], "unknown argument '--dance'; usage:"), ([*NEEDED, "--cpus"], "--cpus needs a value"),
    ([*NEEDED, "--cpus", "3-1"], "write it like 0-3"), ([*NEEDED, "--cpus", "a"], "write it like 0-3"),
    ([*NEEDED, "--cpus", "4000"], "beyond the last CPU"), ([*NEEDED, "--threads", "0"], "not an integer from 1 to 4096"),
    ([*NEEDED, "--parent", "-1"], "not an integer"),
    (["--framework", "jax"], "'jax' is none of torch, triton"), (["--device", "tpu"], "'tpu' is none of cpu, cuda"),
    (["--engine", "/no/such.so"], "there is no file '/no/such.so'"), (["--environment", "a b"], "no name"),
])
def test_a_bad_command_line_is_named(arguments, words):
    with pytest.raises(options.UsageError) as raised:
        options.parse(arguments)
    assert words in str(raised.value)


class OutOfMemoryError(RuntimeError):
    """As torch names it."""


def test_exceptions_become_outcomes():
    def of(error):
        return failures.of_exception(error, "EXCEPTION", "it threw")
    oom = of(OutOfMemoryError("CUDA out of memory. "
                              "Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 22.03 GiB of which 512.50 MiB is free."))
    assert (oom.outcome, oom.needed_bytes, oom.free_bytes) == ("OUT_OF_MEMORY", 20 << 30, 1025 << 19)
    assert of(MemoryError()).message == "MemoryError"
    assert oom.message_fields()["message"].endswith(f" (needed: {20 << 30} bytes; free: {1025 << 19} bytes)")
    unknown = of(MemoryError()).message_fields(free_bytes=1 << 20)
    assert (unknown["message"], unknown["free_bytes"]) == ("MemoryError (needed: unknown; free: 1048576 bytes)", 1 << 20)
    named = failures.of_engine(EngineError(abi.OUT_OF_MEMORY, "the operands need 4096 bytes and 1024 are free", 4096, 1024)).message_fields()
    assert named["message"] == "the operands need 4096 bytes and 1024 are free"
    assert (of(contract.Unsupported("no")).outcome, of(contract.Unsupported("no")).message) == ("UNSUPPORTED", "no")
    compile_error = of(contract.CompileError("line 1\nline 2"))
    assert (compile_error.outcome, compile_error.message) == ("COMPILE_ERROR", "line 1\nline 2")
    other = of(ValueError("a\n b"))
    assert (other.outcome, other.reason, other.message) == ("CRASHED", "EXCEPTION", "it threw: ValueError: a b")
    long = of(contract.CompileError("x" * 10**6 + "the end")).message
    assert len(long) == failures.MOST_MESSAGE and long.endswith("the end")


class Unsupported(Exception):
    """As torch's compiler names what it cannot do: no word of the implementation's about the problem."""


def test_only_the_contracts_own_unsupported_is_one():
    assert failures.of_exception(Unsupported("no"), "EXCEPTION", "it threw").reason == "EXCEPTION"


def test_statuses_become_outcomes_as_in_the_c_runner():
    expected = {abi.OUT_OF_MEMORY: ("OUT_OF_MEMORY", "OUT_OF_MEMORY", False), abi.LAUNCH_FAILED: ("CRASHED", "LAUNCH_FAILED", False),
                abi.DEVICE_ERROR: ("CRASHED", "DEVICE_FAULT", True), abi.TIMEOUT: ("TIMED_OUT", "BLOCKER_TIMEOUT", False),
                abi.NOT_CAPTURABLE: ("UNSUPPORTED", "NOT_CAPTURABLE", False), abi.IO_ERROR: ("INFRA", "ENGINE_IO", False),
                abi.INVALID_ARGUMENT: ("INFRA", "BAD_REQUEST", False)}
    for status, (outcome, reason, fatal) in expected.items():
        failure = failures.of_engine(EngineError(status, "its words"))
        assert (failure.outcome, failure.reason, failure.fatal, failure.message) == (outcome, reason, fatal, "its words")
    late = failures.of_engine(EngineError(abi.LAUNCH_FAILED, "error 1"), ValueError("why"))
    assert (late.reason, late.message) == ("LAUNCH_FAILED", "the launch failed: ValueError: why")
    assert "(ValueError: why)" in failures.of_engine(EngineError(abi.NOT_CAPTURABLE, "no"), ValueError("why")).message


def run_halving(seconds, limit=1e9, step=0.0):
    """The candidates' constant times; None fails."""
    one, elapsed, trials = halving.Halving(len(seconds), limit), 0.0, []
    while (trial := one.next(elapsed)) is not None:
        candidate, samples = trial
        trials.append(trial)
        one.report([] if seconds[candidate] is None else [seconds[candidate]] * samples)
        elapsed += step
    return one, trials


def test_halving_finds_the_fastest():
    one, trials = run_halving([5.0, 4.9, 4.8, 4.7, 4.6, 4.5, 4.4, 4.3])
    assert (one.best, one.decided, one.timed) == (7, True, 8)
    assert [sum(1 for _, samples in trials if samples == wanted) for wanted in (1, 4, 10)] == [8, 7, 4 + 5 * 2]
    assert [candidate for candidate, samples in trials if samples == 10][:6] == [4, 5, 6, 7, 7, 6], "every other round goes backwards"


def test_halving_has_the_rules_of_the_other_runner():
    source = (ROOT / "worker" / "tuning" / "halving.cc").read_text(encoding="utf-8")
    for name, ours in (("kSamples", halving.SAMPLES), ("kBehind", halving.BEHIND)):
        theirs = re.search(name + r"\[Halving::kRounds\] = \{([^}]*)\}", source).group(1)
        assert tuple(float(word) for word in theirs.split(",")) == ours
    for name, ours in (("kFewest", halving.FEWEST), ("kFarBehind", halving.FAR_BEHIND), ("kAsFast", halving.AS_FAST)):
        assert float(re.search(name + r" = ([0-9.]+);", source).group(1)) == ours


def test_what_is_far_behind_is_dropped_at_once():
    one, trials = run_halving([1.0, 2.0, 1.1])
    assert [candidate for candidate, _ in trials].count(1) == 1
    assert one.best == 0


def test_the_better_guess_wins_among_equals_and_failures_are_out():
    assert run_halving([None, 3.0, 3.0])[0].best == 1
    assert run_halving([3.01, 3.0])[0].best == 0
    assert run_halving([3.02, 3.0])[0].best == 1
    one = run_halving([None, None])[0]
    assert (one.best, one.timed, one.decided) == (None, 0, True)
    assert run_halving([])[0].best is None


def test_nothing_is_tried_after_the_time():
    one, trials = run_halving([3.0, 2.0, 1.0], limit=2.0, step=1.0)
    assert len(trials) == 2
    assert (one.best, one.decided, one.timed) == (1, False, 2)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of kernels with whatever files a test writes: package({"a.py": "..."}) -> its name."""
    made = []

    def make(files, name="made_kernels"):
        folder = tmp_path / name / "torch"
        folder.mkdir(parents=True)
        (tmp_path / name / "__init__.py").write_text("")
        for file, text in files.items():
            (folder / file).write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        made.append(name)
        return name

    yield make
    for module in [one for one in sys.modules if one.split(".")[0] in made]:
        del sys.modules[module]


DECLARES = ("from kbench_kernels.implementation import Implementation\n"
            "IMPLEMENTATIONS = [Implementation({name!r}, 'sum', ('fp32', 'fp16'), 'It.', None, devices={devices!r}, rung=2)]\n")


def declares(name="torch", devices=("cpu", "cuda")):
    return DECLARES.format(name=name, devices=devices)


def test_implementations_are_found_by_their_folder(package):
    name = package({"a.py": declares("torch/a"), "b.py": declares("torch/b", ("cuda",)), "shared.py": "", "notes.txt": "no"})
    found = registry.find(name, "torch", "cpu", "default")
    assert [one.name for one in found.entries] == ["torch/a"]
    assert [one.name for one in registry.find(name, "torch", "cuda", "torch211").entries] == ["torch/a@torch211", "torch/b@torch211"]
    assert not found.broken
    assert not registry.find(name, "triton", "cpu", "default").entries
    context = contract.Context(device="cpu")
    assert registry.describe(found.entries[0], context, "default") == {
        "name": "torch/a", "family": "torch", "kernel": "sum", "dtypes": ["fp32", "fp16"], "default_choice": True, "summary": "It.", "hidden": False,
        "rung": 2, "environment": "default"}
    other = registry.find(name, "torch", "cpu", "torch211").entries[0]
    assert registry.describe(other, context, "torch211")["default_choice"] is False


@pytest.mark.parametrize("text, words", [
    ("import no_such_module", "cannot be imported: ModuleNotFoundError: No module named 'no_such_module'"),
    ("x = (", "cannot be imported: SyntaxError"), ("raise SystemExit(0)", "cannot be imported: SystemExit"),
    ("IMPLEMENTATIONS = [1]", "no implementations that can be used"),
    ("IMPLEMENTATIONS = 1", "cannot be imported: TypeError"), (declares("triton"), "'triton' does not begin with 'torch'"),
    (declares("torch/a"), "sum has a 'torch/a' already"),
])
def test_a_file_that_cannot_be_used_loses_only_itself(package, text, words):
    found = registry.find(package({"a.py": declares("torch/a"), "b.py": text}), "torch", "cpu", "default")
    assert [one.name for one in found.entries] == ["torch/a"]
    assert len(found.broken) == 1
    assert "/torch/b.py" in found.broken[0] and words in found.broken[0]


def test_a_package_that_is_not_there_is_told():
    found = registry.find("no_such_kernels", "torch", "cpu", "default")
    assert "no_such_kernels" in found.broken[0]


def test_the_install_command_names_the_interpreter_that_needs_it(monkeypatch):
    monkeypatch.setattr(frameworks.shutil, "which", lambda _: "/usr/bin/python3")
    monkeypatch.setattr(frameworks.sys, "executable", "/usr/bin/python3")
    assert frameworks.install_command(("torch", "triton")) == "python3 -m pip install torch triton"
    monkeypatch.setattr(frameworks.sys, "executable", "/opt/torch211/bin/python")
    assert frameworks.install_command(["torch"], "--upgrade") == "/opt/torch211/bin/python -m pip install --upgrade torch"


def test_every_dtype_that_an_operand_can_have_is_known_to_torch():
    assert set(tensors.DTYPES) == {"fp64", "fp32", "fp16", "bf16", "fp8e4m3", "int8", "int32"}
