"""Links that drop what is idle, and links that go dead without a word."""
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time

import pytest

from stack import BIN

CHAOS = pathlib.Path(__file__).resolve().parents[1] / "chaos"
sys.path.insert(0, str(CHAOS))
from proxy import Proxy  # noqa: E402

IDLE_SECONDS = 60  # what common load balancers and NATs allow
LIVE_SECONDS = float(os.environ.get("KBENCH_LINK_SECONDS", "90"))  # 300 by hand
NOTICED_SECONDS = 40


def start_worker(stack, address, name="cpu", prefix=()):
    return stack.daemon(*prefix, BIN / "kbench-worker", "--server", address, "--device", "cpu", "--name", name, "--no-python",
                        "--data-dir", stack.root / "worker")


def state_of_device(stack):
    return next((device.get("state") for device in stack.devices() if device["name"] == "cpu"), None)


def start_server(stack, prefix=()):
    """On its socket and a free TCP port: the TCP address. One job waits for ever, for a device that has gone."""
    argv = [*prefix, BIN / "kbench-server", "--metrics-listen", "127.0.0.1:0", "--data-dir", stack.data, "--listen", f"unix:{stack.socket}",
            "--listen", "127.0.0.1:0", "--anonymous-role", "admin"]  # nobody here brings credentials
    stack.server = stack.daemon(*argv)
    stack.wait_until(lambda: stack.listening(stack.server), f"the server does not listen, see {stack.server.log}", stack.server)
    gone = start_worker(stack, f"unix:{stack.socket}", name="gone")
    stack.wait_until(stack.devices, f"no device is known, see {gone.log}", gone, seconds=60)
    stack.terminate(gone)
    stack.waiting = stack.submit_detached("null", "fp32", "1", "--device", "gone")
    return next(address for address in stack.note()["listen"] if not address.startswith("unix:"))


def start_watch(stack, address):
    return stack.popen(BIN / "kbench-client", "watch", stack.waiting, "-o", "json", "--server", address, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)


def wait_ready(stack, worker):
    stack.wait_until(lambda: state_of_device(stack) == "READY", f"no device is ready, see {worker.log}", worker, seconds=90)


def noticed(seconds, happened):
    """Seconds until it happened; None: it did not."""
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        if happened():
            return time.monotonic() - begin
        time.sleep(0.2)
    return None


def silent_listener():
    listener = socket.create_server(("127.0.0.1", 0))
    return listener, f"127.0.0.1:{listener.getsockname()[1]}"


def test_links_that_drop_what_is_idle_carry_a_worker_and_a_watch(empty):
    stack = empty
    target = start_server(stack)
    listener, silent = silent_listener()
    links = [Proxy(target, idle_seconds=IDLE_SECONDS), Proxy(target, idle_seconds=IDLE_SECONDS), Proxy(silent, idle_seconds=IDLE_SECONDS)]
    worker_link, watch_link, idle_link = links
    try:
        host, port = idle_link.address.split(":")
        with socket.create_connection((host, int(port))), listener:
            worker = start_worker(stack, worker_link.address)
            wait_ready(stack, worker)
            watch = start_watch(stack, watch_link.address)
            time.sleep(LIVE_SECONDS)
            assert idle_link.idle_dropped == 1, "the proxy dropped nothing, so this test shows nothing"
        assert watch.poll() is None
        assert (worker_link.accepted, worker_link.idle_dropped) == (1, 0), "the worker had to connect again"
        assert (watch_link.accepted, watch_link.idle_dropped) == (1, 0), "the watch had to connect again"
        assert state_of_device(stack) == "READY"
    finally:
        for link in links:
            link.close()


def test_a_link_that_goes_dead_is_noticed_on_both_sides_and_mended(empty):
    stack = empty
    target = start_server(stack)
    worker_link, watch_link = Proxy(target), Proxy(target)
    try:
        worker = start_worker(stack, worker_link.address)
        wait_ready(stack, worker)
        start_watch(stack, watch_link.address)
        assert noticed(10, lambda: watch_link.accepted == 1) is not None
        time.sleep(1)
        worker_link.stall()
        watch_link.stall()
        took = noticed(NOTICED_SECONDS, lambda: state_of_device(stack) == "OFFLINE")
        assert took is not None, "the coordinator did not notice that the worker's link is dead"
        # They try again, over the same dead link.
        assert noticed(NOTICED_SECONDS - took, lambda: worker_link.accepted > 1) is not None, "the worker did not notice"
        assert noticed(NOTICED_SECONDS - took, lambda: watch_link.accepted > 1) is not None, "the watch did not notice"
        worker_link.resume()
        watch_link.resume()
        assert noticed(60, lambda: state_of_device(stack) == "READY") is not None, worker.log.read_text()[-2000:]
    finally:
        worker_link.close()
        watch_link.close()


class Wire:
    """Two network namespaces with a wire between them. cut(): each side sends into the void, and nobody is told."""

    NOBODY = "02:00:00:00:00:99"

    def __init__(self):
        mark = os.getpid() % 100000
        self.spaces = [f"kbench-{side}-{mark}" for side in "ab"]
        self.addresses = ["10.87.65.1", "10.87.65.2"]
        for space in self.spaces:
            self.ip("netns", "add", space)
        self.ip("link", "add", "wire0", "netns", self.spaces[0], "type", "veth", "peer", "name", "wire0", "netns", self.spaces[1])
        for space, address in zip(self.spaces, self.addresses):
            self.ip("-n", space, "addr", "add", f"{address}/24", "dev", "wire0")
            for device in ("lo", "wire0"):
                self.ip("-n", space, "link", "set", device, "up")

    @staticmethod
    def ip(*args):
        subprocess.run(["ip", *args], check=True, capture_output=True, timeout=10)

    def inside(self, side):
        return ("ip", "netns", "exec", self.spaces[side])

    def cut(self):
        for space, far in zip(self.spaces, reversed(self.addresses)):
            self.ip("-n", space, "neigh", "replace", far, "lladdr", self.NOBODY, "dev", "wire0", "nud", "permanent")

    def close(self):
        for space in self.spaces:
            subprocess.run(["ip", "netns", "del", space], check=False, capture_output=True, timeout=10)


@pytest.fixture
def wire():
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and ip")
    try:
        made = Wire()
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no network namespaces here: {error.stderr.decode(errors='replace').strip()}")
    yield made
    made.close()


def test_a_wire_that_is_cut_is_noticed_on_both_sides(empty, wire):
    stack = empty
    target = start_server(stack, prefix=wire.inside(0))
    # The coordinator listens on loopback alone; whoever stands on the wire passes the bytes on and knows nothing of HTTP/2.
    forwarder = stack.popen(*wire.inside(0), sys.executable, CHAOS / "proxy.py", f"{wire.addresses[0]}:0", target, stdout=subprocess.PIPE, text=True)
    worker = start_worker(stack, forwarder.stdout.readline().strip(), prefix=wire.inside(1))
    wait_ready(stack, worker)
    time.sleep(1)
    wire.cut()
    begin = time.monotonic()
    took = noticed(NOTICED_SECONDS, lambda: state_of_device(stack) == "OFFLINE")
    assert took is not None, "the coordinator did not notice"
    left = NOTICED_SECONDS - (time.monotonic() - begin)
    assert noticed(left, lambda: "no coordinator at" in worker.log.read_text()) is not None, "the worker did not notice"
    print(f"the coordinator noticed after {took:.0f} s")
