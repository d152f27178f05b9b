"""What goes wrong, one thing after the other, by a seeded choice."""
import os
import pathlib
import signal
import subprocess
import time


class Faults:
    """`run` is the Run under way."""

    def __init__(self, run):
        self.run, self.random = run, run.random
        self.kinds = [self.kill_server, self.stop_server, self.drop_connections, self.drop_one, self.dead_network, self.crash_worker,
                      self.crash_worker, self.freeze_worker]
        if run.stack.worker is not None:
            self.kinds += [self.kill_real_worker, self.stop_real_worker, self.kill_runner]
        if run.disk is not None:
            self.kinds.append(self.fill_disk)

        self.first = self.random.sample(self.kinds, len(self.kinds))

    def strike(self):
        """Each once, then whatever comes."""
        fault = self.first.pop() if self.first else self.random.choice(self.kinds)
        self.run.ledger.fault(fault.__name__)
        fault()

    def kill_server(self):
        self.run.stack.kill9(self.run.stack.server)
        time.sleep(self.random.uniform(0, 0.5))
        self.run.start_server()

    def stop_server(self):
        self.pause(self.run.stack.server.pid, self.random.uniform(0.2, 2))

    def drop_connections(self):
        self.run.proxy.drop()

    def drop_one(self):
        self.run.proxy.drop(lambda: self.random.random() < 0.3)

    def dead_network(self):
        self.run.proxy.stall()
        time.sleep(self.random.uniform(0.2, 1.5 * self.run.lease_seconds))
        self.run.proxy.drop()  # the machines behind it have given up; new connections find a way
        self.run.proxy.resume()

    def crash_worker(self):
        self.random.choice(self.run.workers).crash()

    def freeze_worker(self):
        self.random.choice(self.run.workers).freeze(self.random.uniform(0.2, 1.5 * self.run.lease_seconds))

    def kill_real_worker(self):
        self.run.stack.kill9(self.run.stack.worker)
        self.run.start_real_worker()

    def stop_real_worker(self):
        self.pause(self.run.stack.worker.pid, self.random.uniform(0.2, 1.5 * self.run.lease_seconds))

    def kill_runner(self):
        for pid in self.run.stack.children(self.run.stack.worker.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def fill_disk(self):
        self.run.disk.fill()
        time.sleep(self.random.uniform(0.5, 2))
        self.run.disk.free()

    @staticmethod
    def pause(pid, seconds):
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(pid, signal.SIGCONT)


class SmallDisk:
    """A file system of its own that can be filled: a tmpfs, for root alone."""

    def __init__(self, path, mebibytes):
        self.path = pathlib.Path(path)
        self.path.mkdir(mode=0o700)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=700", "none", str(self.path)], check=True)
        self.filler = self.path / "filler"

    @staticmethod
    def possible():
        return os.geteuid() == 0

    def fill(self):
        try:
            with open(self.filler, "wb", buffering=0) as file:
                while True:
                    file.write(bytes(1 << 12))
        except OSError:  # full
            pass

    def free(self):
        self.filler.unlink(missing_ok=True)

    def close(self):
        subprocess.run(["umount", "--lazy", str(self.path)], check=False)
