"""What only the Python runner has: its hello, exceptions, candidates, device code, torch's switches."""
import json

import pytest


def failed(answer):
    kind, failure = answer
    assert kind == "failure", failure
    return failure


def works_still(runner):
    """The session goes on with the next case."""
    assert runner.prepare("torch")[0] == "prepared"
    assert runner.verify()["passed"]
    runner.finish()


def test_hello_tells_what_there_is(runner):
    kind, hello = runner.say("hello")
    assert kind == "hello"
    assert (hello["protocolVersion"], hello["runner"], hello["deviceKind"]) == (1, "kbench-runner-torch", "cpu")
    assert {"python", "torch"} <= set(hello["libraries"])
    assert hello["engineVersion"] and len(hello["buildId"]) == 40
    infos = {(one["name"], one["kernel"]): one for one in hello["implementations"]}
    assert infos["torch", "sum"] == {
        "name": "torch", "family": "torch", "kernel": "sum", "dtypes": ["fp32", "fp64", "fp16", "bf16"], "defaultChoice": True,
        "summary": "torch.sum", "environment": "default"}
    assert infos["torch/picky", "sum"]["rung"] == 3 and "defaultChoice" not in infos["torch/picky", "sum"]
    assert infos["torch", "matmul"]["dtypes"] == ["fp32", "tf32"]  # bf16 is missing on this machine
    assert ("torch/gpu-only", "sum") not in infos
    assert ("cuda/torch", "sum") not in infos


def test_a_file_that_does_not_import_is_named_and_loses_only_itself(runner):
    absent = runner.say("hello")[1]["absent"]
    assert [one["framework"] for one in absent] == ["torch", "torch"]
    messages = " ".join(one["message"] for one in absent)
    assert "torch/unimportable.py cannot be imported: RuntimeError: this file is broken" in messages
    assert "'cuda/torch' does not begin with 'torch'" in messages


def test_another_environment_gives_other_names_and_no_default_choice(start):
    runner = start("--environment", "torch211")
    infos = runner.say("hello")[1]["implementations"]
    assert all(one["name"].endswith("@torch211") and one["environment"] == "torch211" for one in infos)
    assert not any("defaultChoice" in one for one in infos)
    assert failed(runner.prepare("torch"))["reason"] == "UNKNOWN_IMPLEMENTATION"
    assert runner.prepare("torch@torch211")[0] == "prepared"


@pytest.mark.parametrize("dtype", ["fp64", "fp32", "fp16", "bf16", "int8"])
def test_operands_of_every_dtype_lie_in_the_engines_memory(runner, dtype):
    assert runner.prepare("torch", kernel="copy", dtype=dtype)[0] == "prepared"
    assert runner.verify()["passed"]
    assert runner.verify("NEW_SEED", seed="3")["passed"]


@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
def test_a_transposed_matrix_has_its_extents_exchanged(runner, layout):
    assert runner.prepare("torch", kernel="matmul", size=f"m=17,n=33,k=65,layout={layout}")[0] == "prepared"
    assert runner.verify()["passed"]


def test_the_cost_of_a_callback_is_told(runner):
    settings = runner.prepare("torch")[1]["settings"]
    assert 1e-8 < float(settings["callback_seconds"]) < 1e-4


def test_products_are_tf32_only_where_the_dtype_says_so(runner):
    for dtype, expected in (("fp32", "false"), ("tf32", "true"), ("fp32", "false")):
        configuration = runner.prepare("torch", kernel="matmul", dtype=dtype, size="64")[1]["configuration"]
        assert (configuration["matmul.allow_tf32"], configuration["cudnn.allow_tf32"]) == (expected, expected)
        runner.finish()
    configuration = runner.prepare("torch/forces-tf32", kernel="matmul", size="64")[1]["configuration"]
    assert configuration["matmul.allow_tf32"] == "true"  # what it is, not what the runner set


@pytest.mark.parametrize("name, size, outcome, reason, words", [
    ("picky", "1000", "UNSUPPORTED", "UNSUPPORTED_PROBLEM", "a multiple of 1024"),
    ("picky", "4096", "UNSUPPORTED", "UNSUPPORTED_PROBLEM", "fewer than 2000"),
    ("throws", "1000", "CRASHED", "EXCEPTION", "torch/throws threw while it was created: ValueError: on purpose"),
    ("create-exits", "1000", "CRASHED", "EXCEPTION", "SystemExit"),
    ("no-instance", "1000", "CRASHED", "EXCEPTION", "create returned None, which has no launch"),
    ("bad-ask", "1000", "CRASHED", "EXCEPTION", "asked for what it supports: KeyError"),
    ("bad-offer", "1000", "CRASHED", "EXCEPTION", "named its candidates: ValueError: no idea"),
    ("compile-error", "1000", "COMPILE_ERROR", "COMPILE_ERROR", "line 3: expected ';'"),
    ("create-oom", "1000", "OUT_OF_MEMORY", "OUT_OF_MEMORY", "the workspace"),
    ("raises", "1000", "CRASHED", "LAUNCH_FAILED", "the launch failed: ValueError: no such luck"),
    ("exits", "1000", "CRASHED", "LAUNCH_FAILED", "SystemExit"),
    ("out-of-memory", "1000", "OUT_OF_MEMORY", "OUT_OF_MEMORY", "you tried to allocate"),
    ("compiles-late", "1000", "COMPILE_ERROR", "COMPILE_ERROR", "no such type"),
])
def test_an_exception_is_an_outcome_and_the_next_case_runs(runner, name, size, outcome, reason, words):
    failure = failed(runner.prepare(f"torch/{name}", size=size))
    assert (failure["outcome"], failure["reason"]) == (f"OUTCOME_{outcome}", reason)
    assert words in failure["message"]
    assert "fatal" not in failure
    works_still(runner)


def test_an_exception_in_a_burst_throws_the_times_away(runner):
    runner.prepare("torch/raises-late")
    assert runner.verify()["passed"]
    failure = failed(runner.burst(100))
    assert failure["message"] == "the launch failed: RuntimeError: on purpose"
    runner.finish()
    works_still(runner)


def test_the_first_candidate_that_works_is_the_default(runner):
    prepared = runner.prepare("torch/some")[1]
    assert (prepared["candidate"], prepared["candidates"], prepared["tuned"]) == ("slow", 4, "default")
    assert "autotuneSeconds" not in prepared
    configuration = prepared["configuration"]
    assert {key: configuration[key] for key in ("kind", "candidate", "candidates", "tuned")} == {
        "kind": "slow", "candidate": "slow", "candidates": "4", "tuned": "default"}


@pytest.mark.parametrize("mode", ["cold", "hot", "steady"])
def test_tuning_goes_on_with_the_fastest(runner, mode):
    before = runner.prepare("torch/some", mode=mode)[1]
    kind, tuned = runner.say("tune", maxSeconds=5)
    assert kind == "tuned"
    assert (tuned["candidate"], tuned["tuned"]) == ("fast", "measured")
    assert tuned["configuration"]["kind"] == "fast"
    assert tuned["configuration"]["candidates_timed"] == "2"
    assert float(tuned["configuration"]["autotune_compile_seconds"]) <= tuned["autotuneSeconds"]
    assert tuned["estimateSeconds"] < before["estimateSeconds"]
    assert tuned["firstCallSeconds"] == before["firstCallSeconds"]
    assert runner.verify()["passed"]
    assert min(runner.burst(4)[1]["deviceSeconds"]) < 0.003


def test_a_known_candidate_is_taken_and_an_unknown_one_is_not(runner):
    assert runner.prepare("torch/some", candidate="fast")[1]["tuned"] == "cached"
    runner.finish()
    prepared = runner.prepare("torch/some", candidate="fails")[1]
    assert (prepared["candidate"], prepared["tuned"]) == ("slow", "default")
    runner.finish()
    assert runner.prepare("torch/some", candidate="gone")[1]["candidate"] == "slow"


def test_without_a_choice_nothing_is_tuned(runner):
    prepared = runner.prepare("torch/one")[1]
    assert prepared["candidates"] == 1 and "tuned" not in prepared
    assert "autotuneSeconds" not in runner.say("tune", maxSeconds=5)[1]


def test_where_no_candidate_works_the_first_ones_reason_is_told(runner):
    assert failed(runner.prepare("torch/refusing"))["reason"] == "UNSUPPORTED_PROBLEM"
    assert failed(runner.prepare("torch/broken"))["reason"] == "LAUNCH_FAILED"


def test_a_fast_candidate_that_computes_nonsense_is_found(runner):
    runner.prepare("torch/lies")
    assert runner.say("tune", maxSeconds=5)[1]["candidate"] == "wrong"
    check = runner.verify()
    assert "passed" not in check and check["reason"] in ("TOLERANCE", "NORM")


def test_too_little_time_to_tune_keeps_the_default(runner):
    runner.prepare("torch/some")
    tuned = runner.say("tune", maxSeconds=1e-9)[1]
    assert tuned["candidate"] == "slow"
    assert tuned["configuration"]["tuning"] == "no time was left to try a candidate"


def test_device_code_becomes_files(runner, tmp_path):
    runner.prepare("torch/code")
    names = runner.say("collectCode")[1]
    assert names["functions"] == ["sum_kernel", "tail"] and "files" not in names
    kind, collected = runner.say("collectCode", directory=str(tmp_path), architecture="sm_90")
    assert kind == "codeCollected"
    assert [(one["name"], one["kind"], one["architecture"], one["functions"]) for one in collected["files"]] == [
        ("code-0.cubin", "cubin", "sm_90a", ["sum_kernel"]), ("code-1.ptx", "ptx", "sm_90a", ["sum_kernel"]),
        ("code-2.ptx", "ptx", "sm_90", ["tail"])]
    for one in collected["files"]:
        assert (tmp_path / one["name"]).stat().st_size == int(one["sizeBytes"])
    assert (tmp_path / "code-0.cubin").read_bytes() == b"\x7fELFn=1000"
    assert collected["message"] == "there is no cubin of tail"
    assert collected["digest"] == names["digest"]
    runner.finish()
    runner.prepare("torch/code", size="1001")
    assert runner.say("collectCode")[1]["digest"] != names["digest"]  # the same functions, compiled for another shape


def test_code_that_cannot_be_had_or_written_is_told(runner):
    runner.prepare("torch/broken-code")
    assert "ZeroDivisionError" in runner.say("collectCode", directory="/nowhere")[1]["message"]
    runner.finish()
    runner.prepare("torch/code")
    collected = runner.say("collectCode", directory="/nowhere")[1]
    assert "cannot write /nowhere/code-0.cubin" in collected["message"] and "files" not in collected
    runner.finish()
    runner.prepare("torch")
    assert runner.say("collectCode", directory="/nowhere")[1] == {}


def test_every_line_is_json_whatever_is_printed(runner):
    runner.prepare("torch/prints")
    assert runner.verify()["passed"]
    assert runner.burst()[0] == "burst"
    assert all(json.loads(line) for line in runner.replies)
