"""kbench's own side: submits through the client, and what the calibration says an event pair costs."""
import json
import subprocess

import cells
from stopwatch.study import Reading, SideError

POWER_WORDS = {"POWER_CAP", "POWER_LIMITED"}


def measure(client, device, cell, *options, timeout=300):
    """One submit of the cell; `options` say the mode or the flush."""
    try:
        code, results, errors = cells.submit(client, cell.kernel, cell.dtype, cell.size, "--impl", cell.implementation, "--device", device,
                                             *options, timeout=timeout)
    except (cells.CellError, subprocess.TimeoutExpired) as error:
        raise SideError(str(error)) from error
    mine = [result for result in results if result.get("implementation") == cell.implementation]
    if len(mine) != 1 or cells.outcome(mine[0]) != "OK" or not cells.verified(mine[0]) or cells.median_seconds(mine[0]) <= 0:
        outcome = f"{cells.outcome(mine[0])} {mine[0].get('message', '')}" if mine else "no result"
        raise SideError(f"kbench gave no figure for {cell.label} {' '.join(options)} (exit code {code}, {outcome}): {errors}")
    return reading_of(mine[0])


def reading_of(result):
    """A result of the client as a reading."""
    telemetry = result.get("telemetry", {})
    reasons = {*result.get("verdict_reasons", []), *telemetry.get("throttle_reasons", [])}
    device_time = result.get("device_time", {})
    return Reading(
        seconds=cells.median_seconds(result),
        cycles=float(result.get("device_cycles", 0.0)),
        power_limited=bool(reasons & POWER_WORDS),
        note=" ".join([cells.verdict(result), *result.get("verdict_reasons", [])]),
        details={
            "low": device_time.get("low", 0.0), "high": device_time.get("high", 0.0),
            "samples": device_time.get("samples", 0), "rounds": device_time.get("rounds", 0),
            "configuration": result.get("configuration", {}), "telemetry": telemetry,
            "duty_ratio": result.get("duty_ratio", 0.0), "mechanism": result.get("mechanism", ""),
            "host_submit_seconds": result.get("host_submit_time", {}).get("median", 0.0),
        })


def device_record(client, device):
    """The device as `kbench-client devices -o json` lists it."""
    try:
        done = subprocess.run([client, "devices", "-o", "json"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                              check=True)
    except (subprocess.SubprocessError, OSError) as error:
        raise SideError(f"the client does not list devices: {error}") from error
    names = []
    for line in done.stdout.splitlines():
        record = json.loads(line).get("device", {})
        names.append(record.get("name", ""))
        if device in (record.get("name"), record.get("uuid")):
            return record
    raise SideError(f"no device is called '{device}': there are {', '.join(names)}")


def event_cost(client, device):
    """(seconds a pair of events adds to a kernel, the whole calibration)."""
    calibration = device_record(client, device).get("calibration", {})
    cost = float(calibration.get("event_cost_seconds", 0.0))
    if not calibration.get("passed") or cost <= 0:
        raise SideError(f"{device} has no calibrated event cost: {calibration or 'no calibration at all'}")
    return cost, calibration


def has_option(client, verb, option):
    """Whether the client's verb knows an option."""
    done = subprocess.run([client, verb, "--help"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    return option in (done.stdout + done.stderr).split()


def fresh_options(client):
    """What makes every submit measure: --fresh where the client has it; a client without it keeps no results to answer from."""
    return ["--fresh"] if has_option(client, "submit", "--fresh") else []
