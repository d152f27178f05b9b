import pytest

from stack import FIXTURE_RUNNER, Stack, open_stack


@pytest.fixture
def empty():
    """Folders and an environment; nothing runs."""
    yield from open_stack()


@pytest.fixture
def stack(empty):
    """Coordinator and CPU worker, this test's own."""
    empty.server = empty.start_server()
    empty.worker = empty.start_worker()
    return empty


@pytest.fixture(scope="module")
def shared():
    """Coordinator and CPU worker of a module whose tests only add jobs."""
    with Stack() as stack:
        stack.server = stack.start_server()
        stack.worker = stack.start_worker()
        yield stack


@pytest.fixture(scope="module")
def adversary():
    """A stack whose CPU runner also has implementations that misbehave."""
    if not FIXTURE_RUNNER.exists():
        pytest.fail(f"{FIXTURE_RUNNER} is missing: build the target kbench-runner-fixtures")
    with Stack() as stack:
        stack.server = stack.start_server()
        stack.worker = stack.start_worker(runners=[FIXTURE_RUNNER])
        yield stack
