"""A coordinator's /metrics as Prometheus would see it, made up: every series of server/metrics/README.md, on a calm day and on a bad one.

Run by hand: python tests/deploy/exposition.py [calm|troubled] [PORT] serves it until it is ended.
"""
import http.server
import sys
import threading
import time

from contract import families

PHASES = {"wait": 0.01, "hold": 0.01, "prepare": 0.1, "verify": 0.1, "warm": 0.05, "measure": 0.5, "burst": 0.4, "check": 0.05, "finish": 0.02,
          "profile": 0.01}
STATES = ("CALIBRATING", "READY", "BUSY", "HELD", "DRAINING", "DRAINED", "QUARANTINED", "OFFLINE", "WEDGED", "FAILED")
CLASSES = ("interactive", "ci", "batch")
# Kernel, dtype, size, and how long each implementation takes.
CASES = [
    ("matmul", "fp16", "m=4096,n=4096,k=4096,layout=nn", {"cublas": 180.6e-6, "triton": 196e-6, "cuda/wgmma": 190e-6, "torch@torch211": 181e-6}),
    ("matmul", "tf32", "m=4096,n=4096,k=4096,layout=nn", {"cublas": 350e-6, "triton": 370e-6}),
    ("sum", "fp32", "n=67108864", {"cub": 68e-6, "triton": 71e-6, 'odd"name\\with\nbreak': 90e-6}),
    ("softmax", "fp32", "4096x4096", {"cudnn": 40e-6, "torch": 44e-6}),
]
LONG_AGO = 30 * 86400


class Day:
    """What is told of one moment. `troubled` has everything that an alert is for, each on a device of its own."""

    def __init__(self, troubled, start):
        self.troubled = troubled
        self.start = start
        self.states = {"gpu0": "BUSY", "gpu1": "READY", "cpu": "READY"}
        if troubled:
            self.states |= {"quarantined": "QUARANTINED", "offline": "OFFLINE", "away": "OFFLINE", "drained": "DRAINED"}
        self.devices = list(self.states)

    def cells(self):
        for device in self.devices[:2]:
            for kernel, dtype, size, times in CASES:
                for mode in ("cold", "steady"):
                    for implementation, seconds in times.items():
                        slow = self.troubled and implementation == "triton" and device == "gpu0"
                        yield {"kernel": kernel, "implementation": implementation, "dtype": dtype, "size": size, "mode": mode,
                               "device": device}, seconds, slow

    def state_set(self, cell, label, values, now):
        return [({**cell, label: value}, 1 if value == now else 0) for value in values]


def _results(day, now):
    flops, traffic = 1.37e11, 1e8
    for cell, seconds, slow in day.cells():
        baseline, seconds = seconds, seconds * (1.08 if slow else 1.001)
        age = LONG_AGO if day.troubled and cell["device"] == "gpu1" else 60
        values = {
            "duration_seconds": seconds, "duration_low_seconds": seconds * 0.999, "duration_high_seconds": seconds * 1.001,
            "duration_min_seconds": seconds * 0.98, "duration_p99_seconds": seconds * 1.04, "host_submit_seconds": 4e-6,
            "flops_per_second": flops / seconds, "bytes_per_second": traffic / seconds, "peak_flops_ratio": 0.77, "peak_bandwidth_ratio": 0.11,
            "roof_flops_ratio": 0.92, "roof_bandwidth_ratio": 0.14, "verified_error_ratio": 2.1e-4, "noise_ratio": 0.0013, "energy_joules": 0.11,
            "timestamp_seconds": now - age, "baseline_duration_seconds": baseline, "change_ratio": seconds / baseline - 1,
            "scheduled_interval_seconds": 86400,
        }
        for name, value in values.items():
            yield f"kbench_result_{name}", cell, value
        for labels, value in day.state_set(cell, "verdict", ("valid", "suspect", "invalid"), "suspect" if slow else "valid"):
            yield "kbench_result_verdict", labels, value
        states = ("learning", "none", "suspected", "confirmed", "incomparable")
        for labels, value in day.state_set(cell, "state", states, "confirmed" if slow else "none"):
            yield "kbench_result_regression_state", labels, value
    yield "kbench_result_series_evicted_total", {}, 3


def _queue(day, now):
    passed = now - day.start
    for index, name in enumerate(CLASSES):
        yield "kbench_queue_cases", {"class": name}, 10 * index + 3
        yield "kbench_queue_jobs", {"class": name}, index + 1
        yield "kbench_queue_oldest_job_timestamp_seconds", {"class": name}, now - (7200 if day.troubled else 30) * (index + 1)
        yield "kbench_queue_next_info", {"position": str(index + 1), "owner": "ana \"née\" Ö", "class": name, "case": "matmul fp16 4096",
                                         "selector": "gpu"}, 1
    yield "kbench_running_cases", {}, 1
    yield "kbench_jobs_submitted_total", {}, 40 + passed
    for index, state in enumerate(("queued", "running")):
        yield "kbench_jobs", {"state": state}, 6 - index
    for state in ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED"):
        yield "kbench_jobs_completed_total", {"state": state}, 10 + passed / 2
    for outcome in ("done", "infra", "lost", "cancelled"):
        yield "kbench_attempts_total", {"outcome": outcome}, 20 + passed
    schedule = {"schedule": "nightly"}
    yield "kbench_schedule_info", {**schedule, "suite": "essay", "device": "gpu0"}, 1
    yield "kbench_schedule_next_timestamp_seconds", schedule, now + 3600
    yield "kbench_schedule_last_timestamp_seconds", schedule, now - (LONG_AGO if day.troubled else 3600)
    yield "kbench_schedule_awaited_timestamp_seconds", schedule, now - (LONG_AGO if day.troubled else 3600)
    yield "kbench_schedule_interval_seconds", schedule, 86400
    yield "kbench_schedule_skipped_total", schedule, 1


def _device(day, device, now):
    passed, here = now - day.start, {"device": device}
    state = day.states[device]
    epoch = "b2" if day.troubled and int(passed / 8) % 2 else "a1"  # to and fro, so that both are scraped however late the first scrape is
    yield "kbench_device_info", {**here, "kind": "cuda", "model": "NVIDIA H200", "architecture": "sm_90", "uuid": f"GPU-{device}",
                                 "driver": "580.159.04", "hostname": "lab1", "epoch": epoch}, 1
    for name in STATES:
        yield "kbench_device_state", {**here, "state": name}, 1 if name == state else 0
    for kind, name in (("drain", "DRAINED"), ("quarantine", "QUARANTINED"), ("hold", "HELD")):
        yield "kbench_device_blocked", {**here, "kind": kind}, 1 if state == name else 0
    for reason in ("XID", "ASKED"):
        yield "kbench_device_quarantines_total", {**here, "reason": reason}, 1 if state == "QUARANTINED" else 0
    if state == "QUARANTINED":
        yield "kbench_device_quarantine_info", {**here, "reason": "XID"}, 1
    for name, value in {"suspected": 5, "confirmed": 1, "rejected": 4, "lapsed": 1, "cleared": 1}.items():
        yield f"kbench_regressions_{name}_total", here, value + passed / 10
    yield "kbench_epochs_total", here, 1
    for verdict in ("valid", "suspect", "invalid", "none"):
        yield "kbench_results_total", {**here, "verdict": verdict}, 100 + passed
    for phase, share in PHASES.items():
        yield "kbench_device_busy_seconds_total", {**here, "phase": phase}, 100 + share * passed
    for reason in ("power", "thermal"):
        yield "kbench_device_throttle_seconds_total", {**here, "reason": reason}, passed / 50
    yield "kbench_worker_up", here, 0 if device == "away" else 1
    yield "kbench_worker_last_heartbeat_timestamp_seconds", here, now - (600 if device == "away" else 2)
    for kind in ("spool", "caches"):
        yield "kbench_worker_bytes", {**here, "kind": kind}, 4096
    yield "kbench_device_matmul_roof_flops_per_second", {**here, "dtype": "fp16"}, 8.2e14
    for name, value in _plain_device_values(day, device, passed).items():
        yield f"kbench_device_{name}", here, value
    if state == "BUSY":
        yield "kbench_device_running_info", {**here, "owner": "ana \"née\" Ö", "class": "interactive", "case": "matmul fp16 4096"}, 1
        yield "kbench_device_running_start_timestamp_seconds", here, now - 20


def _plain_device_values(day, device, passed):
    drifts = day.troubled and device == "gpu1"
    return {
        "clock_hertz": 1.98e9, "memory_clock_hertz": 3.2e9, "temperature_celsius": 41, "power_watts": 310, "energy_joules_total": 1e6 + 310 * passed,
        "foreign_processes": 0, "foreign_utilization_ratio": 0, "foreign_memory_bytes": 0, "canary_ratio": 1.06 if drifts else 1.001,
        "canary_drifting": 1 if drifts else 0, "canary_timestamp_seconds": day.start, "canaries_total": 40 + passed,
        "bad_canaries_total": passed * 0.9 if drifts else passed / 100, "steal_ratio": 0.01, "load": 0.2, "calibration_passed": 1,
        "event_floor_seconds": 1.28e-6,
        "null_kernel_seconds": 3.3e-6, "event_cost_seconds": 2e-6, "clock_quantum_seconds": 3.2e-8, "read_bandwidth_bytes_per_second": 4.1e12,
        "write_bandwidth_bytes_per_second": 4.2e12, "copy_bandwidth_bytes_per_second": 4.3e12, "between_session_ratio": 0.003, "canaries": 24,
    }


def _coordinator(day, now):
    passed = now - day.start
    yield "kbench_leases", {}, 1
    yield "kbench_lease_expirations_total", {}, 0
    yield "kbench_stale_results_total", {}, 0
    for kind, cap in (("samples", 8 << 30), ("logs", 1 << 30)):
        yield "kbench_store_bytes", {"kind": kind}, cap * (0.97 if day.troubled else 0.3)
        yield "kbench_store_cap_bytes", {"kind": kind}, cap
    yield "kbench_store_bytes", {"kind": "database"}, 1 << 24
    yield "kbench_watchers", {}, 4
    for code in ("OK", "NOT_FOUND"):
        yield "kbench_grpc_server_handled_total", {"method": "kbench.v1.JobService/GetJob", "code": code}, 10 + passed
    yield "kbench_build_info", {"version": "0.9.0", "revision": "0123abc", "compiler": "12.2.0"}, 1


def _histograms(day, now):
    """(name, labels, bounds, observations a second and bucket)."""
    passed = now - day.start
    yield "kbench_job_queue_duration_seconds", {}, (0.1, 1, 10, 100), passed
    yield "kbench_job_run_duration_seconds", {}, (0.1, 1, 10, 100), passed
    yield "kbench_case_gap_seconds", {}, (0.01, 0.1, 1), passed
    yield "kbench_store_commit_duration_seconds", {}, (0.001, 0.01, 0.1), passed
    yield "kbench_grpc_server_handling_seconds", {"method": "kbench.v1.JobService/GetJob"}, (0.001, 0.01, 0.1), passed


def _line(name, labels, value):
    def escaped(text):
        return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
    inside = ",".join(f'{label}="{escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{inside}}} {float(value)!r}" if inside else f"{name} {float(value)!r}"


def _histogram_lines(name, labels, bounds, each):
    for index, bound in enumerate(bounds, start=1):
        yield _line(f"{name}_bucket", {**labels, "le": str(bound)}, int(each * index))
    total = int(each * (len(bounds) + 1))
    yield _line(f"{name}_bucket", {**labels, "le": "+Inf"}, total)
    yield _line(f"{name}_sum", labels, total * bounds[0])
    yield _line(f"{name}_count", labels, total)


def samples(day, now):
    """(name, labels, value) of everything but histograms."""
    yield from _results(day, now)
    yield from _queue(day, now)
    for device in day.devices:
        yield from _device(day, device, now)
    yield from _coordinator(day, now)


def text(day, now):
    lines = {}
    for name, labels, value in samples(day, now):
        lines.setdefault(name, []).append(_line(name, labels, value))
    for name, labels, bounds, each in _histograms(day, now):
        lines.setdefault(name, []).extend(_histogram_lines(name, labels, bounds, each))
    known = families()
    return "".join(f"# HELP {name} As server/metrics/README.md has it.\n# TYPE {name} {known[name].kind}\n" + "\n".join(of) + "\n"
                   for name, of in lines.items())


class Exporter:
    """Serves a day on a port of loopback until it is closed."""

    def __init__(self, troubled, port=0):
        day = Day(troubled, time.time())

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = text(day, time.time()).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


if __name__ == "__main__":
    exporter = Exporter("troubled" in sys.argv[1:], next((int(word) for word in sys.argv[1:] if word.isdigit()), 0))
    print(f"http://{exporter.address}/metrics", flush=True)
    threading.Event().wait()
