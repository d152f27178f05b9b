"""The program: reads requests until the end of file, answers each."""
import faulthandler
import gc
import os
import signal
import sys

from kbench_runner import build_id, failures, frameworks, options, process, registry
from kbench_runner.engine import Library
from kbench_runner.frames import BadFrame, BadReply, FrameReader, FrameTooLong, FrameWriter, decode_request
from kbench_runner.session import Session

REQUEST_FD = 3
REPLY_FD = 4
EXIT_USAGE = 2
EXIT_FATAL = 110  # as the C++ runner's


def complain(message):
    print(f"kbench_runner: {message}", file=sys.stderr)
    return EXIT_USAGE


def make_session(chosen, library, threads):
    """Imports the framework and the implementations; what is missing is told in the hello."""
    absent = []

    def add(message, install=""):
        absent.append({"framework": chosen.framework, "environment": chosen.environment, "message": message, "install": install})

    framework, found = None, registry.Registry()
    try:
        framework = frameworks.load(chosen.framework, chosen.device)
        found = registry.find(chosen.kernels, chosen.framework, chosen.device, chosen.environment)
    except frameworks.Absent as error:
        add(error.message, error.install)
    for message in found.broken:
        add(message)
    return Session(chosen, library, framework, found, absent, build_id.build_id(chosen.kernels), threads)


def bad_frame(error):
    return {"failure": failures.Failure("INFRA", "BAD_FRAME", " ".join(str(error).split())[:300]).message_fields()}


def serve(session, reader, writer):
    """Answers until the end of file (0), a fatal failure (EXIT_FATAL) or a broken descriptor (1)."""
    while True:
        try:
            line = reader.next()
            if line is None:
                return 0
            reply = session.handle(*decode_request(line))
        except (BadFrame, FrameTooLong) as error:
            reply = bad_frame(error)
        except OSError:
            return 1
        try:
            try:
                writer.write(reply)
            except BadReply as error:  # a number that is not finite, or too long: that is said instead
                writer.write({"id": reply.get("id", 0), "failure": failures.Failure("INFRA", "BAD_REPLY", str(error)).message_fields()})
        except OSError:
            return 1
        if session.fatal:
            return EXIT_FATAL


def main(arguments):
    try:
        chosen = options.parse(arguments)
    except options.UsageError as error:
        return complain(str(error))
    process.die_with_parent(chosen.parent)
    if not chosen.stdio and not (process.is_open(REQUEST_FD) and process.is_open(REPLY_FD)):
        return complain("frames are read from descriptor 3 and written to descriptor 4, which are not open; run it by hand with --stdio")
    try:
        threads = process.settle(chosen.cpus, chosen.threads)
    except OSError as error:
        return complain(f"cannot run on the CPUs of --cpus: {error.strerror}")
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends a launch too, which would only see an exception
    writer = FrameWriter(process.move_stdout_aside() if chosen.stdio else REPLY_FD)
    reader = FrameReader(0 if chosen.stdio else REQUEST_FD)
    if not chosen.stdio:
        process.keep_from_children(REQUEST_FD, REPLY_FD)
    process.print_at_once()
    faulthandler.enable()  # a crash leaves the line of Python that it happened in among what was printed
    try:
        library = Library(chosen.engine)
    except OSError as error:
        return complain(f"--engine: {error}")
    session = make_session(chosen, library, threads)
    gc.freeze()  # what was imported stays: looking for garbage among it would take 0.1 s of every case
    code = serve(session, reader, writer)
    # A poisoned context makes every destructor a gamble.
    if code == EXIT_FATAL:
        os._exit(code)
    session.close()
    return code
