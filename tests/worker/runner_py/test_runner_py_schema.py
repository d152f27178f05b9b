"""The tables of schema.py against the .proto files, and both ways through JSON."""
import json
import math

import pytest

from kbench_runner import schema

BEYOND = {"matmul_flops", "between_session_ratio", "canaries"}  # of Calibration: filled in by the worker


def kind_of(field):
    """The word of schema.py for a field of the real descriptor."""
    names = {field.TYPE_STRING: "string", field.TYPE_DOUBLE: "double", field.TYPE_BOOL: "bool", field.TYPE_INT32: "int32", field.TYPE_INT64: "int64",
             field.TYPE_UINT64: "uint64"}
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return "map"
    kind = names.get(field.type) or (field.enum_type or field.message_type).name
    return "*" + kind if getattr(field, "is_repeated", False) or getattr(field, "label", 0) == 3 else kind


def message_types(descriptor, found):
    found[descriptor.name] = descriptor
    for field in descriptor.fields:
        if field.message_type is not None and not field.message_type.GetOptions().map_entry and field.message_type.name not in found:
            message_types(field.message_type, found)
    return found


def test_the_tables_are_those_of_the_proto_files(runner_protos):
    found = message_types(runner_protos.RunnerReply.DESCRIPTOR, message_types(runner_protos.RunnerRequest.DESCRIPTOR, {}))
    assert set(found) == set(schema.MESSAGES)
    for name, descriptor in found.items():
        fields = sorted(descriptor.fields, key=lambda field: field.number)
        expected = {field.name: kind_of(field) for field in fields if not (name == "Calibration" and field.name in BEYOND)}
        assert list(schema.MESSAGES[name].items()) == list(expected.items()), name


def test_the_enums_are_those_of_the_proto_files(runner_protos):
    outcome = runner_protos.RunnerFailure.DESCRIPTOR.fields_by_name["outcome"].enum_type
    stage = runner_protos.Verify.DESCRIPTOR.fields_by_name["stage"].enum_type
    assert [value.name for value in outcome.values] == list(schema.OUTCOMES)
    assert [value.name for value in stage.values] == list(schema.STAGES)


def test_both_spellings_and_both_kinds_of_integers_are_read():
    for document in ({"samples": 3, "max_seconds": "0.5"}, {"samples": "3", "maxSeconds": 0.5}, {"samples": 3.0, "maxSeconds": 0.5}):
        assert schema.decode("Burst", document) == {"samples": 3, "max_seconds": 0.5}
    assert schema.decode("Verify", {"stage": 2})["stage"] == "AFTER"
    assert schema.decode("Verify", {"seed": str(2**64 - 1)}) == {"stage": "STAGE_UNSPECIFIED", "seed": 2**64 - 1}
    assert schema.decode("Prepare", {"case": None, "flush": None})["case"] is None


@pytest.mark.parametrize("name, document, words", [
    ("Burst", [], "no message of type Burst"),
    ("Burst", {"sample": 1}, "Burst has no such field"),
    ("Burst", {"samples": 1.5}, "samples: 1.5 is no int32"),
    ("Burst", {"samples": 2**31}, "is no int32"),
    ("Burst", {"samples": True}, "is no int32"),
    ("Burst", {"samples": "many"}, "'many' is no integer"),
    ("Burst", {"max_seconds": "NaN"}, "not a finite number"),
    ("Burst", {"max_seconds": 1e999}, "not a finite number"),
    ("Burst", {"max_seconds": 1, "maxSeconds": 1}, "given twice"),
    ("Verify", {"seed": -1}, "is no uint64"),
    ("Verify", {"stage": "LATER"}, "none of STAGE_UNSPECIFIED, BEFORE"),
    ("Prepare", {"case": {"kernel": 1}}, "case.kernel: 1 is no string"),
    ("Prepare", {"implementation": "\ud800"}, "no valid Unicode"),
    ("RunnerReply", {"hello": {"absent": {}}}, "hello.absent: {} is no list"),
    ("RunnerReply", {"hello": {"libraries": []}}, "hello.libraries: [] is no map"),
])
def test_what_may_not_stand_in_a_message_is_named(name, document, words):
    with pytest.raises(schema.SchemaError) as raised:
        schema.decode(name, document)
    assert words in str(raised.value)


def test_replies_are_canonical_json(runner_protos):
    from google.protobuf import json_format
    reply = {"id": 7, "prepared": {"first_call_seconds": 0.1, "footprint_bytes": 2**40, "configuration": {"tile": "64x64", "a": "b"}, "candidates": 3,
                                   "launches_per_sample": 1, "tuned": ""}}
    document = schema.encode("RunnerReply", reply)
    assert document == {"id": "7", "prepared": {"firstCallSeconds": 0.1, "footprintBytes": str(2**40), "configuration": {"tile": "64x64", "a": "b"},
                                                "candidates": 3, "launchesPerSample": 1}}
    read = json_format.Parse(json.dumps(document), runner_protos.RunnerReply())
    assert json.loads(json_format.MessageToJson(read)) == document


def test_an_empty_message_says_which_it_is():
    assert schema.encode("RunnerReply", {"id": 1, "finished": {}}) == {"id": "1", "finished": {}}


@pytest.mark.parametrize("reply", [{"burst": {"seconds": math.nan}}, {"burst": {"device_seconds": [1.0, math.inf]}}, {"burst": {"second": 1}},
                                   {"hello": {"libraries": {"torch": None}}}, {"nothing": {}}])
def test_what_makes_no_frame_is_refused(reply):
    with pytest.raises(schema.SchemaError):
        schema.encode("RunnerReply", reply)
