"""torch and Triton: whether they are there, and everything the runner asks of torch. Nothing else in this package touches torch."""
import importlib
import os
import platform
import re
import shutil
import sys
import warnings

from kbench_runner import cuda_driver, failures, tensors

OLDEST = {"torch": (2, 4), "triton": (3, 2)}
# Triton's kernels are launched on torch's tensors and stream.
NEEDED = {"torch": ("torch",), "triton": ("torch", "triton")}


class Absent(Exception):
    """The framework cannot be used: why, and the command that would mend it (may be empty)."""

    def __init__(self, message, install=""):
        super().__init__(message)
        self.message, self.install = message, install


def interpreter():
    """How a person would call this interpreter: python3 where that is it."""
    first = shutil.which("python3")
    same = first is not None and os.path.dirname(os.path.abspath(first)) == os.path.dirname(os.path.abspath(sys.executable))
    return "python3" if same or not sys.executable else sys.executable


def install_command(packages, option=""):
    return " ".join([interpreter(), "-m pip install", *([option] if option else []), *packages])


def _import(name, needed):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name:
            raise Absent(f"{name} is not installed for Python {platform.python_version()}", install_command(needed)) from None
        raise Absent(f"{name} cannot be imported: {failures.words(error)}", install_command([name], "--force-reinstall")) from None
    except (Exception, SystemExit) as error:
        failures.show(error)
        raise Absent(f"{name} cannot be imported: {failures.words(error)}", install_command([name], "--force-reinstall")) from None


def _check_version(name, module):
    version = str(getattr(module, "__version__", ""))
    found = re.match(r"(\d+)\.(\d+)", version)
    if not found:
        raise Absent(f"{name} does not tell its version", install_command([name], "--force-reinstall"))
    oldest = OLDEST[name]
    if (int(found[1]), int(found[2])) < oldest:
        raise Absent(f"{name} {version} is too old: kbench needs {oldest[0]}.{oldest[1]} or newer", install_command([name], "--upgrade"))
    return version


def _check_cuda(torch, version):
    if torch.version.cuda is None:
        raise Absent(f"torch {version} is built without CUDA", install_command(["torch"], "--force-reinstall"))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        usable = torch.cuda.is_available()  # counts devices: makes no context
    if not usable:
        why = " ".join(str(told[-1].message).split()) if told else "it finds no device"
        raise Absent(f"torch {version} (CUDA {torch.version.cuda}) cannot use the GPU: {why}")


def load(name, device):
    """Imports the framework. Raises Absent."""
    modules, libraries = {}, {"python": platform.python_version()}
    for one in NEEDED[name]:
        modules[one] = _import(one, NEEDED[name])
        libraries[one] = _check_version(one, modules[one])
    facts = cuda_driver.DeviceFacts()
    if device == "cuda":
        _check_cuda(modules["torch"], libraries["torch"])
        facts = cuda_driver.device_facts()
        libraries["cuda-runtime"] = modules["torch"].version.cuda
        if facts.driver_cuda:
            libraries["cuda-driver"] = facts.driver_cuda
    return Framework(name, device, modules["torch"], libraries, facts)


class Framework:
    """A framework that was imported. Up to attach() it holds no CUDA context."""

    def __init__(self, name, device, torch, libraries, facts):
        self.name, self.device, self.libraries, self.facts = name, device, libraries, facts
        self._torch = torch

    def attach(self, stream, threads):
        """Everything runs on the engine's stream from now on."""
        if self.device == "cuda":
            self._torch.cuda.set_stream(self._torch.cuda.ExternalStream(stream))
        else:
            self._torch.set_num_threads(threads)

    def tensor(self, address, operand):
        return tensors.over_memory(self._torch, self.device, address, operand.dtype, operand.extents)

    def set_math_mode(self, dtype):
        """Products of fp32 are IEEE unless the dtype says tf32: all of torch's switches, because one alone would leave convolutions or products to
        what the last case, or a default, said."""
        allowed = dtype == "tf32"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer versions prefer other names for the same switches
            self._torch.set_float32_matmul_precision("high" if allowed else "highest")
            self._torch.backends.cuda.matmul.allow_tf32 = allowed
            self._torch.backends.cudnn.allow_tf32 = allowed

    def math_mode(self):
        """The switches as they are now, whoever set them: part of a result's configuration."""
        def on(read):
            try:
                return str(bool(read())).lower()
            except RuntimeError:
                return "mixed"  # set through the newer names, in a way that the older ones cannot tell
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return {"matmul.allow_tf32": on(lambda: self._torch.backends.cuda.matmul.allow_tf32),
                    "cudnn.allow_tf32": on(lambda: self._torch.backends.cudnn.allow_tf32)}

    def driver_allocations(self):
        """How often torch's allocator has asked the driver for memory."""
        if self.device != "cuda":
            return 0
        return self._torch.cuda.memory_stats().get("num_device_alloc", 0)

    def profiler_range(self, begins):
        """Begins and ends what a profiler around this process looks at; without one these do nothing."""
        (self._torch.cuda.profiler.start if begins else self._torch.cuda.profiler.stop)()

    def release(self):
        """Gives back what the last case left in caches: other runners need the memory, and what was compiled for one case (torch.compile makes a
        second shape a dynamic one) must not shape the next."""
        try:
            dynamo = sys.modules.get("torch._dynamo")
            if dynamo is not None:
                dynamo.reset()
            if self.device == "cuda" and self._torch.cuda.is_initialized():
                self._torch.cuda.empty_cache()
        except RuntimeError as error:  # of a device that is lost: why has been told, or the next call will tell it
            failures.show(error)
