"""Bad input: one clear line and an exit code, never a stack trace, a hang or a lost job."""
import socket
import time

import pytest

from stack import BIN

BAD = [
    # (arguments of submit, words that must stand in the one line)
    (("matmul", "fp32", "0"), ["size"]),
    (("matmul", "fp32", "-5"), ["size", "-5"]),
    (("matmul", "fp32", "many"), ["size", "many"]),
    (("matmul", "fp32", "1.5"), ["size"]),
    (("sum", "fp32", "99999999999999999999999"), ["size"]),
    (("sum", "fp32", "2^80"), ["size"]),
    (("sum", "fp32", "1Ti"), ["size"]),  # larger than the memory
    (("matmul", "fp32", "m=1,n=2,q=3"), ["size", "q"]),
    (("matmul", "fp32", "1Ki..64Mi"), ["size"]),
    (("matmull", "fp32", "64"), ["kernel", "matmull", "matmul"]),
    (("matmul", "fp61", "64"), ["dtype", "fp61", "fp6"]),
    (("attention", "fp8e4m3", "64"), ["dtype", "fp8e4m3", "fp16"]),
    (("matmul", "int32", "64"), ["dtype", "int32", "int8"]),
    (("matmul", "fp32", "64", "--impl", "cpu/nayve"), ["impl", "cpu/naive"]),
    (("sum", "fp32", "64", "--mode", "tepid"), ["mode", "tepid", "cold"]),
    (("sum", "fp32", "64", "--flush", "twice"), ["flush", "twice"]),
    (("sum", "fp32", "64", "--target", "90%"), ["target"]),
    (("sum", "fp32", "64", "--budget", "1ms"), ["budget"]),
    (("sum", "fp32", "64", "--budget", "3h"), ["budget"]),
    (("sum", "fp32", "64", "--priority", "1001"), ["priority"]),
    (("x" * 5000, "fp32", "64"), ["kernel"]),
    (("sum", "x" * 5000, "64"), ["dtype"]),
    (("sum", "fp32", "x" * 5000), ["size"]),
    (("sum", "fp32", "64", "--impl", "x" * 5000), ["impl"]),
    (("sum", "fp32", "1..10000+1"), ["10000", "1000"]),
]


@pytest.mark.parametrize("args,words", BAD, ids=[" ".join(a)[:40] for a, _ in BAD])
def test_one_line_and_exit_code_2(shared, args, words):
    before = shared.client("list", "--limit", "1000").out
    ran = shared.client("submit", *args, "--quick" if "--target" not in args else "--detach", timeout=30)
    assert ran.code == 2, ran
    assert ran.out == ""
    lines = ran.err.splitlines()
    assert len(lines) == 1, ran
    assert lines[0].startswith("kbench-client: ")
    for word in words:
        assert word in lines[0], ran
    assert len(lines[0]) < 400
    assert shared.client("list", "--limit", "1000").out.count("\n") == before.count("\n"), "a job was queued"


def test_a_device_nobody_has(shared):
    # Just after its start the coordinator does not know yet which devices will come back.
    for _ in range(60):
        ran = shared.client("submit", "sum", "fp32", "64", "--device", "gpu7")
        assert len(ran.err.splitlines()) == 1 and "gpu7" in ran.err, ran
        if ran.code != 75:
            break
        time.sleep(1)
    assert ran.code == 2 and "cpu" in ran.err, ran


def test_a_dtype_an_implementation_lacks_is_a_row(shared):
    ran = shared.submit("matmul", "fp64", "64", "--quick", "--impl", "cpu/onednn")
    assert ran.code == 1, ran
    assert [r["outcome"] for r in ran.results] == ["OUTCOME_UNSUPPORTED"]
    assert "fp64" in ran.results[0]["message"]


@pytest.mark.parametrize("verb", ["watch", "show", "cancel", "artifacts"])
def test_an_unknown_job(shared, verb):
    for name in ("nosuchjob", "jobs/nosuchjob", "../etc/passwd", "x" * 5000):
        ran = shared.client(verb, name)
        assert ran.code == 2, ran
        assert len(ran.err.splitlines()) == 1, ran


def test_a_second_worker_on_the_same_device(shared):
    second = shared.start_worker(wait=False)
    assert second.wait(30) != 0
    lines = second.log.read_text().splitlines()
    assert lines, "it says why"
    assert len(lines) <= 3 and any("cpu" in line or "device" in line for line in lines), lines
    assert shared.submit("null", "fp32", "1", "--quick").code in (0, 4)


def one_line_end(process, *words):
    code = process.wait(20)
    text = process.log.read_text()
    assert code not in (0, None) and code > 0, (code, text)
    lines = text.splitlines()
    assert len(lines) == 1, text
    for word in words:
        assert word in text, text


def test_a_used_socket(shared):
    second = shared.start_server(data=shared.root / "other", wait=False)
    one_line_end(second, str(shared.socket))
    assert shared.submit("null", "fp32", "1", "--quick").code in (0, 4), "the first one is not disturbed"


def test_a_stale_socket_is_taken_over(empty):
    empty.socket.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(empty.socket))
    assert empty.client("list").code == 5
    empty.start_server()
    assert empty.client("list").code == 0


def test_a_socket_path_over_107_bytes(empty):
    path = empty.root / ("x" * 120) / "kbench.sock"
    server = empty.start_server("--listen", f"unix:{path}", wait=False)
    one_line_end(server, "107")
    for verb in (("list",), ("up",)):
        ran = empty.client(*verb, env={"XDG_RUNTIME_DIR": str(path.parent)})
        assert ran.code in (2, 5), ran
        assert len(ran.err.splitlines()) == 1 and "107" in ran.err, ran


@pytest.mark.parametrize("data", ["/proc/kbench", "/dev/null/kbench"])
def test_a_data_folder_that_cannot_be_written(empty, data):
    server = empty.daemon(BIN / "kbench-server", "--data-dir", data, "--metrics-listen", "127.0.0.1:0")
    one_line_end(server, data)
    ran = empty.client("up", env={"XDG_STATE_HOME": data})
    assert ran.code == 5, ran
    assert len(ran.err.splitlines()) == 1 and data in ran.err, ran


def test_tcp_only_on_loopback(empty):
    server = empty.start_server("--listen", "0.0.0.0:7600", wait=False)
    one_line_end(server, "loopback")


def test_nothing_listens(empty):
    for args in (("list",), ("submit", "sum", "fp32", "1Ki"), ("watch", "x"), ("devices",)):
        ran = empty.client(*args)
        assert ran.code == 5, ran
        assert len(ran.err.splitlines()) == 1 and "kbench-client up" in ran.err, ran
        assert ran.seconds < 2
    ran = empty.client("list", env={"KBENCH_SERVER": "127.0.0.1:1"})
    assert ran.code == 5 and "kbench-client up" in ran.err, ran
    assert empty.client("version").code == 0


@pytest.mark.parametrize("device", ["gpu", "99", "cpu:9999", "GPU-00000000-0000-0000-0000-000000000000", "toaster"])
def test_a_device_that_is_not_there(shared, device):
    worker = shared.start_worker(device=device, wait=False)
    code = worker.wait(20)
    lines = worker.log.read_text().splitlines()
    assert code > 0 and 1 <= len(lines) <= 2, (code, lines)
