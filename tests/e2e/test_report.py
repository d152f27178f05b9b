"""report roi: a suite measured on the CPU stack, and read again from jobs and from a file."""
import json
import os
import pathlib
import re
import xml.etree.ElementTree as ElementTree

import pytest

import synthetic_results

TORCH = pathlib.Path(os.environ.get("KBENCH_TORCH_PYTHON", "/nonexistent"))
SUITE = """name: "little"
summary: "Two kernels by size."
entries { kernels: "sum" dtypes: "fp32" sizes: "1Ki..256Ki*16" target: "10%" }
entries { kernels: "matmul" dtypes: "fp32" sizes: "32,64" target: "10%" }
entries { kernels: "softmax" dtypes: "fp32" sizes: "64x1024" target: "10%" }
"""


@pytest.fixture(scope="module")
def measured(shared_with_torch):
    """The suite run once: the stack, how the client ended, and its page."""
    stack = shared_with_torch
    folder = pathlib.Path(stack.env["XDG_CONFIG_HOME"]) / "kbench" / "suites"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "little.textproto").write_text(SUITE)
    page = stack.root / "roi.html"
    ran = stack.client("report", "roi", "--suite", "little", "--html", page, "--label", "why=test", timeout=300)
    assert ran.code in (0, 4), ran
    return stack, ran, page.read_text()


@pytest.fixture(scope="module")
def shared_with_torch(shared):
    """The CPU stack, with torch where this environment has it."""
    if TORCH.exists():
        shared.terminate(shared.worker)
        shared.worker = shared.start_worker(config=f'[env.default]\npython = "{TORCH}"\n', wait=False)
        shared.wait_until(lambda: any(one["name"] == "torch" for device in shared.devices() if device["state"] == "READY"
                                      for one in device["implementations"]), "torch is not offered", shared.worker, seconds=120)
    return shared


def job_of(stack):
    return stack.client("list", "-o", "json").lines[0]["job"]


def test_markdown_has_every_part(measured):
    stack, ran, _ = measured
    titles = re.findall(r"^## (.*)$", ran.out, re.M)
    assert titles == ["In short", "The four regimes", "The essay's cells", "Speed by size", "Launch costs", "What Triton's parts cost", "Shares of peak",
                      "tf32: rounded or truncated", "Lines of code", "Compiling and tuning", "Rows", "Environment"], ran
    assert "The essay measured one NVIDIA L4; this is " in ran.out, ran
    assert re.search(r"\| sum \| Triton fp32 against CUDA fp32 \| 0\.950x \| not measured \| - \| not measured \|", ran.out), ran
    assert "**sum fp32, by n**" in ran.out and "**matmul fp32, by m=n=k**" in ran.out, ran
    assert re.search(r"\| sum \| cpu/naive \| \d+ \| - \| kernels/cpu/naive_sum\.cc \|", ran.out), ran
    assert "kbench-client report roi --suite little --device cpu --html roi.html" in ran.out, ran
    assert job_of(stack)["spec"]["labels"] == {"suite": "little", "why": "test"}
    if TORCH.exists():
        assert re.search(r"\| sum \| torch \| \d+ \|", ran.out), ran


def test_the_page_is_well_formed_and_loads_nothing(measured):
    _, _, page = measured
    root = ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>\n"))
    # All that has an address points into the page.
    addresses = [value for node in root.iter() for key, value in node.attrib.items() if key in ("href", "src")]
    assert addresses and all(value.startswith("#") for value in addresses), addresses
    assert not {"script", "link", "img", "iframe", "object"} & {node.tag.rsplit("}")[-1] for node in root.iter()}
    ids = {node.get("id") for node in root.iter() if node.get("id")}
    assert {value[1:] for value in addresses} <= ids
    assert len([node for node in root.iter() if node.tag.endswith("svg")]) == 3
    assert "@import" not in page and "url(" not in page and len(page) < 1 << 20


def tables(markdown):
    """Everything but how it was made."""
    return markdown.split("## Environment")[0]


def test_the_same_results_give_the_same_report(measured):
    stack, ran, _ = measured
    job = job_of(stack)["name"].removeprefix("jobs/")
    of_job = stack.client("report", "roi", "--jobs", job)
    assert of_job.code == 0 and tables(of_job.out) == tables(ran.out), of_job
    lines = stack.root / "roi.jsonl"
    lines.write_text(stack.client("show", job, "-o", "json").out)
    again = stack.root / "again.md"
    of_file = stack.client("report", "roi", "--from", lines, "--markdown", again, env={"KBENCH_SERVER": "unix:/nonexistent.sock"})
    assert of_file.code == 0 and not of_file.out and "again.md: " in of_file.err, of_file
    assert tables(again.read_text()) == tables(ran.out)
    assert f"kbench-client report roi --from {lines}" in again.read_text()


def factor(value):
    """As the report writes it."""
    if value >= 9.995:
        return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}"
    return f"{value:.3f}" if value >= 0.0995 else f"{value:#.3g}"


def test_ratios_are_those_of_the_worker(measured):
    """The worker paired each row with its baseline; the report pairs them anew, from the rounds. On a CPU both hold plain C++ against the library."""
    stack, ran, _ = measured
    job = job_of(stack)["name"].removeprefix("jobs/")
    rows = stack.client("show", job, "-o", "json").results
    compared = 0
    for row in rows:
        comparison = row.get("comparison", {})
        case = [other for other in rows if other.get("case_index") == row.get("case_index")]
        libraries = [other["implementation"] for other in case if other["implementation"].startswith("cpu/") and other["implementation"] != "cpu/naive"]
        # The report holds the fastest library against plain C++, the worker plain C++ against its baseline: where it is the only one, the inverse.
        if row["implementation"] != "cpu/naive" or libraries != [comparison.get("baseline")] or not comparison.get("low"):
            continue
        inverse = f"{factor(1 / comparison['speedup'])}x [{factor(1 / comparison['high'])}, {factor(1 / comparison['low'])}]"
        assert inverse in ran.out, (inverse, ran)
        compared += 1
    assert compared > 0, "no case has one library; change SUITE"


def test_end_to_end_times_have_an_interval(measured):
    stack, _, _ = measured
    job = job_of(stack)["name"].removeprefix("jobs/")
    for row in stack.client("show", job, "-o", "json").results:
        if row["outcome"] != "OUTCOME_OK":
            continue
        time = row["end_to_end_time"]
        assert row["end_to_end_seconds"] == time["median"], row
        assert 1 <= time["samples"] <= 7 and (time["samples"] < 7 or time["low"] <= time["median"] <= time["high"]), row


def test_a_gpu_that_there_is_not(empty):
    """Every implementation of the suite, from numbers that were made up: what the report finds in them is what went in."""
    lines = "".join(json.dumps({"result": one}) + "\n" for one in synthetic_results.results())
    (empty.root / "made_up.jsonl").write_text(lines)
    ran = empty.client("report", "roi", "--from", empty.root / "made_up.jsonl", "--html", empty.root / "page.html")
    assert ran.code == 0, ran
    assert "247 rows of 52 cases: 247 OK, 247 of them VALID." in ran.out, ran
    for title in ("sum fp32, by n", "softmax fp32, cols=4096, by rows", "matmul tf32, by m=n=k", "attention fp16, b=1,h=16,d=64, by s",
                  "chain fp32, n=1048576, by depth", "chain fp32, depth=30, by n"):
        assert f"**{title}**" in ran.out, title
    # Triton has 1.06 of the roof that cuBLAS has; torch attention in fp32 0.4 where Triton has 0.94.
    assert re.search(r"\| matmul \| Triton fp16 against cuBLAS fp16 \| 1\.04x \| 1\.0[56]\dx \[.*\] \| triton / cublas \| reproduced \|", ran.out), ran
    assert re.search(r"\| attention \| Triton fp32 against torch fp32 \| 2\.35x \| 2\.3\d\dx \[.*\] \| triton / torch/flash \| reproduced \|", ran.out), ran
    assert "truncated to tf32, not rounded: triton 7.8e-4, triton-aot 7.8e-4." in ran.out, ran
    # 28 us beside 3.4 us, and 3.4 us beside 3 us.
    assert re.search(r"\| sum fp32 n=64Ki \| triton - triton-aot \| \+2[45]\.\d\d us \[", ran.out), ran
    assert re.search(r"\| sum fp32 n=1Mi \| triton-aot against cuda/vectorized \|.*\| yes \|", ran.out), ran
    assert re.search(r"\| sum fp32 n=1Mi \| cuda/vectorized \|.*\| reference \|", ran.out), ran
    page = (empty.root / "page.html").read_text()
    root = ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>\n"))
    assert len([node for node in root.iter() if node.tag.endswith("svg")]) == 3 and len(page) < 1 << 20
    assert "NVIDIA L4" in page and "nan" not in page


def test_wrong_use(shared, tmp_path):
    garbage = tmp_path / "garbage.jsonl"
    garbage.write_text('{"job":{}}\nnot json\n')
    two = tmp_path / "two.jsonl"
    rows = [{"result": {"name": f"results/a-0-{d}", "device": d, "implementation": "torch", "outcome": "OUTCOME_OK", "device_time": {"median": 1e-3},
                        "case": {"kernel": "sum", "dtype": "fp32", "shape": "n=1024"}, "environment": {"device_name": "x"}}} for d in ("gpu0", "gpu1")]
    two.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for arguments, code, part in [
            (("roof",), 2, "there is no report roof; take roi"),
            (("roi", "--from", garbage), 2, "garbage.jsonl:2: is not JSON"),
            (("roi", "--from", "/nonexistent"), 2, "No such file"),
            (("roi", "--from", "-"), 2, "standard input: holds no line"),
            (("roi", "--from", garbage, "--jobs", "a"), 2, "not both"),
            (("roi", "--from", garbage, "--quick"), 2, "--quick is for measuring"),
            (("roi", "--from", two), 2, "2 devices"),
            (("roi", "--jobs", "nosuchjob"), 2, "nosuchjob"),
            (("roi", "--suite", "nosuchsuite"), 2, "nosuchsuite"),
            (("roi", "--from", two, "--device", "gpu1", "--html", "/nonexistent/x.html"), 5, "cannot write /nonexistent/x.html")]:
        ran = shared.client("report", *arguments)
        assert ran.code == code and part in ran.err and not ran.out, (arguments, ran)
    assert shared.client("report", "roi", "--from", two, "--device", "gpu1").code == 0


def test_kernels_tell_what_runs_unasked(shared):
    out = shared.client("kernels", "sum").out
    assert re.search(r"^  cpu/naive +(yes|no|fp)", out, re.M), out
