"""Python environments of a worker's configuration: side by side, absent, misbehaving, and named by clients."""
import pytest

from stack import outcomes


def config(**pythons):
    return "".join(f'[env.{name}]\npython = "{path}"\n\n' for name, path in pythons.items())


@pytest.fixture
def environments(empty):
    empty.server = empty.start_server()
    empty.worker = empty.start_worker(config=config(
        default=empty.python("good"), torch211=empty.python("prints"), broken=empty.python("traceback"), gone="/nonexistent/python"))
    return empty


def kernels(stack):
    lines = stack.client("kernels", "-o", "json").lines
    return [line["kernel"] for line in lines if "kernel" in line], [line["absent"] for line in lines if "absent" in line]


def test_two_environments_are_paired_in_one_case(environments):
    ran = environments.submit("sum", "fp32", "4Ki", "--quick", "--impl", "torch", "--env", "default,torch211")
    assert ran.code in (0, 4), ran
    assert outcomes(ran.results) == {"torch": "OK", "torch@torch211": "OK"}
    by_name = {r["implementation"]: r for r in ran.results}
    assert by_name["torch@torch211"]["comparison"]["baseline"] == "torch", ran
    assert by_name["torch@torch211"]["environment"]["settings"]["environment"] == "torch211"
    assert by_name["torch@torch211"]["environment"]["libraries"]["torch"] == "2.11.0"
    # Alone, and by its exact name, it is the same implementation.
    for asked in (("--impl", "torch", "--env", "torch211"), ("--impl", "torch@torch211")):
        alone = environments.submit("sum", "fp32", "4Ki", "--quick", *asked)
        assert outcomes(alone.results) == {"torch@torch211": "OK"}, alone
    compared = environments.client("compare", "sum", "fp32", "4Ki", "--quick", "--impl", "torch", "--env", "default,torch211")
    assert compared.code in (0, 4) and "torch@torch211" in compared.out, compared
    # History and artifacts hold the name whole.
    listed = environments.client("artifacts", by_name["torch"]["job"].removeprefix("jobs/"))
    assert "samples-torch_torch211.json" in listed.out, listed


def test_the_default_choice_is_of_the_default_environment(environments):
    ran = environments.submit("sum", "fp32", "4Ki", "--quick")
    names = set(outcomes(ran.results))
    assert "torch" in names and not any("@" in name for name in names), ran
    ran = environments.submit("sum", "fp32", "4Ki", "--quick", "--env", "torch211")
    names = set(outcomes(ran.results))
    assert "torch@torch211" in names and "torch" not in names and len(names) > 1, ran


def test_what_is_absent_is_a_line_that_says_why(environments):
    _, absent = kernels(environments)
    why = {a["framework"]["environment"]: a["framework"]["message"] for a in absent}
    assert set(why) == {"broken", "gone"}, absent
    assert "/nonexistent/python does not exist" in why["gone"] and "[env.gone]" in why["gone"]
    assert "No module named 'kbench_runner'" in why["broken"]
    for verb in (("kernels",), ("devices", "-v")):
        text = " ".join(environments.client(*verb).out.split())
        assert "torch (gone) is absent: /nonexistent/python does not exist" in text, text
        assert "torch (broken) is absent: " in text, text
    for args, words in [
            (("--env", "torch99"), ["env", "torch99", "default", "torch211"]),
            (("--env", "gone"), ["env", "gone", "/nonexistent/python does not exist"]),
            (("--impl", "torch@gone"), ["impl", "torch@gone", "does not exist"]),
            (("--impl", "torch/flush"), ["impl", "torch/flush", "nearest"])]:
        ran = environments.client("submit", "sum", "fp32", "64", *args)
        assert ran.code == 2 and len(ran.err.splitlines()) == 1, ran
        for word in words:
            assert word in ran.err, ran


def test_faults_are_outcomes_with_what_was_said_last(environments):
    ran = environments.submit("sum", "fp32", "4Ki", "--quick", "--budget", "12s",
                              "--impl", "torch/crash,torch/hang,torch/raise,torch,cpu/naive")
    assert ran.code == 1, ran
    assert outcomes(ran.results) == {"torch/crash": "CRASHED", "torch/hang": "TIMED_OUT", "torch/raise": "CRASHED",
                                     "torch": "OK", "cpu/naive": "OK"}, ran
    by_name = {r["implementation"]: r for r in ran.results}
    assert "it said last: waiting for ever" in by_name["torch/hang"]["message"]
    assert "ValueError: scripted" in by_name["torch/raise"]["message"]
    log = next(a for a in by_name["torch/crash"]["artifacts"] if "-log-" in a)
    assert "about to crash" in environments.client("artifacts", by_name["torch"]["job"].removeprefix("jobs/"),
                                                   "--get", log.removeprefix("artifacts/")).out
    shown = environments.client("show", by_name["torch"]["job"].removeprefix("jobs/"))
    assert "it said last" in " ".join(shown.out.split()), shown
    # The next case finds runners again.
    after = environments.submit("sum", "fp32", "4Ki", "--quick", "--impl", "torch")
    assert outcomes(after.results) == {"torch": "OK"}, after


def test_a_job_submitted_while_runners_start_waits_for_them(empty):
    empty.server = empty.start_server()
    empty.worker = empty.start_worker(config=config(default=empty.python("slow")), wait=False)
    empty.wait_until(lambda: empty.devices(), "no device is listed", empty.worker)
    ran = empty.submit("sum", "fp32", "4Ki", "--quick", "--impl", "torch")
    assert outcomes(ran.results) == {"torch": "OK"}, ran


def test_a_runner_that_never_answers_neither_hangs_the_stack_nor_the_end_of_the_worker(empty):
    empty.server = empty.start_server()
    empty.worker = empty.start_worker(config=config(default=empty.python("mute")), wait=False)
    empty.wait_until(lambda: empty.devices(), "no device is listed", empty.worker)
    assert "waits for Python runners to start: torch (default)" in empty.client("devices").out
    assert "its runner is being started" in empty.client("kernels").out
    assert empty.terminate(empty.worker) == 0


def test_up_uses_the_configuration_of_the_user(empty):
    up = ("up", "--device", "cpu", "--metrics-listen", "127.0.0.1:0")
    folder = empty.root / "config" / "kbench"
    folder.mkdir()
    (folder / "worker.toml").write_text('[env.Bad]\npython = "/x"\n')
    try:
        ran = empty.client(*up)
        assert ran.code == 5 and f"{folder}/worker.toml:1: [env.Bad]: an environment's name has" in ran.err, ran
        (folder / "worker.toml").write_text(config(default=empty.python("absent")))
        assert empty.client(*up).code == 0
        empty.wait_until(empty.device_ready, "no device is ready")
        text = " ".join(empty.client("kernels").out.split())
        assert "torch (default) is absent: No module named 'torch'; install it with: " in text, text
    finally:
        empty.client("down")
