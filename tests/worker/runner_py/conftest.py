"""Runners that tests share: importing torch takes seconds."""
import subprocess
import sys

import pytest

import runner_talk

# The runner's own modules, for the tests that need no torch.
sys.path[:0] = [str(path) for path in runner_talk.SOURCES if str(path) not in sys.path]


class Shared:
    """A runner that is started anew once it has ended."""

    def __init__(self, make):
        self._make = make
        self._runner = None

    def get(self):
        if self._runner is None or self._runner.child.poll() is not None:
            self._runner = self._make()
        self._runner.finish()
        return self._runner

    def stop(self):
        if self._runner is not None and self._runner.child.poll() is None:
            assert self._runner.end()[0] == 0


@pytest.fixture(scope="session")
def shared_runners():
    shared = {"python": Shared(lambda: runner_talk.Runner(runner_talk.python_command("--threads", "1"))),
              "c++": Shared(lambda: runner_talk.Runner([runner_talk.FIXTURE_RUNNER, "--threads", "1"]))}
    yield shared
    for one in shared.values():
        one.stop()


@pytest.fixture
def runner(shared_runners):
    """The Python runner with the implementations of fixture_kernels, nothing prepared."""
    return shared_runners["python"].get()


@pytest.fixture
def both(shared_runners):
    """{"python": runner, "c++": runner}"""
    return {name: one.get() for name, one in shared_runners.items()}


@pytest.fixture
def start():
    """start(*options) -> a Python runner of its own, ended with the test."""
    started = []

    def start_one(*options, env=None, **more):
        started.append(runner_talk.Runner(runner_talk.python_command(*options, **more), env=env))
        return started[-1]

    yield start_one
    for one in started:
        if one.child.poll() is None:
            one.kill()


@pytest.fixture(scope="session")
def runner_protos(tmp_path_factory):
    """The real runner_pb2: what the worker would read."""
    folder = tmp_path_factory.mktemp("protos")
    protos = sorted(str(path.relative_to(runner_talk.ROOT / "proto")) for path in (runner_talk.ROOT / "proto/kbench/v1").glob("*.proto"))
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{runner_talk.ROOT / 'proto'}", f"--python_out={folder}", *protos], check=True)
    sys.path.append(str(folder))
    from kbench.v1 import runner_pb2
    return runner_pb2
