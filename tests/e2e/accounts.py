"""People and machines beside the one who runs the coordinator: bare home folders, where root is at hand other users too."""
import os
import pathlib
import pwd
import shutil
import socket
import subprocess

from stack import BIN, Ran


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def become(user):
    """The words that run a command as this user."""
    entry = pwd.getpwnam(user)
    return ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups"]


def can_become():
    return os.getuid() == 0 and shutil.which("setpriv") is not None


class Account:
    """`user`: another user of the machine; none: the same one with nothing but an empty home."""

    def __init__(self, stack, name, user=None):
        self.stack = stack
        self.home = stack.root / f"home-{name}"
        self.home.mkdir(mode=0o700)
        self.prefix = []
        self.env = {"HOME": str(self.home), "PATH": os.environ["PATH"], "TMPDIR": str(self.home)}
        if user:
            self.prefix = become(user)
            os.chown(self.home, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)
            stack.root.chmod(0o711)
        self.bin = self.readable_programs()

    def readable_programs(self):
        if subprocess.run([*self.prefix, "test", "-x", str(BIN / "kbench-client")], check=False).returncode == 0:
            return BIN
        copies = self.stack.root / "bin"
        copies.mkdir(mode=0o755, exist_ok=True)
        for program in ("kbench-client", "kbench-worker"):
            shutil.copy(BIN / program, copies / program)
        return copies

    def run(self, program, *args, env=None, timeout=120, stdin=subprocess.DEVNULL, text=None):
        done = subprocess.run([*self.prefix, str(self.bin / program), *map(str, args)], env=self.env | (env or {}), cwd="/",
                              stdin=None if text else stdin, input=text, capture_output=True, text=True, timeout=timeout)
        return Ran(done.returncode, done.stdout, done.stderr, 0)

    def client(self, *args, **more):
        return self.run("kbench-client", *args, **more)


class Lab:
    """A coordinator with TLS on loopback, made by `kbench-server init`."""

    def __init__(self, stack, *server_options):
        self.stack = stack
        self.port = free_port()
        self.address = f"localhost:{self.port}"
        made = self.admin("init", "--name", "localhost", "--listen", f"127.0.0.1:{self.port}")
        assert made.code == 0, made
        self.config = pathlib.Path(stack.env["XDG_CONFIG_HOME"]) / "kbench"
        self.server = stack.start_server(*server_options)

    def admin(self, *args):
        return self.stack.client(*args, program="kbench-server")

    def invite(self, owner, *args):
        """The line, and the id of the credential."""
        ran = self.admin("invite", owner, *args)
        assert ran.code == 0 and ran.out.count("\n") == 1, ran
        return ran.out.strip(), ran.err.split()[1]
