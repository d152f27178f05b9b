"""What this process is to its system: who it ends with, where it runs, where what it prints goes."""
import ctypes
import os
import resource
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with_parent(expected_parent):
    """SIGKILL when the parent dies; no core file of a crash."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # The parent may have died before the line above.
    if expected_parent and os.getppid() != expected_parent:
        os._exit(1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def settle(cpus, threads):
    """Pins the process and tells the libraries, which start their threads with the number and the affinity they find while they are loaded: before
    torch is imported. Returns the number of threads."""
    if cpus:
        os.sched_setaffinity(0, cpus)
    threads = threads or len(os.sched_getaffinity(0))
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = str(threads)
    # Long enough for the next sample of a burst, short enough that no thread of ours spins into the burst of another runner.
    os.environ["GOMP_SPINCOUNT"] = "30000"
    # torch.compile would keep a pool of compiling processes, which compute beside whoever measures.
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    return threads


def is_open(fd):
    try:
        os.fstat(fd)
        return True
    except OSError:
        return False


def keep_from_children(*descriptors):
    """A compiler that torch starts must not hold our pipes open."""
    for fd in descriptors:
        os.set_inheritable(fd, False)


def move_stdout_aside():
    """A descriptor for replies; whatever is printed goes to standard error from now on."""
    sys.stdout.flush()
    replies = os.dup(1)
    os.dup2(2, 1)
    return replies


def print_at_once():
    """A crash must not take along what was printed before it."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")
