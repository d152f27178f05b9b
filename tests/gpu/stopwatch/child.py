"""Starts the programs that measure: each in a process of its own, so that no context of one side is there while another measures."""
import json
import os
import pathlib
import subprocess
import sys

from stopwatch.study import SideError

class ChildFailed(SideError):
    """It ended with an exit code other than 0."""

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


HERE = pathlib.Path(__file__).resolve().parent.parent


def environment():
    """This process's, with tests/gpu importable and numbers printed the C way."""
    path = os.pathsep.join(part for part in (str(HERE), os.environ.get("PYTHONPATH", "")) if part)
    return {**os.environ, "PYTHONPATH": path, "LC_ALL": "C", "PYTHONDONTWRITEBYTECODE": "1"}


def command(module, *arguments):
    return [sys.executable, "-m", f"stopwatch.{module}", *map(str, arguments)]


def run(argv, timeout=300):
    """What it printed. A program that fails is a side that could not measure."""
    try:
        done = subprocess.run(argv, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, check=False)
    except FileNotFoundError as error:
        raise SideError(f"{argv[0]} is not installed here") from error
    except subprocess.TimeoutExpired as error:
        raise SideError(f"{' '.join(argv[:4])} ... had not ended after {timeout} s") from error
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise ChildFailed(f"{' '.join(argv[:4])} ... ended with exit code {done.returncode}: {said}", done.returncode)
    return done.stdout


def json_lines(text):
    """The JSON objects among the lines; programs that others wrote print more than ours."""
    found = []
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                found.append(json.loads(line))
            except ValueError as error:
                raise SideError(f"not a JSON line: {line[:200]}") from error
    return found
