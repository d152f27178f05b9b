"""Reads the coordinator's /metrics: the share spent inside bursts, and that the gap between cases is exported. Pure but for fetch()."""
import json
import os
import pathlib
import re
import urllib.request

BUSY = "kbench_device_busy_seconds_total"
SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def parse(text):
    """The samples of a Prometheus text page: (name, labels, value)."""
    samples = []
    for line in text.splitlines():
        match = SAMPLE.match(line)
        if match and not line.startswith("#"):
            samples.append((match[1], dict(LABEL.findall(match[2] or "")), float(match[3])))
    return samples


def busy_seconds(samples, device, phase):
    """What the device spent in a phase, or nothing when that is not exported."""
    found = [value for name, labels, value in samples
             if name == BUSY and labels.get("phase") == phase and labels.get("device", device) == device]
    return sum(found) if found else None


def phases(samples):
    return sorted({labels["phase"] for name, labels, _ in samples if name == BUSY and "phase" in labels})


def gap_families(samples):
    return sorted({name for name, _, _ in samples if re.match(r"kbench_.*gap", name)})


def address():
    """Where `kbench-client up` put the metrics: it leaves a note in the data folder."""
    state = os.environ.get("XDG_STATE_HOME") or str(pathlib.Path.home() / ".local/state")
    note = json.loads((pathlib.Path(state) / "kbench" / "server.json").read_text(encoding="utf-8"))
    return f"http://{note['metrics']}/metrics"


def fetch(url):
    with urllib.request.urlopen(url, timeout=10) as reply:
        return parse(reply.read().decode())
