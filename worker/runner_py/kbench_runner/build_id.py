"""What this runner is made of, in one word: what was tuned for one state of the sources says nothing about another."""
import hashlib
import importlib
import os

import kbench_runner


def build_id(package):
    """Of the runner's sources and those of the package with the implementations; the versions of torch and Triton stand among the libraries."""
    digest = hashlib.sha1()
    folders = [*kbench_runner.__path__]
    try:
        folders += importlib.import_module(package).__path__
    except Exception:  # its absence is told elsewhere
        pass
    for folder in folders:
        for path, below, names in os.walk(folder):
            below.sort()
            for name in sorted(names):
                if not name.endswith(".py"):
                    continue
                file = os.path.join(path, name)
                digest.update(os.path.relpath(file, folder).encode() + b"\n")
                with open(file, "rb") as source:
                    digest.update(source.read())
    return digest.hexdigest()
