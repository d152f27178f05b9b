"""Which implementations there are: what the files of a folder of kbench_kernels declare in IMPLEMENTATIONS."""
import dataclasses
import importlib
import os
import pkgutil
from typing import Any

from kbench_runner import failures


@dataclasses.dataclass(frozen=True)
class Entry:
    """An implementation under the name it has in this environment."""

    name: str  # "torch/flash", "torch/flash@torch211"
    implementation: Any


@dataclasses.dataclass
class Registry:
    entries: list[Entry] = dataclasses.field(default_factory=list)
    broken: list[str] = dataclasses.field(default_factory=list)  # a sentence for each file that was lost

    def find(self, name, kernel):
        return next((one for one in self.entries if one.name == name and one.implementation.kernel == kernel), None)


def announced_name(name, environment):
    """Only the implementations of the default environment keep their names."""
    return name if environment == "default" else f"{name}@{environment}"


def _declared(package, framework):
    """(file, implementations) of each file; an exception in place of them where it cannot be imported."""
    folders = [os.path.join(path, framework) for path in importlib.import_module(package).__path__]
    for module in pkgutil.iter_modules(folders):
        file = f"{framework}/{module.name}.py"
        try:
            yield file, list(getattr(importlib.import_module(f"{package}.{framework}.{module.name}"), "IMPLEMENTATIONS", ()))
        except (Exception, SystemExit) as error:
            failures.show(error)
            yield file, error


def find(package, framework, device, environment):
    """Reads every file. One that does not import, or declares nonsense, loses only itself."""
    registry = Registry()
    try:
        files = list(_declared(package, framework))
    except Exception as error:  # the package itself
        failures.show(error)
        registry.broken.append(f"the package {package} cannot be imported: {failures.words(error)}")
        return registry
    for file, declared in files:
        if isinstance(declared, BaseException):
            registry.broken.append(f"{package}/{file} cannot be imported: {failures.words(declared)}")
            continue
        try:
            _add(registry, file, declared, framework, device, environment)
        except (AttributeError, TypeError, ValueError) as error:
            registry.broken.append(f"{package}/{file} declares no implementations that can be used: {failures.words(error)}")
    return registry


def _add(registry, file, declared, framework, device, environment):
    added = []
    for implementation in declared:
        if implementation.family != framework:
            raise ValueError(f"'{implementation.name}' does not begin with '{framework}'")
        name = announced_name(implementation.name, environment)
        taken = [one for one in registry.entries + added if one.name == name and one.implementation.kernel == implementation.kernel]
        if taken:
            raise ValueError(f"{implementation.kernel} has a '{implementation.name}' already")
        if device in implementation.devices:
            added.append(Entry(name, implementation))
    registry.entries += added


def why_no_dtype(entry, dtype, context):
    """Why the implementation has no such dtype on this machine, or None."""
    implementation = entry.implementation
    if dtype not in implementation.dtypes:
        return f"{entry.name} has no {implementation.kernel} in {dtype}"
    return implementation.dtype_missing(dtype, context) if implementation.dtype_missing else None


def describe(entry, context, environment):
    """The ImplementationInfo of the hello."""
    implementation = entry.implementation
    dtypes = []
    for dtype in implementation.dtypes:
        try:
            if why_no_dtype(entry, dtype, context) is None:
                dtypes.append(dtype)
        except Exception as error:  # a dtype that cannot even be asked for is not offered
            failures.show(error)
    return {"name": entry.name, "family": implementation.family, "kernel": implementation.kernel, "dtypes": dtypes,
            "default_choice": bool(implementation.default_choice) and environment == "default", "summary": implementation.summary,
            "hidden": bool(implementation.hidden), "rung": implementation.rung, "environment": environment}
