"""The same conversation with the C++ runner and the Python runner: both must answer alike."""
import os

import pytest
from google.protobuf import json_format

# The same thing by its name in each runner.
NAMES = {
    "right": {"c++": "cpu/naive", "python": "torch"},
    "throws": {"c++": "fixture/throws", "python": "torch/throws"},
    "fails": {"c++": "fixture/fails", "python": "torch/raises"},
    "fails late": {"c++": "fixture/fails-late", "python": "torch/raises-late"},
    "mutates": {"c++": "fixture/mutates", "python": "torch/mutates"},
    "wrong": {"c++": "fixture/wrong", "python": "torch/wrong"},
    "no": {"c++": "no/such", "python": "no/such"},
    "fp32 only": {"c++": "fixture/right", "python": "torch/picky"},
}
RUNNERS = ("c++", "python")


def prepare(both, who, name, **more):
    return both[who].prepare(NAMES[name][who], **more)


@pytest.fixture
def alike(both):
    """alike(talk): talk(runner's name) must give the same of each runner."""
    def compare(talk):
        answers = {who: talk(who) for who in RUNNERS}
        assert answers["python"] == answers["c++"]
        return answers["python"]
    return compare


def failure_of(answer):
    """What a person and the worker see of a failure, without words that name an implementation."""
    kind, message = answer
    assert kind == "failure", message
    return {key: value for key, value in message.items() if key != "message"}


@pytest.mark.parametrize("more", [{}, {"kernel": "matmul", "size": "64x48x32"}, {"kernel": "copy", "size": "3001"}, {"mode": "hot"},
                                  {"mode": "steady"}, {"dtype": "fp64"}, {"flush": "none"}, {"flush": "dirty"}])
def test_a_case_from_prepare_to_finish(both, alike, more):
    def talk(who):
        runner = both[who]
        kind, prepared = prepare(both, who, "right", **more)
        assert kind == "prepared", prepared
        assert prepared["firstCallSeconds"] > 0 and prepared["estimateSeconds"] > 0 and prepared["compileSeconds"] > 0
        assert prepared["settings"].pop("callback_seconds", "") if who == "python" else True
        told = {key: prepared[key] for key in ("settings", "mechanism", "footprintBytes", "operandSets")}
        checks = [runner.verify("BEFORE")]
        kind, warmed = runner.say("warm", minSeconds=0.01, maxSeconds=0.1)
        assert kind == "warmed" and set(warmed) - {"steady"} == {"seconds", "sampleSeconds", "paceSeconds", "endToEndCalls"}
        kind, burst = runner.burst(12)
        assert kind == "burst"
        assert len(burst["deviceSeconds"]) + burst.get("discarded", 0) == 12
        assert "submitSeconds" not in burst  # a CPU has no queue
        assert burst["dutyRatio"] > 0
        checks += [runner.verify("AFTER"), runner.verify("NEW_SEED", seed="99")]
        runner.finish()
        for check in checks:
            assert check["passed"]
            assert check.get("relativeError", 0) <= check.get("tolerance", 0)
        return told, [(check.get("tolerance", 0), check["method"]) for check in checks]
    alike(talk)


def test_the_frames_hold_the_same_fields(both):
    """But for what only one of them has to say."""
    def fields(who):
        runner, found = both[who], {}
        requests = ("prepare", None), ("verify", {"stage": "BEFORE"}), ("warm", {"max_seconds": 0.05}), ("burst", {"samples": 2}), ("finish", {})
        for kind, message in requests:
            answered, reply = prepare(both, who, "right") if kind == "prepare" else runner.say(kind, **message)
            found[answered] = set(reply) - {"steady", "discarded", "flags", "configuration", "libraries"}
        return found
    assert fields("python") == fields("c++")


def test_the_worker_can_read_every_frame(both, runner_protos):
    runner = both["python"]
    runner.say("hello")
    runner.prepare("torch")
    runner.burst()
    runner.prepare("torch")
    runner.finish()
    for line in runner.replies:
        json_format.Parse(line, runner_protos.RunnerReply())


@pytest.mark.parametrize("more", [
    {"kernel": "fft"}, {"kernel": ""}, {"dtype": "fp7"}, {"dtype": "half"}, {"size": "many"}, {"size": ""}, {"size": "2^44"}, {"size": "0"},
    {"mode": "warm"}, {"mode": "graph"}, {"flush": "thorough"}, {"seed": "18446744073709551615", "flush": "none "}])
def test_what_the_catalog_or_the_engine_refuses_is_refused_in_the_same_words(both, alike, more):
    answer = alike(lambda who: prepare(both, who, "right", **more))
    assert answer[0] == "failure" and answer[1]["message"]


def test_failures_are_the_same_outcomes(both, alike):
    def prepared_failure(name, **more):
        return alike(lambda who: failure_of(prepare(both, who, name, **more)))
    assert prepared_failure("no") == {"outcome": "OUTCOME_UNSUPPORTED", "reason": "UNKNOWN_IMPLEMENTATION"}
    assert prepared_failure("fp32 only", dtype="fp64") == {"outcome": "OUTCOME_UNSUPPORTED", "reason": "UNSUPPORTED_DTYPE"}
    assert prepared_failure("throws") == {"outcome": "OUTCOME_CRASHED", "reason": "EXCEPTION"}
    assert prepared_failure("fails") == {"outcome": "OUTCOME_CRASHED", "reason": "LAUNCH_FAILED"}


def test_more_memory_than_allowed_is_refused_with_both_numbers(both, alike):
    answer = alike(lambda who: prepare(both, who, "right", size="1Mi", memoryLimitBytes=str(1 << 20)))
    assert answer[1]["outcome"] == "OUTCOME_OUT_OF_MEMORY"
    assert answer[1]["freeBytes"] == str(1 << 20)


def test_a_launch_that_fails_late_gives_no_times(both, alike):
    def talk(who):
        prepare(both, who, "fails late")
        return both[who].verify()["passed"], failure_of(both[who].burst(100))
    assert alike(talk) == (True, {"outcome": "OUTCOME_CRASHED", "reason": "LAUNCH_FAILED"})


def test_wrong_results_are_found_in_the_same_words(both, alike):
    def talk(who, name):
        prepare(both, who, name)
        check = both[who].verify()
        both[who].finish()
        return check.get("passed", False), check["reason"]
    assert alike(lambda who: talk(who, "mutates")) == (False, "INPUT_MODIFIED")
    assert alike(lambda who: talk(who, "wrong"))[0] is False


def test_requests_that_make_no_sense_get_the_same_answer(both, alike):
    def talk(who):
        runner = both[who]
        answers = [runner.say(kind, **fields) for kind, fields in (
            ("burst", {"samples": 1}), ("warm", {"max_seconds": 1}), ("verify", {"stage": "BEFORE"}), ("tune", {"max_seconds": 1}),
            ("collectCode", {}), ("profile_launch", {}), ("finish", {}))]
        prepare(both, who, "right")
        answers += [runner.say(kind, **fields) for kind, fields in (
            ("burst", {"samples": 0, "max_seconds": 1}), ("burst", {"samples": 10001}), ("burst", {"samples": 1, "max_seconds": -1}),
            ("warm", {"min_seconds": 2, "max_seconds": 1}), ("warm", {}), ("verify", {}), ("tune", {}), ("calibrate", {}), ("profile_launch", {}),
            ("collect_code", {"directory": "/nowhere"}))]
        answers.append(prepare(both, who, "right"))
        return answers
    alike(talk)


def test_frames_that_are_none_get_a_bad_frame(both, alike):
    def talk(who):
        replies = []
        for line in (b"rubbish", b"", b"[]", b'{"id":"1","dance":{}}', b'{"id":"1","burst":{"samples":"x"}}', b'{"hello":{},"finish":{}}', b"\xff",
                     b'{"id":1,"warm":{"maxSeconds":"NaN"}}', b"x" * (2 << 20), b'{"id":"5"}'):
            reply = both[who].send(line)
            assert reply["failure"].pop("message")
            replies.append(reply)
        return replies
    replies = alike(talk)
    assert [reply["failure"]["reason"] for reply in replies] == ["BAD_FRAME"] * 9 + ["BAD_REQUEST"]


def test_the_reference_is_shared_through_its_folder(both, tmp_path):
    for who in RUNNERS:
        prepare(both, who, "right", kernel="matmul", size="64", referenceDir=str(tmp_path))
        assert both[who].verify()["passed"]
        assert len(os.listdir(tmp_path)) == 1  # the second one reads what the first one wrote


def test_a_launch_that_would_take_too_long_is_skipped_with_its_estimate(both):
    for who, size in (("c++", "8192"), ("python", "32768")):
        kind, failure = prepare(both, who, "right", kernel="matmul", size=size)
        assert (kind, failure["outcome"], failure["reason"]) == ("failure", "OUTCOME_SKIPPED", "LAUNCH_TOO_LONG")
        assert failure["estimateSeconds"] > 5
        assert "the limit is 5 s" in failure["message"]


def test_calibrations_agree(both):
    for who in RUNNERS:
        kind, message = both[who].say("calibrate")
        assert kind == "calibrated"
        calibration = message["calibration"]
        assert len(calibration["knownDurations"]) == 4
        assert calibration["readBandwidth"] > 1e8 and calibration["seconds"] > 0.05
        assert calibration["engineVersion"]
