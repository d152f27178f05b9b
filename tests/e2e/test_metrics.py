"""Series of results over the life of the processes behind them: /metrics of a real coordinator."""
import os
import re
import socket
import urllib.request

DURATION = "kbench_result_duration_seconds"
CASE = ("--impl", "cpu/naive", "--budget", "5s")


def scrape(stack):
    with urllib.request.urlopen(f"http://{stack.note()['metrics']}/metrics", timeout=30) as answer:
        return answer.read().decode()


def series(stack, family):
    """{labels as a frozenset of pairs: value}"""
    lines = re.findall(rf"^{family}(?:{{(.*)}})? (\S+)$", scrape(stack), flags=re.MULTILINE)
    return {frozenset(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels)): float(value) for labels, value in lines}


def durations(stack):
    """{(size, mode): seconds} of the naive products."""
    found = {}
    for labels, value in series(stack, DURATION).items():
        named = dict(labels)
        if named["implementation"] == "cpu/naive":
            found[named["size"], named["mode"]] = value
    return found


def shape(size):
    return f"m={size},n={size},k={size},layout=nn"


def measure(stack, size, *more):
    ran = stack.client("submit", "matmul", "fp32", size, *CASE, *more)
    assert ran.code in (0, 4), ran  # a number may be SUSPECT on a busy machine


def test_cold_and_steady_are_two_series_that_stay_and_come_back(stack):
    measure(stack, 32)
    measure(stack, 32, "--mode", "steady")
    stack.wait_until(lambda: len(durations(stack)) == 2, "two series", stack.server)
    told = durations(stack)
    assert set(told) == {(shape(32), "cold"), (shape(32), "steady")}
    stamps = series(stack, "kbench_result_timestamp_seconds")
    stack.terminate(stack.worker)
    assert durations(stack) == told, "they stay when the job has ended and the worker has gone"
    stack.kill9(stack.server)
    stack.server = stack.start_server()
    assert durations(stack) == told, "the same numbers, from the store"
    assert series(stack, "kbench_result_timestamp_seconds") == stamps, "of the time when they were measured"


def test_ad_hoc_ones_make_place_for_newer_ones_and_others_do_not(empty, tmp_path):
    suite = tmp_path / "nightly.textproto"
    suite.write_text('name: "nightly"\nsummary: "One product."\nentries { kernels: "matmul" dtypes: "fp32" sizes: "16" }\n', encoding="utf-8")
    more = ("--ad-hoc-series", "2")
    empty.server = empty.start_server(*more)
    empty.worker = empty.start_worker()
    assert empty.client("suite", "schedule", "--file", str(suite), "--at", "02:00", "--zone", "UTC").code == 0
    measure(empty, 16, "--label", "schedule=nightly")
    measure(empty, 17, "--label", "schedule=nightly")  # says so, and is none of its cases
    for size in (18, 19, 20):
        measure(empty, size)
    kept = {(shape(size), "cold") for size in (16, 19, 20)}
    empty.wait_until(lambda: set(durations(empty)) == kept, f"not {kept}", empty.server)
    # The scheduled cell was an ad-hoc one until its schedule was looked up.
    assert series(empty, "kbench_result_series_evicted_total") == {frozenset(): 2}
    empty.kill9(empty.server)
    empty.server = empty.start_server(*more)
    assert set(durations(empty)) == kept, "those that were there before"

    def wait_intervals(values, what):
        empty.wait_until(lambda: list(series(empty, "kbench_result_scheduled_interval_seconds").values()) == values, what, empty.server)

    wait_intervals([86400], "a schedule that was there before is not told")
    for verb, values in (("pause", []), ("continue", [86400]), ("unschedule", [])):
        assert empty.client("suite", verb, "nightly").code == 0
        wait_intervals(values, f"after {verb} the intervals are not {values}")


def test_labels_of_people_stay_within_their_quotes(shared):
    odd = 'ä "quoted" \\ back{slash="x"} ünd'
    held = shared.client("hold", "cpu", "--for", "5m", "--detach", env={"USER": odd, "LOGNAME": odd})
    assert held.code == 0, held
    waiting = shared.submit_detached("matmul", "fp32", "16", "--label", f"note={odd}")
    try:
        shared.wait_until(lambda: series(shared, "kbench_device_running_info"), "nothing runs", shared.server)
        text = scrape(shared)
        assert all(re.match(r'kbench_\w+(\{(\w+="(?:[^"\\\n]|\\["\\n])*",?)*\})? \S+$|# (HELP|TYPE) kbench_', line) for line in text.splitlines()), text
        assert re.search(r'^kbench_queue_next_info\{position="1".*case="matmul fp32 16"', text, flags=re.MULTILINE), text
        assert "note" not in text, "a job's own labels are none of a series"
    finally:
        assert shared.client("cancel", waiting, held.out.strip()).code == 0


def test_scrapers_that_stall_cost_the_others_nothing(shared):
    """As many as server/metrics/http.h says. More than that delay a scrape by seconds, and nothing else: jobs go on."""
    host, port = shared.note()["metrics"].rsplit(":", 1)
    tasks = len(os.listdir(f"/proc/{shared.server.pid}/task"))
    files = len(os.listdir(f"/proc/{shared.server.pid}/fd"))
    stalled = []

    def stall(count):
        for index in range(count):
            one = socket.socket()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            one.connect((host, int(port)))
            # Half a request, a whole one whose answer nobody reads, or nothing at all.
            one.sendall((b"GET /metr", b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", b"")[index % 3])
            stalled.append(one)

    try:
        stall(15)
        assert "kbench_build_info" in scrape(shared)
        stall(60)
        measure(shared, 24)
        shared.wait_until(lambda: (shape(24), "cold") in durations(shared), "it is not told", shared.server)
        # gRPC's own threads come and go; 75 more would be one a scraper.
        assert len(os.listdir(f"/proc/{shared.server.pid}/task")) < tasks + 50
        assert len(os.listdir(f"/proc/{shared.server.pid}/fd")) < files + 60, "most of the stalled were sent away"
    finally:
        for one in stalled:
            one.close()
    assert "kbench_build_info" in scrape(shared)
