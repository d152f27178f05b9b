"""Suites: listed, checked, shown beforehand and run on the CPU stack."""
import pathlib
import re
import signal

import pytest

from stack import ROOT, outcomes

SHIPPED = sorted((ROOT / "deploy/suites").glob("*.textproto"))
TINY = """name: "tiny"
summary: "Two sums and a product."
entries { kernels: "sum" dtypes: "fp32" sizes: "1Ki,2Ki" implementations: "cpu/naive" target: "10%" }
entries { kernels: "matmul" dtypes: "fp32" sizes: "32" implementations: "cpu/naive" target: "20%" comment: "A job of its own." }
"""


def write(stack, name, text):
    folder = pathlib.Path(stack.env["XDG_CONFIG_HOME"]) / "kbench" / "suites"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.textproto"
    path.write_text(text)
    return path


def jobs(stack):
    return [line["job"] for line in stack.client("list", "-o", "json").lines]


def test_every_shipped_suite_is_good_without_a_coordinator(empty):
    assert {"smoke", "essay", "abstraction-roi", "floors"} <= {path.stem for path in SHIPPED}
    for path in SHIPPED:
        ran = empty.client("suite", "check", "--file", path)
        assert ran.code == 0 and f"{path}: good" in ran.out and "no coordinator answers" in ran.err, ran
    listed = {line["suite"]["name"]: line["suite"] for line in empty.client("suite", "list", "-o", "json").lines}
    assert {path.stem for path in SHIPPED} == set(listed), "they lie where the programs look for them"
    assert all(one["where"] == "installed" and one["good"] and one["summary"] for one in listed.values()), listed


def test_shipped_suites_name_no_implementation_that_may_be_absent():
    for path in SHIPPED:
        for words in re.findall(r"^ *implementations: (.*)$", path.read_text(), re.MULTILINE):
            assert all(word == "default" or word.endswith("?") for word in re.findall(r'"([^"]*)"', words)), path


def test_the_default_choice_beside_others_and_what_may_be_absent(shared):
    ran = shared.submit("sum", "fp32", "4Ki", "--quick", "--impl", "default,cpu/naive,nosuch?")
    assert outcomes(ran.results) == {"cpu/naive": "OK", "cpu/onednn": "OK"}, ran
    ran = shared.submit("sum", "fp32", "4Ki", "--quick", "--impl", "nosuch?")
    assert ran.code == 5 and "no implementation for this case" in ran.err, ran


def test_a_suite_of_ones_own_hides_the_installed_one(empty):
    own = write(empty, "smoke", 'name: "smoke" entries { kernels: "sum" dtypes: "fp32" sizes: "64" }')
    ran = empty.client("suite", "list")
    assert ran.code == 0 and f"{own}: hides " in ran.out, ran
    ran = empty.client("suite", "check", "smoke")
    assert ran.code == 0 and f"{own}: good, 1 case in 1 job" in ran.out, ran
    ran = empty.client("suite", "run", "smoke", "--dry-run")
    assert ran.code == 0 and "wait: not known" in ran.out, ran
    assert empty.client("suite", "run", "smoke").code == 5, "nothing listens"
    assert empty.client("suite", "check", "smoke", "--against", "unix:/nonexistent.sock").code == 5


@pytest.mark.parametrize("text,part", [
    ('name: "bad"\nentries {\n  kernel: "sum"\n}\n', "bad.textproto:3:9: "),
    ('name: "bad"\nentries {\n', "bad.textproto:"),
    ('name: "bad"\n\nentries { kernels: "mtmul" dtypes: "fp32" sizes: "64" }', "bad.textproto:3: entry 1: kernel: "),
    ('name: "good"\nentries { kernels: "sum" dtypes: "fp32" sizes: "64" }', 'call it "bad"'),
    ("", "is no name of a suite"),
])
def test_what_is_wrong_has_its_place(empty, text, part):
    write(empty, "bad", text)
    for action in (("check", "bad"), ("run", "bad"), ("run", "bad", "--dry-run")):
        ran = empty.client("suite", *action)
        assert ran.code == 2 and part in ran.err and not ran.out, ran
    assert "broken: see kbench-client suite check bad" in empty.client("suite", "list").out


def test_check_tells_what_no_device_has(shared):
    write(shared, "wants", 'name: "wants" entries { kernels: "sum" dtypes: "fp32" sizes: "64" implementations: ["cpu", "triton-aot"] }')
    ran = shared.client("suite", "check", "wants")
    assert ran.code == 0 and "entry 1: no device has the implementation triton-aot" in ran.out, ran
    assert "implementation cpu" not in ran.out, ran
    ran = shared.client("suite", "run", "wants")
    assert ran.code == 2 and "triton-aot" in ran.err, ran


def test_a_dry_run_submits_nothing(shared):
    write(shared, "tiny", TINY)
    before = jobs(shared)
    ran = shared.client("suite", "run", "tiny", "--dry-run")
    assert ran.code == 0 and ran.out.startswith("tiny: 3 cases in 2 jobs\n"), ran
    assert "estimated time: " in ran.out and "wait: none, nothing is queued on cpu" in ran.out and "nothing was submitted" in ran.out, ran
    ran = shared.client("suite", "run", "tiny", "--dry-run", "--device", "gpu7")
    assert ran.code in (2, 75) and "gpu7" in ran.err, ran  # just after its start the coordinator waits for workers to come back
    assert jobs(shared) == before


def test_run_quick_then_the_estimate_comes_from_history(shared):
    write(shared, "tiny", TINY)
    ran = shared.client("suite", "run", "tiny", "--quick", "-o", "json", "--label", "why=test")
    assert ran.code in (0, 4), ran
    got = [(r["case"]["kernel"], r["case"]["shape"], r["implementation"]) for r in ran.results]
    assert got == [("sum", "n=1024", "cpu/naive"), ("sum", "n=2048", "cpu/naive"), ("matmul", "m=32,n=32,k=32,layout=nn", "cpu/naive")], ran
    ran_jobs = {r["job"] for r in ran.results}
    assert len(ran_jobs) == 1, "one precision for all is one job"
    job, _ = shared.job(ran_jobs.pop().removeprefix("jobs/"))
    assert job["spec"]["labels"] == {"suite": "tiny", "why": "test"}, job
    plan = shared.client("suite", "run", "tiny", "--quick", "--dry-run", "-o", "json").lines[-1]["plan"]
    assert plan["cases"] == plan["cases_remembered"] == 3 and 0 < plan["estimated_seconds"] < plan["most_seconds"] == 180, plan


def test_detach_prints_each_job(shared):
    write(shared, "tiny", TINY)
    ran = shared.client("suite", "run", "tiny", "--detach")
    assert ran.code == 0, ran
    names = ran.out.split()
    assert len(names) == 2, ran
    for name in names:
        assert shared.client("watch", name).code in (0, 4)
        job, results = shared.job(name)
        assert job["spec"]["labels"] == {"suite": "tiny"} and results, job


def test_ctrl_c_leaves_every_job_running(shared):
    write(shared, "tiny", TINY)
    client = shared.start_client("suite", "run", "tiny", "-o", "json")
    assert "snapshot" in client.stdout.readline()
    client.send_signal(signal.SIGINT)
    ran = shared.finish(client)
    assert ran.code == 130 and "goes on; resume with" in ran.err and "goes on too: kbench-client watch " in ran.err, ran
    for line in ran.err.splitlines():
        assert shared.client("watch", line.split()[-1]).code in (0, 4), line


def test_the_smoke_suite_runs_on_a_cpu(shared):
    ran = shared.client("suite", "run", "smoke", "--quick", "-o", "json", timeout=300)
    assert ran.code in (0, 4), ran
    assert {r["case"]["kernel"] for r in ran.results} == {"null", "copy", "sum", "chain", "softmax", "matmul", "attention"}, ran
