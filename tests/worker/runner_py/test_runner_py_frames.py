"""Lines on descriptors, as tests/worker/runner/frames_test.cc has them."""
import os
import threading

import pytest

from kbench_runner import frames


@pytest.fixture
def pipe():
    read, write = os.pipe()
    yield read, write
    for fd in (read, write):
        try:
            os.close(fd)
        except OSError:
            pass


def feed(write, data):
    """Writes from a thread, then ends the stream: more than a pipe holds must not block the test."""
    def body():
        with os.fdopen(write, "wb") as file:
            file.write(data)
    thread = threading.Thread(target=body)
    thread.start()
    return thread


def read_all(fd):
    reader, found = frames.FrameReader(fd), []
    while True:
        try:
            line = reader.next()
        except frames.FrameTooLong as error:
            found.append(str(error))
            continue
        if line is None:
            return found
        found.append(line)


def test_lines_come_one_by_one_and_a_last_one_without_its_end_is_dropped(pipe):
    thread = feed(pipe[1], b"one\n\ntwo\nhalf")
    assert read_all(pipe[0]) == [b"one", b"", b"two"]
    thread.join()


def test_a_line_over_the_limit_is_refused_once_and_skipped(pipe):
    longest = b"x" * frames.MAX_FRAME_BYTES
    thread = feed(pipe[1], longest + b"\n" + longest + b"y\nnext\n" + 3 * longest + b"\nlast\n")
    told = "a frame is over the limit of 1048576 bytes"
    assert read_all(pipe[0]) == [longest, told, b"next", told, b"last"]
    thread.join()


def test_requests_are_read():
    assert frames.decode_request(b'{"id":"3","finish":{}}') == (3, "finish", {})
    assert frames.decode_request(b'{"id":4}') == (4, None, None)
    assert frames.decode_request(b'{"burst":{"samples":2},"hello":null}') == (0, "burst", {"samples": 2, "max_seconds": 0.0})


@pytest.mark.parametrize("line, words", [
    (b"", "Expecting value"), (b"\xff", "utf-8"), (b"[]", "no message"), (b'{"id":1', "delimiter"),
    (b'{"warm":{"max_seconds":NaN}}', "not a finite number"), (b'{"warm":{"max_seconds":-Infinity}}', "not a finite number"),
    (b'{"hello":{},"finish":{}}', "2 requests (hello, finish)"), (b'{"id":1,"id":2,"hello":{}}', "given twice"),
    (b'{"dance":{}}', "no such field"), (b"[" * 100000, "RunnerRequest"),
])
def test_what_is_no_request_is_named(line, words):
    with pytest.raises(frames.BadFrame) as raised:
        frames.decode_request(line)
    assert words in str(raised.value)
    assert "not a frame of type kbench.v1.RunnerRequest" in str(raised.value)


def test_replies_are_lines(pipe):
    frames.FrameWriter(pipe[1]).write({"id": 2, "code_collected": {"message": "two\nlines and é"}})
    assert os.read(pipe[0], 1000) == '{"id":"2","codeCollected":{"message":"two\\nlines and é"}}\n'.encode()


def test_a_reply_that_is_too_long_is_refused_before_anything_is_written(pipe):
    with pytest.raises(frames.BadReply, match="over the limit"):
        frames.FrameWriter(pipe[1]).write({"id": 2, "code_collected": {"message": "x" * (1 << 20)}})
    os.close(pipe[1])
    assert os.read(pipe[0], 10) == b""
