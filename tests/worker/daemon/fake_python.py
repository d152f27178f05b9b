#!/usr/bin/env python3
"""Stands in for a Python interpreter with the runner's packages: speaks the frames with invented numbers, in plain JSON.

The last part of the name that it is called by (a link, or a copy) says how it behaves:
  good      offers torch, torch/crash, torch/hang and torch/raise of kernel sum and matmul, fp32
  prints    the same, but prints to its standard output all the time
  slow      the same, 0.5 s late
  absent    its framework cannot be imported
  traceback ends at once, as python does without the packages
  rubbish   answers something that is no frame
  mute      never answers
  nothing   offers nothing and does not say why
  badname   offers a name without its environment
  default   offers a default choice in any environment
  once      starts only the first time: the file NAME.started is made then
"""
import json
import os
import signal
import sys
import time

MODE = os.path.basename(sys.argv[0]).rpartition("-")[2].removesuffix(".py")
KINDS = ("good", "prints", "slow", "absent", "traceback", "rubbish", "mute", "nothing", "badname", "default", "once")


def argument(name, default=""):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


FRAMEWORK, ENVIRONMENT = argument("--framework", "torch"), argument("--environment", "default")
SUFFIX = "" if ENVIRONMENT == "default" or MODE == "badname" else f"@{ENVIRONMENT}"


def hello():
    reply = {"protocol_version": 1, "runner": "fake-python", "engine_version": "fake-py", "device_kind": argument("--device", "cpu"),
             "libraries": {"torch": "2.11.0", "python": "3.12.3"}}
    if MODE == "absent":
        reply["absent"] = [{"framework": FRAMEWORK, "environment": ENVIRONMENT, "message": f"No module named '{FRAMEWORK}'",
                            "install": f"{sys.argv[0]} -m pip install {FRAMEWORK}"}]
    elif MODE != "nothing":
        reply["implementations"] = [
            {"name": f"{FRAMEWORK}{variant}{SUFFIX}", "family": FRAMEWORK, "kernel": kernel, "dtypes": ["fp32"], "summary": "invented",
             "default_choice": variant == "" and (ENVIRONMENT == "default" or MODE == "default"), "environment": ENVIRONMENT}
            for kernel in ("sum", "matmul") for variant in ("", "/crash", "/hang", "/raise")]
    return reply


def burst(request, name):
    if "/crash" in name:
        print("about to crash", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGABRT)
    if "/hang" in name:
        print("waiting for ever", file=sys.stderr, flush=True)
        time.sleep(3600)
    if "/raise" in name:
        return "failure", {"outcome": "OUTCOME_CRASHED", "reason": "PYTHON_EXCEPTION", "message": "ValueError: scripted, in launch"}
    samples = [1e-3 * (1 + 1e-4 * (i * 7 % 11)) for i in range(request["samples"])]
    return "burst", {"device_seconds": samples, "seconds": sum(samples), "duty_ratio": 0.4}


def answer(request, state):
    kind = next(key for key in request if key != "id")
    if kind == "hello":
        return "hello", hello()
    if kind == "prepare":
        state["name"] = request["prepare"]["implementation"]
        return "prepared", {"first_call_seconds": 0.002, "estimate_seconds": 1e-3, "mechanism": "fake-clock", "clock_quantum_seconds": 1e-9,
                            "launches_per_sample": 1, "operand_sets": 1, "configuration": {"environment": ENVIRONMENT}}
    if kind == "verify":
        return "verified", {"passed": True, "relative_error": 1e-7, "tolerance": 1e-5, "method": "full"}
    if kind == "warm":
        return "warmed", {"sample_seconds": 1e-3, "pace_seconds": 1e-3, "end_to_end_calls": [1.1e-3], "steady": True}
    if kind == "burst":
        return burst(request["burst"], state["name"])
    return {"finish": ("finished", {}), "collect_code": ("code_collected", {})}.get(
        kind, ("failure", {"outcome": "OUTCOME_INFRA", "reason": "NOT_SCRIPTED", "message": kind}))


def main():
    if MODE not in KINDS:
        sys.exit(f"{sys.argv[0]}: no such behaviour; take one of {', '.join(KINDS)}")
    if MODE == "traceback":
        raise ModuleNotFoundError("No module named 'kbench_runner'")
    if MODE == "mute":
        print("still importing", flush=True)
        time.sleep(3600)
    if MODE == "slow":
        time.sleep(0.5)
    if MODE == "once":
        with open(f"{sys.argv[0]}.started", "x", encoding="utf-8"):
            pass
    state = {}
    with os.fdopen(3, encoding="utf-8") as requests, os.fdopen(4, "w", encoding="utf-8") as replies:
        for line in requests:
            request = json.loads(line)
            if MODE == "prints":
                print("a line of a library", flush=True)
            if MODE == "rubbish":
                replies.write("Fatal: all is lost\n")
            else:
                kind, body = answer(request, state)
                replies.write(json.dumps({"id": request.get("id", "0"), kind: body}) + "\n")
            replies.flush()


if __name__ == "__main__":
    main()
