"""A real Prometheus of the test's own, with the rules of deploy/prometheus, scraping an address every second."""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).parents[2]
DEPLOY = ROOT / "deploy" / "prometheus"
PATIENCE = 90  # seconds for what takes two on an idle machine


def program(name):
    """From PATH, or where deploy/setup.sh unpacks Debian's package."""
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), str(ROOT / ".cache/prometheus/usr/bin")]))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(url, timeout=30):
    with urllib.request.urlopen(url, timeout=timeout) as answer:
        return answer.read().decode()


def until(condition, what, patience=PATIENCE):
    """Waits for a true value and returns it. `what` is asked for only when it does not come, where it is a function."""
    end = time.monotonic() + patience
    while True:
        try:
            if value := condition():
                return value
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            pass
        assert time.monotonic() < end, f"waited {patience} s for {what() if callable(what) else what}"
        time.sleep(0.2)


class Prometheus:
    def __init__(self, folder, target):
        self._log = folder / "prometheus.log"
        for name in ("recording.yml", "alerts.yml"):
            shutil.copy(DEPLOY / name, folder / name)
        config = (DEPLOY / "prometheus.yml").read_text(encoding="utf-8")
        assert "scrape_interval: 15s" in config and "evaluation_interval: 15s" in config and "scrape_timeout: 10s" in config
        config = config.replace("interval: 15s", "interval: 1s").replace("scrape_timeout: 10s", "scrape_timeout: 1s")
        (folder / "prometheus.yml").write_text(config, encoding="utf-8")
        (folder / "targets.yml").write_text(f'- targets: ["{target}"]\n', encoding="utf-8")
        self.address = f"http://127.0.0.1:{free_port()}"
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                [program("prometheus"), f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                 f"--web.listen-address={self.address.removeprefix('http://')}"], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        until(lambda: get(f"{self.address}/-/ready"), f"Prometheus, whose log is {self._log}")

    def query(self, expression):
        """The vector or scalar that an instant query gives; a wrong expression fails with what Prometheus says."""
        address = f"{self.address}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        try:
            return json.loads(get(address))["data"]["result"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{expression}\n{error.read().decode()}") from error

    def metric_names(self):
        return set(json.loads(get(f"{self.address}/api/v1/label/__name__/values"))["data"])

    def rule_errors(self):
        groups = json.loads(get(f"{self.address}/api/v1/rules"))["data"]["groups"]
        return {rule["name"]: rule["lastError"] for group in groups for rule in group["rules"] if rule.get("lastError")}

    def close(self):
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
