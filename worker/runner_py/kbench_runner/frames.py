"""Frames on descriptors: one JSON line each, at most 1 MiB. The reader never holds more than that, whatever the other side sends."""
import json
import os

from kbench_runner import schema

MAX_FRAME_BYTES = 1 << 20
READ_BYTES = 64 * 1024


class FrameTooLong(Exception):
    """The line is skipped; the next call gives the one behind it."""


class BadFrame(Exception):
    """A line that is no request."""


class BadReply(Exception):
    """A reply that makes no frame."""


class FrameReader:
    def __init__(self, fd):
        self._fd = fd
        self._buffer = bytearray()
        self._scanned = 0  # of the buffer: holds no newline
        self._skipping = False  # inside a line that was refused

    def next(self):
        """The next line without its newline; None at the end of file (a last line without a newline is dropped: its writer died)."""
        while True:
            newline = self._buffer.find(b"\n", self._scanned)
            if newline >= 0:
                line = bytes(self._buffer[:newline])
                del self._buffer[:newline + 1]
                self._scanned = 0
                if self._skipping:
                    self._skipping = False
                    continue
                if len(line) <= MAX_FRAME_BYTES:
                    return line
                raise FrameTooLong(f"a frame is over the limit of {MAX_FRAME_BYTES} bytes")
            self._scanned = len(self._buffer)
            if self._skipping or self._scanned > MAX_FRAME_BYTES:
                self._buffer.clear()
                self._scanned = 0
                if not self._skipping:
                    self._skipping = True
                    raise FrameTooLong(f"a frame is over the limit of {MAX_FRAME_BYTES} bytes")
            chunk = os.read(self._fd, READ_BYTES)
            if not chunk:
                return None
            self._buffer += chunk


class FrameWriter:
    def __init__(self, fd):
        self._fd = fd

    def write(self, reply):
        """BadReply when it makes no frame (nothing is written), OSError when the other side is gone."""
        data = encode_reply(reply) + b"\n"
        while data:
            data = data[os.write(self._fd, data):]


def _refuse_constant(word):
    raise ValueError(f"{word} is not a finite number")


def _pairs(pairs):
    """An object whose keys are all different."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a field is given twice")
    return found


def decode_request(line):
    """(id, kind, message) of a line; kind is None where it holds no request. BadFrame says what is wrong with it."""
    try:
        document = json.loads(line.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_pairs)
        request = schema.decode("RunnerRequest", document)
    except (ValueError, RecursionError, schema.SchemaError) as error:
        raise BadFrame(f"not a frame of type kbench.v1.RunnerRequest: {error}") from None
    kinds = [kind for kind, message in request.items() if kind != "id" and message is not None]
    if len(kinds) > 1:
        raise BadFrame(f"not a frame of type kbench.v1.RunnerRequest: it holds {len(kinds)} requests ({', '.join(kinds)}), not one")
    kind = kinds[0] if kinds else None
    return request["id"], kind, request[kind] if kind else None


def encode_reply(reply):
    """The line of a reply, as a dict by the names of RunnerReply."""
    try:
        document = schema.encode("RunnerReply", reply)
    except schema.SchemaError as error:
        raise BadReply(str(error)) from None
    line = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    if len(line) > MAX_FRAME_BYTES:
        raise BadReply(f"a frame of {len(line)} bytes is over the limit of {MAX_FRAME_BYTES}")
    return line
