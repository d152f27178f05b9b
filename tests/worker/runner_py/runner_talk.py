"""Talks to a runner, C++ or Python, as the worker does: one JSON line each way."""
import json
import os
import pathlib
import select
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
HERE = pathlib.Path(__file__).resolve().parent
SOURCES = [ROOT / "worker/runner_py", ROOT / "kernels/python", HERE]
TORCH_PYTHON = pathlib.Path(os.environ.get("KBENCH_TORCH_PYTHON", ROOT / ".venv-torch/bin/python"))
ANSWER_SECONDS = 120


def find_bin():
    given = os.environ.get("KBENCH_BIN")
    candidates = [pathlib.Path(given)] if given else [ROOT / "build" / preset / "bin" for preset in ("ci", "dev", "release")]
    for candidate in candidates:
        if (candidate / "libkbench-engine.so").exists():
            return candidate.resolve()
    raise RuntimeError(f"no libkbench-engine.so in {', '.join(map(str, candidates))}: build first, or set KBENCH_BIN")


BIN = find_bin()
ENGINE = BIN / "libkbench-engine.so"
FIXTURE_RUNNER = BIN.parent / "tests/kbench-runner-fixtures"


def environment(*more):
    """Of a Python runner whose packages are found in the sources and `more`."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, [*more, *SOURCES])), "PYTHONDONTWRITEBYTECODE": "1"}


def python_command(*options, python=None, kernels="fixture_kernels"):
    if python is None:
        python = TORCH_PYTHON
        if not python.exists():
            pytest.fail(f"no {python}: run deploy/setup.sh torch, or set KBENCH_TORCH_PYTHON")
    given = {"--framework": "torch", "--device": "cpu", "--engine": ENGINE, "--kernels": kernels}
    command = [python, "-m", "kbench_runner"]
    for name, value in given.items():
        if name not in options:
            command += [name, value]
    return list(map(str, [*command, *options]))


class Runner:
    """One runner with --stdio. `end()` gives how it ended and what it printed."""

    def __init__(self, command, env=None):
        self.child = subprocess.Popen([*map(str, command), "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      env=env if env is not None else environment())
        self.last_id = 0
        self.replies = []  # every line, for whoever wants to look at them all
        self._rest = b""
        os.set_blocking(self.child.stderr.fileno(), False)
        self.printed = b""

    def _line(self):
        """Reads standard error meanwhile: a full pipe would stop the runner."""
        out, err = self.child.stdout.fileno(), self.child.stderr.fileno()
        while b"\n" not in self._rest:
            ready, _, _ = select.select([out, err], [], [], ANSWER_SECONDS)
            assert ready, f"no answer within {ANSWER_SECONDS} s"
            if err in ready:
                self.printed += os.read(err, 1 << 16)
                if out not in ready:
                    if self.child.poll() is not None and not select.select([out], [], [], 0)[0]:
                        return b""
                    continue
            chunk = os.read(out, 1 << 16)
            if not chunk:
                return b""
            self._rest += chunk
        line, self._rest = self._rest.split(b"\n", 1)
        return line

    def send(self, line):
        """The reply to a line as it stands; None when the runner ended instead."""
        self.child.stdin.write(line + b"\n")
        self.child.stdin.flush()
        answer = self._line()
        if not answer:
            return None
        self.replies.append(answer)
        return json.loads(answer)

    def say(self, kind, **fields):
        """(kind of the reply, its fields)."""
        self.last_id += 1
        reply = self.send(json.dumps({"id": str(self.last_id), kind: fields}).encode())
        if reply is None:
            return "ended", {}
        assert reply.pop("id") == str(self.last_id)
        (answered, message), = reply.items()
        return answered, message

    def prepare(self, implementation, kernel="sum", dtype="fp32", size="1000", mode="", **more):
        case = {"kernel": kernel, "dtype": dtype, "size": size, "mode": mode}
        return self.say("prepare", **{"case": case, "implementation": implementation, "seed": "1", "launchLimitSeconds": 5} | more)

    def verify(self, stage="BEFORE", **more):
        answered, message = self.say("verify", stage=stage, **more)
        assert answered == "verified", message
        return message

    def burst(self, samples=20, max_seconds=5):
        return self.say("burst", samples=samples, max_seconds=max_seconds)

    def finish(self):
        assert self.say("finish") == ("finished", {})

    def end(self):
        """(exit code, what it printed), after the end of its input."""
        if not self.child.stdin.closed:
            self.child.stdin.close()
        code = self.child.wait(ANSWER_SECONDS)
        os.set_blocking(self.child.stderr.fileno(), True)
        self.printed += self.child.stderr.read()
        self.child.stdout.close()
        self.child.stderr.close()
        return code, self.printed.decode()

    def kill(self):
        self.child.kill()
        self.end()
