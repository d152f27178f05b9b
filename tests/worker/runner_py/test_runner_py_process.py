"""The Python runner as a process: descriptors, crashes, frameworks that are missing or wrong, the parent, the CPUs."""
import json
import os
import pathlib
import subprocess
import sys
import time

import pytest

from runner_talk import ENGINE, Runner, environment, python_command


def run(*options, python=None, env=None, stdin=b""):
    return subprocess.run(python_command(*options, python=python), input=stdin, capture_output=True, env=env or environment(), timeout=60,
                          check=False)


def hello_of(python=sys.executable, env=None, framework="torch", device="cpu"):
    """The hello of a runner with this interpreter, which has no torch, and whatever packages `env` adds."""
    runner = Runner(python_command("--framework", framework, "--device", device, python=python), env=env)
    kind, hello = runner.say("hello")
    assert kind == "hello", hello
    code, printed = runner.end()
    assert code == 0, printed
    return hello


def test_a_python_without_torch_says_how_to_get_it():
    hello = hello_of()
    assert "implementations" not in hello and "libraries" not in hello
    absent, = hello["absent"]
    assert absent["framework"] == "torch" and absent["environment"] == "default"
    assert absent["message"].startswith("torch is not installed for Python 3.")
    assert absent["install"].endswith("-m pip install torch")
    absent, = hello_of(framework="triton")["absent"]
    assert absent["install"].endswith("-m pip install torch triton")


def test_without_the_framework_a_case_is_refused_and_the_rest_works():
    runner = Runner(python_command(python=sys.executable))
    kind, failure = runner.prepare("torch")
    assert kind == "failure" and failure["reason"] == "UNKNOWN_IMPLEMENTATION"
    assert "torch is not installed" in failure["message"]
    assert runner.say("calibrate")[0] == "calibrated"
    assert runner.end()[0] == 0


@pytest.mark.parametrize("name, text, framework, device, message, install", [
    ("torch", "__version__ = '2.3.1+cu121'", "torch", "cpu", "torch 2.3.1+cu121 is too old: kbench needs 2.4 or newer", "install --upgrade torch"),
    ("torch", "raise ImportError('libcudart.so.12: cannot open')", "torch", "cpu",
     "torch cannot be imported: ImportError: libcudart.so.12: cannot open", "install --force-reinstall torch"),
    ("torch", "raise SystemExit(0)", "torch", "cpu", "torch cannot be imported: SystemExit: 0", "install --force-reinstall torch"),
    ("torch", "import no_such_part", "torch", "cpu", "torch cannot be imported: ModuleNotFoundError: No module named 'no_such_part'",
     "install --force-reinstall torch"),
    ("torch", "", "torch", "cpu", "torch does not tell its version", "install --force-reinstall torch"),
    ("torch", "__version__ = '2.9.0+cpu'\nclass version:\n    cuda = None", "torch", "cuda", "torch 2.9.0+cpu is built without CUDA",
     "install --force-reinstall torch"),
    ("torch", "import warnings\n__version__ = '2.9.0'\nclass version:\n    cuda = '13.0'\nclass cuda:\n"
     "    def is_available():\n        warnings.warn('the driver is too old')\n        return False", "torch", "cuda",
     "torch 2.9.0 (CUDA 13.0) cannot use the GPU: the driver is too old", None),
    ("triton", "__version__ = '3.1.0'", "triton", "cpu", "triton 3.1.0 is too old: kbench needs 3.2 or newer", "install --upgrade triton"),
])
def test_a_framework_that_cannot_be_used_is_one_line(tmp_path, name, text, framework, device, message, install):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text("__version__ = '2.9.0'")
    (tmp_path / name).mkdir(exist_ok=True)
    (tmp_path / name / "__init__.py").write_text(text)
    absent, = hello_of(env=environment(tmp_path), framework=framework, device=device)["absent"]
    assert absent["message"] == message
    assert absent.get("install", "").endswith(install) if install else "install" not in absent


def test_triton_stands_on_torch(start):
    hello = start("--framework", "triton").say("hello")[1]
    assert hello["runner"] == "kbench-runner-triton"
    assert {"torch", "triton"} <= set(hello["libraries"])
    assert "implementations" not in hello and "absent" not in hello  # nothing is missing, there is only nothing for a CPU


def test_a_gpu_that_is_not_there_is_told(start):
    hello = start("--device", "cuda").say("hello")[1]
    assert "implementations" not in hello
    assert "cannot use the GPU" in hello["absent"][0]["message"] or "built without CUDA" in hello["absent"][0]["message"]


def test_what_an_implementation_prints_is_kept_apart(start):
    runner = start()
    runner.prepare("torch/prints")
    assert runner.verify()["passed"]
    code, printed = runner.end()
    assert code == 0
    assert '{"id":"99","finished":{}}' in printed


def test_a_segmentation_fault_ends_the_process_with_its_last_words(start):
    runner = start()
    assert runner.prepare("torch/crashes")[0] == "prepared"
    assert runner.burst()[0] == "ended"
    code, printed = runner.end()
    assert code == -11
    assert "last words" in printed
    assert "Segmentation fault" in printed and "bad.py" in printed


def test_descriptors_3_and_4(tmp_path):
    """As the worker starts it: nothing on standard output but what is printed."""
    requests, to_runner = os.pipe()
    from_runner, replies = os.pipe()
    script = (f"import fcntl, os; high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in ({requests}, {replies})]\n"
              "os.dup2(high[0], 3); os.dup2(high[1], 4)\n"
              f"os.execv({python_command()[0]!r}, {python_command()!r})")
    child = subprocess.Popen([sys.executable, "-c", script], pass_fds=(requests, replies), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env=environment())
    os.close(requests)
    os.close(replies)
    with os.fdopen(to_runner, "wb") as out, os.fdopen(from_runner, "rb") as lines:
        case = {"kernel": "sum", "dtype": "fp32", "size": "1000"}
        out.write(json.dumps({"id": 1, "prepare": {"case": case, "implementation": "torch/prints", "seed": 1}}).encode() + b"\n")
        out.flush()
        assert json.loads(lines.readline())["id"] == "1"
        out.close()
        assert lines.read() == b""
    printed, _ = child.communicate(timeout=30)
    assert child.returncode == 0
    assert printed.startswith(b'{"id":"99","finished":{}}')


def test_without_its_descriptors_it_says_so():
    done = run(python=sys.executable)
    assert done.returncode == 2
    assert b"run it by hand with --stdio" in done.stderr


@pytest.mark.parametrize("options, words", [
    (["--dance"], "unknown argument '--dance'"), (["--engine", "/no/such.so"], "there is no file '/no/such.so'"),
    (["--engine", __file__, "--stdio"], "--engine: "), (["--cpus", "1000", "--stdio"], "cannot run on the CPUs of --cpus"),
])
def test_a_bad_command_line_ends_it_with_words(options, words):
    done = run(*options, python=sys.executable)
    assert done.returncode == 2 and not done.stdout
    assert words in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_another_library_is_no_engine(tmp_path):
    library, = list(pathlib.Path("/lib/x86_64-linux-gnu").glob("libm.so.6")) or pytest.skip("no libm.so.6 where Debian has it")
    done = run("--engine", str(library), "--stdio", python=sys.executable)
    assert done.returncode == 2
    assert "it is no engine of this version of kbench" in done.stderr.decode()


def test_it_stays_on_its_cpus_and_has_its_threads(start):
    cpu = min(os.sched_getaffinity(0))
    runner = start("--cpus", str(cpu))
    prepared = runner.prepare("torch")[1]
    assert prepared["settings"]["threads"] == "1" and prepared["configuration"]["threads"] == "1"
    for task in pathlib.Path(f"/proc/{runner.child.pid}/task").iterdir():
        assert os.sched_getaffinity(int(task.name)) == {cpu}


def test_a_parent_that_is_gone_ends_it(start):
    done = run("--parent", "1", "--stdio", python=sys.executable)
    assert done.returncode == 1


def test_it_ends_with_its_parent(tmp_path):
    """The parent dies without a word, and holds the pipe of the requests as little as anyone else."""
    command = python_command("--stdio", python=sys.executable)
    script = tmp_path / "parent.py"
    script.write_text("import os, subprocess, sys, time\n"
                      f"child = subprocess.Popen({command!r} + ['--parent', str(os.getpid())], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
                      "child.stdin.write(b'{\"id\":1,\"hello\":{}}\\n')\nchild.stdin.flush()\nchild.stdout.readline()\n"
                      "os.set_inheritable(child.stdin.fileno(), True)\n"
                      "keeper = subprocess.Popen(['sleep', '20'], pass_fds=[child.stdin.fileno()])\n"
                      "print(child.pid, keeper.pid, flush=True)\ntime.sleep(60)\n")
    parent = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, env=environment())
    pid, keeper = map(int, parent.stdout.readline().split())
    parent.kill()
    parent.wait()
    try:
        deadline = time.monotonic() + 10
        while pathlib.Path(f"/proc/{pid}").exists() and _state(pid) != "Z":
            assert time.monotonic() < deadline, "the runner outlived its parent"
            time.sleep(0.05)
    finally:
        os.kill(keeper, 9)
        parent.stdout.close()


def _state(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return "Z"


def test_the_garbage_collector_rests_inside_a_burst(tmp_path, start):
    """A launch that makes garbage by the thousand is never stopped to collect it."""
    folder = tmp_path / "gc_kernels/torch"
    folder.mkdir(parents=True)
    (tmp_path / "gc_kernels/__init__.py").write_text("")
    (folder / "sum.py").write_text("""
import gc
import torch
from kbench_kernels.implementation import Implementation, Instance

TIMES = 0


def seen(phase, _info):
    global TIMES
    TIMES += phase == "start"


def create(_problem, operands, _context):
    gc.callbacks.append(seen)

    def launch():
        global TIMES
        TIMES = 0
        for _ in range(5000):
            cycle = []
            cycle.append(cycle)
        torch.sum(operands.inputs[0], dim=0, keepdim=True, out=operands.output)
        if TIMES:
            raise RuntimeError(f"collected {TIMES} times")

    return Instance(launch)


IMPLEMENTATIONS = [Implementation("torch", "sum", ("fp32",), "Makes garbage", create, devices=("cpu",))]
""")
    runner = start("--kernels", "gc_kernels", env=environment(tmp_path))
    assert runner.prepare("torch")[0] == "prepared"
    assert runner.burst(50)[0] == "burst"
    assert runner.verify()["passed"]


def test_the_engine_of_the_build_is_the_one_that_answers(start):
    assert ENGINE.exists()
    assert start().say("hello")[1]["engineVersion"] == "0.1.0"
