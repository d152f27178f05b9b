"""A whole kbench on its own: folders, socket, locks and ports of nobody else, processes that end with the test."""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def find_bin():
    given = os.environ.get("KBENCH_BIN")
    candidates = [pathlib.Path(given)] if given else [ROOT / "build" / p / "bin" for p in ("ci", "dev", "release")]
    for candidate in candidates:
        if (candidate / "kbench-client").exists():
            return candidate.resolve()
    raise RuntimeError(f"no kbench-client in {', '.join(map(str, candidates))}: build first, or set KBENCH_BIN")


BIN = find_bin()
FIXTURE_RUNNER = BIN.parent / "tests" / "kbench-runner-fixtures"


class Ran:
    """How a client ended."""

    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    def __repr__(self):
        return f"exit code {self.code} after {self.seconds:.2f} s\n--- out\n{self.out}\n--- err\n{self.err}"

    @property
    def lines(self):
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def results(self):
        return [line["result"] for line in self.lines if "result" in line]

    @property
    def events(self):
        return [line["event"] for line in self.lines if "event" in line]


def outcomes(results):
    return {r["implementation"]: r["outcome"].removeprefix("OUTCOME_") for r in results}


class Stack:
    def __init__(self):
        # Short: a socket's path takes 107 bytes.
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="kbe-", dir="/tmp"))
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("KBENCH_", "XDG_"))}
        self.env.update(
            HOME=str(self.root / "home"),
            XDG_RUNTIME_DIR=str(self.root / "run"),
            XDG_STATE_HOME=str(self.root / "state"),
            XDG_CONFIG_HOME=str(self.root / "config"),
            KBENCH_LOCK_DIR=str(self.root / "locks"),
        )
        for name in ("home", "run", "state", "config", "locks"):
            (self.root / name).mkdir(mode=0o700)
        self.socket = self.root / "run" / "kbench" / "kbench.sock"
        self.data = self.root / "state" / "kbench"
        self.processes = []
        self.logs = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        left = self.close()
        assert kind is not None or not left, f"processes were left behind: {left}"

    # --- processes

    def popen(self, *argv, env=None, **more):
        process = subprocess.Popen([str(a) for a in argv], env=self.env | (env or {}), cwd=self.root,
                                   stdin=subprocess.DEVNULL, **more)
        self.processes.append(process)
        return process

    def daemon(self, *argv, env=None):
        self.logs += 1
        path = self.root / f"{self.logs:02d}-{pathlib.Path(argv[0]).name}.log"
        with open(path, "wb") as log:
            process = self.popen(*argv, env=env, stdout=log, stderr=log, start_new_session=True)
        process.log = path
        return process

    def start_server(self, *more, wait=True, data=None):
        server = self.daemon(BIN / "kbench-server", "--metrics-listen", "127.0.0.1:0", "--data-dir", data or self.data,
                             *more)
        if wait:
            self.wait_until(lambda: self.listening(server), f"the server does not listen, see {server.log}", server)
        return server

    def listening(self, server):
        note = self.note()
        if note.get("pid") != server.pid:
            return False
        try:
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(str(self.socket))
            return True
        except OSError:
            return False

    def note(self):
        try:
            return json.loads((self.data / "server.json").read_text())
        except (OSError, ValueError):
            return {}

    def start_worker(self, *more, device="cpu", runners=(), config=None, env=None, wait=True):
        """With the Python environments of `config`, a text; without it there are none."""
        argv = [BIN / "kbench-worker", "--server", f"unix:{self.socket}", "--device", device,
                "--data-dir", self.root / "worker", "--grace", "0"]
        if config is None:
            argv += ["--no-python"]
        else:
            path = self.root / "worker.toml"
            path.write_text(config)
            argv += ["--config", path]
        for runner in runners:
            argv += ["--runner", runner]
        worker = self.daemon(*argv, *more, env=env)
        if wait:
            self.wait_until(self.device_ready, f"no device is ready, see {worker.log}", worker)
        return worker

    def device_ready(self):
        return any(d.get("state") == "READY" for d in self.devices())

    def devices(self):
        ran = self.client("devices", "-o", "json")
        return [line["device"] for line in ran.lines if "device" in line] if ran.code == 0 else []

    def wait_until(self, condition, what, process=None, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return
            if process is not None and process.poll() is not None:
                break
            time.sleep(0.05)
        log = process.log.read_text() if process is not None else ""
        raise AssertionError(f"{what}\n{log[-3000:]}")

    def kill9(self, process):
        process.send_signal(signal.SIGKILL)
        process.wait(10)

    def terminate(self, process, seconds=15):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        return process.wait(seconds)

    # --- the client

    def client(self, *args, env=None, timeout=120, program="kbench-client", stdin=None):
        start = time.monotonic()
        done = subprocess.run([str(BIN / program), *map(str, args)], env=self.env | (env or {}), cwd=self.root,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
        return Ran(done.returncode, done.stdout, done.stderr, time.monotonic() - start)

    def submit(self, *args, timeout=120):
        return self.client("submit", *args, "-o", "json", timeout=timeout)

    def submit_detached(self, *args):
        ran = self.client("submit", *args, "--detach")
        assert ran.code == 0, ran
        return ran.out.strip()

    def start_client(self, *args):
        """A client that runs on; its lines come through stdout."""
        return self.popen(BIN / "kbench-client", *args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish(self, process, timeout=120):
        out, err = process.communicate(timeout=timeout)
        return Ran(process.returncode, out, err, 0)

    def job(self, job):
        ran = self.client("show", job, "-o", "json")
        assert ran.code == 0, ran
        return ran.lines[0]["job"], ran.results

    def wait_phase(self, job, phase="measure", seconds=60):
        """Until the running attempt is in this phase."""
        watcher = self.start_client("watch", job, "-o", "json")
        end = time.monotonic() + seconds
        try:
            for line in watcher.stdout:
                event = json.loads(line).get("event", {})
                if event.get("progress", {}).get("phase") == phase:
                    return
                assert "final" not in event, f"job {job} ended before it was in phase {phase}: {line}"
                assert time.monotonic() < end, f"job {job} was never in phase {phase}"
        finally:
            watcher.kill()
            watcher.communicate()

    def python(self, behaviour):
        """An interpreter that behaves in this way: see tests/worker/daemon/fake_python.py."""
        path = self.root / f"python-{behaviour}"
        if not path.exists():
            path.symlink_to(ROOT / "tests" / "worker" / "daemon" / "fake_python.py")
        return path

    # --- looking at processes

    def ours(self):
        """Every process that lives in our folders: {pid: command line}. Daemons of `up` are found this way too."""
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                environ = (entry / "environ").read_bytes()
                if f"HOME={self.root}/home".encode() in environ.split(b"\0"):
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                    if command:  # a zombie has none
                        found[int(entry.name)] = command
            except OSError:
                pass
        return found

    def children(self, pid):
        found = []
        for other in self.ours():
            try:
                stat = pathlib.Path(f"/proc/{other}/stat").read_text()
            except OSError:
                continue
            if int(stat.rpartition(")")[2].split()[1]) == pid:
                found.append(other)
        return found

    def close(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        end = time.monotonic() + 10
        for process in self.processes:
            try:
                process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for stream in (process.stdout, process.stderr):
                if stream:
                    stream.close()
        # Runners die with their worker, daemons of `up` when they are asked to: whoever is left was lost.
        left = self.ours()
        end = time.monotonic() + 5
        while left and time.monotonic() < end:
            time.sleep(0.05)
            left = self.ours()
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shutil.rmtree(self.root, ignore_errors=True)
        return left


def rss_mib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"no VmRSS of {pid}")


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def open_stack():
    """A stack that is closed when the fixture around it ends."""
    with Stack() as stack:
        yield stack
