"""A coordinator that dies and comes back, seen over TLS: a connection takes several rounds there, and everybody is back as soon as over a socket."""
import subprocess
import threading
import time

import pytest

from accounts import Account, Lab
from stack import BIN

# Backoff is 2 s at most, a handshake less. Clients that stopped polling between their tries took 25 s or never came back.
BACK_SECONDS = 15
LAPSE_SECONDS = 10
SERVER_OPTIONS = ("--hold-lapse", f"{LAPSE_SECONDS}s")


class Lines:
    """A client of `account` and when it wrote each line."""

    def __init__(self, account, *args):
        self.process = account.stack.popen(BIN / "kbench-client", *args, env=account.env | {"XDG_CONFIG_HOME": f"{account.home}/.config"},
                                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines = []
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), line))

    def text(self):
        return "".join(line for _, line in self.lines)

    def since(self, when):
        return [line for at, line in self.lines if at > when]


@pytest.fixture
def lab(empty):
    """With a worker over TLS and ana, who knows the coordinator by its address and by its name."""
    lab = Lab(empty, *SERVER_OPTIONS)
    machine = Account(empty, "rack")
    line, _ = lab.invite("rack", "--role", "worker", "--address", f"127.0.0.1:{lab.port}")
    assert machine.run("kbench-worker", "join", line).code == 0
    lab.worker = empty.daemon(BIN / "kbench-worker", "--device", "cpu", "--no-python", "--no-canaries", "--grace", "0", "--data-dir",
                              empty.root / "worker", env=machine.env | {"XDG_CONFIG_HOME": f"{machine.home}/.config"})
    empty.wait_until(empty.device_ready, f"no device is ready, see {lab.worker.log}", lab.worker, seconds=60)
    lab.ana = Account(empty, "ana")
    for host in ("localhost", "127.0.0.1"):
        line, _ = lab.invite("ana", "--address", f"{host}:{lab.port}")
        joined = lab.ana.client("join", line)
        assert joined.code == 0, joined
    return lab


def restart(lab, away_seconds):
    """When the coordinator serves again."""
    lab.stack.kill9(lab.server)
    time.sleep(away_seconds)
    lab.server = lab.stack.start_server(*SERVER_OPTIONS)
    return time.monotonic()


def test_everybody_is_back_over_tls(lab):
    stack = lab.stack
    held = Lines(lab.ana, "with", "cpu", "--for", "5m", "--", "sleep", "200")
    stack.wait_until(lambda: "is yours until" in held.text(), "the device is not lent", seconds=30)
    waiting = lab.ana.client("submit", "null", "fp32", "1", "--detach")
    assert waiting.code == 0, waiting
    job = waiting.out.strip()
    clients = {}
    for host in ("127.0.0.1", "localhost"):
        clients[f"watch by {host}"] = Lines(lab.ana, "watch", job, "-o", "json", "--server", f"{host}:{lab.port}")
    clients["top by 127.0.0.1"] = Lines(lab.ana, "top", "--server", f"127.0.0.1:{lab.port}")
    for name, client in clients.items():
        stack.wait_until(lambda c=client: c.lines, f"{name} shows nothing", seconds=30)
    # Long enough for tries that come ever more rarely.
    back = restart(lab, away_seconds=5)
    stack.submit_detached("null", "fp32", "1")  # top as a log tells what has changed

    def missing():
        return [name for name, client in clients.items() if not any(is_news(name, line) for line in client.since(back))]

    stack.wait_until(lambda: not missing() or time.monotonic() > back + BACK_SECONDS, "never", seconds=BACK_SECONDS + 5)
    assert not missing(), {name: clients[name].text()[-500:] for name in missing()}
    # The lapse was granted anew at the restart; the keeper has been there since.
    time.sleep(max(0.0, back + LAPSE_SECONDS + 4 - time.monotonic()))
    assert held.process.poll() is None, held.text()
    states = [(d["name"], d["state"]) for d in stack.devices()]
    assert states == [("cpu", "HELD")], (states, held.text())
    held.process.terminate()
    assert held.process.wait(20) == 143, held.text()
    for name in ("watch by 127.0.0.1", "watch by localhost"):
        assert clients[name].process.wait(60) in (0, 4), clients[name].text()


def is_news(name, line):
    return "2 jobs" in line if name.startswith("top") else '"event"' in line
