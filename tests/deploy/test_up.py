"""deploy/observability/up.sh: one command starts it all, another ends it; clear words when something is missing. The coordinator is made up,
Prometheus is real, Grafana is a stand-in that notes what it was given."""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess

import pytest

import exposition
from scraped import ROOT, free_port, get, until

UP = ROOT / "deploy" / "observability" / "up.sh"
GRAFANA = r"""#!/usr/bin/env python3
import http.server, json, os, sys
known = {key: value for key, value in os.environ.items() if key.startswith(("GF_", "KBENCH_"))}
with open(os.path.join(os.environ["GF_PATHS_DATA"], "given.json"), "w") as note:
    json.dump({"arguments": sys.argv[1:], "environment": known}, note)
class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/api/health" else 404)
        self.end_headers()
http.server.HTTPServer((os.environ["GF_SERVER_HTTP_ADDR"], int(os.environ["GF_SERVER_HTTP_PORT"])), Health).serve_forever()
"""


class Machine:
    """A home of its own, where nothing of whoever runs the tests is seen."""

    def __init__(self, folder):
        self.home, self.data = folder, folder / "state" / "kbench"
        self.data.mkdir(parents=True)
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.environment = {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
        self.prometheus_port = free_port()

    def up(self, *arguments, code=0):
        done = subprocess.run([UP, *map(str, arguments)], env=self.environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                              timeout=150)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def start(self, *arguments, **named):
        return self.up("--prometheus-port", self.prometheus_port, *arguments, **named)

    def note(self, metrics, pid=1):
        """As the coordinator of `kbench-client up` leaves it."""
        (self.data / "server.json").write_text(json.dumps({"pid": pid, "metrics": metrics}), encoding="utf-8")

    def pid(self, name):
        return int((self.data / "observability" / f"{name}.pid").read_text(encoding="utf-8"))


@pytest.fixture
def machine(tmp_path):
    made = Machine(tmp_path)
    yield made
    made.up("down")


@pytest.fixture(scope="module")
def exporter():
    made = exposition.Exporter(False)
    yield made
    made.close()


def answer(machine, path):
    return json.loads(get(f"http://127.0.0.1:{machine.prometheus_port}/api/v1/{path}"))["data"]


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")


def test_up_scrapes_with_the_rules_and_down_ends_it(machine, exporter):
    machine.note(exporter.address)
    said = machine.start()
    address = f"http://127.0.0.1:{machine.prometheus_port}"
    assert f"Prometheus  {address} (pid {machine.pid('prometheus')}), scrapes http://{exporter.address}/metrics" in said
    assert "there is no grafana-server on the PATH" in said
    for page in ("rules", "alerts"):
        told, = re.findall(rf"^  {page} +(\S+)$", said, flags=re.MULTILINE)
        assert told.startswith(f"{address}/") and page in get(told).lower(), "the address that is printed has that page"
    target, = answer(machine, "targets")["activeTargets"]
    assert (target["health"], target["scrapeUrl"], target["labels"]["job"]) == ("up", f"http://{exporter.address}/metrics", "kbench")
    alerts = {rule["name"] for group in answer(machine, "rules")["groups"] for rule in group["rules"] if rule["type"] == "alerting"}
    assert "KbenchRegressionConfirmed" in alerts and len(alerts) == 11
    assert "Prometheus" in get(f"{address}/graph"), "its pages are found"
    assert f"prometheus runs on {address}" in machine.up("status")
    pid = machine.pid("prometheus")
    assert f"prometheus stopped (pid {pid})" in machine.up("down") and not alive(pid)
    assert machine.up("down") == "nothing runs\n"
    assert machine.up("status", code=1) == "nothing runs\n"


def test_up_again_keeps_what_runs_and_follows_the_coordinator_to_another_port(machine, exporter):
    machine.note(exporter.address)
    machine.start("--no-wait")
    pid = machine.pid("prometheus")
    moved = exposition.Exporter(False)
    try:
        machine.note(moved.address)
        assert f"scrapes http://{moved.address}/metrics" in machine.up("--no-wait")
        assert machine.pid("prometheus") == pid
        until(lambda: [target["scrapeUrl"] for target in answer(machine, "targets")["activeTargets"]] == [f"http://{moved.address}/metrics"],
              "the new target")
    finally:
        moved.close()


def test_what_was_stored_is_there_after_down_and_up(machine, exporter):
    machine.note(exporter.address.replace("127.0.0.1", "0.0.0.0"))  # listens everywhere: it is asked on loopback
    assert f"scrapes http://{exporter.address}/metrics" in machine.start()
    before = answer(machine, "query?query=count(count_over_time(kbench_build_info[10m]))")["result"]
    machine.up("down")
    machine.start("--no-wait")
    assert before and answer(machine, "query?query=count(count_over_time(kbench_build_info[10m]))")["result"]


@pytest.mark.parametrize("prepare,words", [
    (lambda machine: None, "no kbench runs here ("),
    (lambda machine: machine.note(""), "the coordinator serves no metrics; start it with --metrics-listen"),
    (lambda machine: machine.note(f"127.0.0.1:{free_port()}"), "nothing answers on http://127.0.0.1:"),
    (lambda machine: (machine.data / "server.json").write_text("{", encoding="utf-8"), "cannot be read"),
], ids=["no stack", "no metrics", "stack is gone", "damaged note"])
def test_without_a_stack_it_says_what_to_start(machine, prepare, words):
    prepare(machine)
    said = machine.start(code=1)
    assert said.startswith("up.sh: ") and words in said and ("kbench-client up" in said or "--metrics-listen" in said)
    assert not (machine.data / "observability").exists(), "nothing is left behind"


def test_what_answers_must_be_kbench(machine, exporter):
    """A Prometheus answers /metrics too, but not with ours."""
    machine.note(exporter.address)
    machine.start("--no-wait")
    assert "is not kbench" in machine.start("--metrics", f"127.0.0.1:{machine.prometheus_port}", code=1)


def test_a_port_that_is_taken_is_named(machine, exporter):
    machine.note(exporter.address)
    with socket.socket() as other:
        other.bind(("127.0.0.1", machine.prometheus_port))
        other.listen()
        said = machine.start(code=1)
    assert f"port {machine.prometheus_port}, meant for prometheus, is taken by another process; give another one: --prometheus-port N" in said
    assert machine.up("status", code=1) == "nothing runs\n"


@pytest.mark.parametrize("arguments,words", [
    (["sideways"], "unknown word 'sideways'"), (["--port", "1"], "unknown option '--port'"), (["--metrics"], "--metrics wants a value"),
    (["--metrics", "127.0.0.1"], "not HOST:PORT"), (["--metrics", 'x"]: 1'], "not HOST:PORT")])
def test_wrong_use(machine, arguments, words):
    assert words in machine.up(*arguments, code=2)


def test_a_wrong_port(machine, exporter):
    assert "not a port" in machine.up("--metrics", exporter.address, "--prometheus-port", "70000", code=2)


def test_a_wrong_port_is_wrong_though_a_prometheus_runs(machine, exporter):
    machine.note(exporter.address)
    machine.start("--no-wait")
    assert "not a port" in machine.up("--metrics", exporter.address, "--prometheus-port", "99999", code=2)
    assert "--prometheus-port N" in machine.up("-h")


def test_without_prometheus_it_says_how_to_get_one(machine, exporter, tmp_path):
    """In a copy of the files, where no package is unpacked."""
    copy = tmp_path / "copy" / "deploy"
    (copy / "observability").mkdir(parents=True)
    (copy / "observability" / "up.sh").write_bytes(UP.read_bytes())
    if any((pathlib.Path(folder) / "prometheus").exists() for folder in ("/usr/bin", "/bin")):
        pytest.skip("Prometheus is installed on this machine")
    done = subprocess.run(["bash", copy / "observability" / "up.sh", "--metrics", exporter.address], env=machine.environment, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 1 and "apt-get install prometheus" in done.stderr


def test_a_prometheus_that_ends_at_once_is_told_with_its_log(machine, exporter):
    (machine.bin / "prometheus").write_text("#!/bin/sh\necho 'the disk is on fire'\nexit 3\n", encoding="utf-8")
    (machine.bin / "prometheus").chmod(0o755)
    said = machine.start("--metrics", exporter.address, code=1)
    assert "the disk is on fire" in said and "prometheus did not come up" in said


def test_a_stale_pid_file_is_nobody(machine, exporter):
    """After a power cut its pid may be anybody's: only the lock says who it is."""
    innocent = subprocess.Popen(["sleep", "600"])
    try:
        (machine.data / "observability").mkdir()
        (machine.data / "observability" / "prometheus.pid").write_text(f"{innocent.pid}\n", encoding="utf-8")
        assert machine.up("down") == "nothing runs\n"
        assert innocent.poll() is None
        machine.start("--metrics", exporter.address, "--no-wait")
        assert machine.pid("prometheus") != innocent.pid
    finally:
        innocent.kill()
        innocent.wait()


def test_one_that_does_not_end_is_killed(machine, exporter):
    machine.start("--metrics", exporter.address, "--no-wait")
    pid = machine.pid("prometheus")
    os.kill(pid, signal.SIGSTOP)  # a SIGTERM waits for it to go on
    assert f"prometheus stopped (pid {pid})" in machine.up("down")
    assert not alive(pid)


def grafana_on(machine):
    """A stand-in laid out as Grafana's archive is: bin/, conf/defaults.ini."""
    home = machine.home / "grafana"
    (home / "bin").mkdir(parents=True)
    (home / "conf").mkdir()
    (home / "conf" / "defaults.ini").touch()
    (home / "bin" / "grafana-server").write_text(GRAFANA, encoding="utf-8")
    (home / "bin" / "grafana-server").chmod(0o755)
    (machine.bin / "grafana-server").symlink_to(home / "bin" / "grafana-server")
    return home


def test_grafana_is_started_provisioned(machine, exporter):
    home, port = grafana_on(machine), free_port()
    said = machine.start("--metrics", exporter.address, "--grafana-port", port, "--no-wait")
    assert f"Grafana     http://127.0.0.1:{port} (pid {machine.pid('grafana')}), no login" in said
    for name in ("performance", "queue", "devices"):
        uid = json.loads((ROOT / "deploy/grafana/dashboards" / f"{name}.json").read_text(encoding="utf-8"))["uid"]
        assert f"http://127.0.0.1:{port}/d/{uid}" in said
    given = json.loads((machine.data / "observability" / "grafana" / "given.json").read_text(encoding="utf-8"))
    assert given["arguments"] == ["--homepath", str(home)]
    environment = given["environment"]
    assert environment["KBENCH_PROMETHEUS_URL"] == f"http://127.0.0.1:{machine.prometheus_port}"
    assert environment["KBENCH_DASHBOARDS"] == str(ROOT / "deploy/grafana/dashboards")
    assert environment["GF_PATHS_PROVISIONING"] == str(ROOT / "deploy/grafana/provisioning")
    assert environment["GF_SERVER_HTTP_ADDR"] == "127.0.0.1" and environment["GF_AUTH_ANONYMOUS_ORG_ROLE"] == "Viewer"
    pid = machine.pid("grafana")
    assert "grafana stopped" in machine.up("down") and not alive(pid)
