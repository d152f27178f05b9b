"""Joining, being somebody, and not being let in: what `kbench-server init` and `invite` make, used by others."""
import base64
import json
import time

import pytest

from accounts import Account, Lab, can_become, free_port
from stack import BIN

needs_root = pytest.mark.skipif(not can_become(), reason="becoming another user wants root and setpriv")


def decoded(line):
    text = line.removeprefix("kbench-join:")
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))[:-8])


def one_line(ran, code, *words):
    assert ran.code == code and ran.out == "", ran
    assert len(ran.err.splitlines()) == 1 and ran.err.startswith("kbench-"), ran
    for word in words:
        assert word in ran.err, ran


@pytest.fixture
def lab(empty):
    return Lab(empty)


@pytest.mark.parametrize("user", [None, pytest.param("nobody", marks=needs_root)])
def test_three_commands_of_a_bare_account(lab, user):
    lab.stack.start_worker()
    ana = Account(lab.stack, "ana", user)
    line, _ = lab.invite("ana", "--role", "submitter")
    joined = ana.client("join", line)
    assert joined.code == 0 and f"you are ana (submitter) on {lab.address}" in joined.out, joined
    submitted = ana.client("submit", "sum", "fp32", "64Ki", "--quick", "--impl", "cpu/naive", "-o", "json")
    assert submitted.code in (0, 4), submitted
    # While something of hers is there to be seen: it waits for a device that is drained.
    assert lab.stack.client("drain", "cpu", "--reason", "a look at the queue").code == 0
    waiting = ana.client("submit", "sum", "fp32", "64Ki", "--detach")
    assert waiting.code == 0, waiting
    queue = ana.client("queue", "-o", "json")
    assert queue.code == 0, queue
    assert [w["owner"] for w in queue.lines[0]["queue"]["waiting"]] == ["ana"], queue
    table = ana.client("queue")
    assert table.code == 0 and waiting.out.strip() in table.out and "ana" in table.out, table
    kept = ana.home / ".config" / "kbench" / "client.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    who = ana.client("whoami")
    assert who.out.startswith(f"ana (submitter) on {lab.address}, by token "), who


@needs_root
def test_two_accounts_on_one_socket_are_two_owners(empty):
    folder = empty.root / "shared"
    folder.mkdir()
    folder.chmod(0o755)
    shared = folder / "kbench.sock"
    server = empty.daemon(BIN / "kbench-server", "--metrics-listen", "", "--data-dir", empty.data, "--listen", f"unix:{shared}",
                          "--share-socket")
    empty.wait_until(lambda: empty.note().get("pid") == server.pid, f"no server, see {server.log}", server)
    accounts = {user: Account(empty, user, user) for user in ("nobody", "daemon")}
    env = {"KBENCH_SERVER": f"unix:{shared}"}
    for user, account in accounts.items():
        who = account.client("whoami", env=env)
        assert who.out.startswith(f"{user} (submitter) on unix:{shared}, by local user "), who
    ran = empty.client("whoami", env=env)
    assert ran.out.startswith("root (admin)"), ran
    # The server knows devices from a worker alone: one that belongs to root is an admin's.
    worker = empty.daemon(BIN / "kbench-worker", "--server", f"unix:{shared}", "--device", "cpu", "--no-python",
                          "--data-dir", empty.root / "worker")
    empty.wait_until(lambda: '"READY"' in empty.client("devices", "-o", "json", env=env).out, f"no device, see {worker.log}", worker)
    jobs = {}
    for user, account in accounts.items():
        ran = account.client("submit", "sum", "fp32", "64Ki", "--detach", env=env)
        assert ran.code == 0, ran
        jobs[user] = ran.out.strip()
    listed = {line["job"]["name"]: line["job"]["owner"] for line in empty.client("list", "-o", "json", env=env).lines}
    assert listed == {f"jobs/{job}": user for user, job in jobs.items()}
    refused = accounts["nobody"].client("cancel", jobs["daemon"], env=env)
    assert refused.code != 0 and "belongs to daemon" in refused.err, refused
    assert accounts["daemon"].client("cancel", jobs["daemon"], env=env).code == 0
    # The private socket of a stack of one's own stays closed to others.
    own = empty.start_server(data=empty.root / "own", wait=False)
    empty.wait_until(empty.socket.exists, "no private socket", own)
    for part in ("run", "run/kbench"):
        (empty.root / part).chmod(0o711)
    ran = accounts["nobody"].client("list", env={"KBENCH_SERVER": f"unix:{empty.socket}"})
    assert ran.code == 5 and "no permission" in ran.err, ran


def test_a_worker_joins_and_is_let_go(lab):
    machine = Account(lab.stack, "machine")
    submitters, _ = lab.invite("ana")
    one_line(machine.run("kbench-worker", "join", submitters), 2, "--role worker")
    line, credential = lab.invite("lab", "--role", "worker")
    one_line(machine.client("join", line), 2, "kbench-worker join")
    joined = machine.run("kbench-worker", "join", line)
    assert joined.code == 0 and "lab (worker)" in joined.out, joined
    env = {"HOME": str(machine.home), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}
    worker = lab.stack.daemon(BIN / "kbench-worker", "--device", "cpu", "--no-python", "--no-canaries", env=env)
    lab.stack.wait_until(lab.stack.device_ready, f"no device is ready, see {worker.log}", worker)
    ran = lab.stack.submit("sum", "fp32", "64Ki", "--quick", "--impl", "cpu/naive")
    assert ran.code in (0, 4), ran
    assert lab.admin("tokens", "revoke", credential).code == 0
    lab.stack.wait_until(lambda: "refuses this worker" in worker.log.read_text() and "was revoked" in worker.log.read_text(),
                         "the worker does not say why", worker)
    assert not lab.stack.device_ready()
    # It joins again, and goes on by itself.
    line, _ = lab.invite("lab", "--role", "worker")
    assert machine.run("kbench-worker", "join", line).code == 0
    lab.stack.wait_until(lab.stack.device_ready, f"the device does not come back, see {worker.log}", worker)


def test_ci_reads_its_environment(lab):
    ci = Account(lab.stack, "ci")
    line, _ = lab.invite("ci", "--days", "1")
    given = decoded(line)
    env = {"KBENCH_SERVER": lab.address, "KBENCH_TOKEN": given["token"], "KBENCH_CA": given["ca"]}
    who = ci.client("whoami", env=env)
    assert who.code == 0 and who.out.startswith("ci (submitter)"), who
    (ci.home / "ca.pem").write_text(given["ca"])
    assert ci.client("whoami", env=env | {"KBENCH_CA": str(ci.home / "ca.pem")}).code == 0
    # On loopback TLS is spoken only where an authority says so.
    one_line(ci.client("whoami", env={k: v for k, v in env.items() if k != "KBENCH_CA"}), 5, "not without TLS", "KBENCH_CA")
    one_line(ci.client("whoami", env=env | {"KBENCH_TOKEN": line}), 2, "join line")
    one_line(ci.client("whoami", env=env | {"KBENCH_TOKEN": "kbt_" + "x" * 43}), 5, "not known here")
    # A token in the place of an address is not repeated.
    ran = ci.client("whoami", env={"KBENCH_SERVER": line})
    one_line(ran, 2, "kbench-client join")
    assert line[20:60] not in ran.err
    # Nothing of all that was stored.
    assert not (ci.home / ".config").exists()


def test_a_certificate_instead_of_a_token(lab):
    bo = Account(lab.stack, "bo")
    line, credential = lab.invite("bo", "--role", "viewer", "--certificate")
    assert "token" not in decoded(line)
    joined = bo.client("join", "-", text=line + "\n")
    assert joined.code == 0 and f"by certificate {credential}" in joined.out, joined
    assert bo.client("list").code == 0
    one_line(bo.client("submit", "sum", "fp32", "64Ki", "--detach"), 5, "wants the role submitter", "viewer")
    assert lab.admin("tokens", "revoke", credential).code == 0
    time.sleep(2)
    one_line(bo.client("list"), 5, "was revoked", "kbench-server invite")


def test_expired_and_revoked_credentials_say_what_to_do(lab):
    ana = Account(lab.stack, "ana")
    line, credential = lab.invite("ana")
    assert ana.client("join", line).code == 0
    job = ana.client("submit", "sum", "fp32", "64Ki", "--detach").out.strip()
    watching = lab.stack.popen(BIN / "kbench-client", "watch", job, env={"XDG_CONFIG_HOME": "", "HOME": str(ana.home)},
                               stdout=-1, stderr=-1, text=True)
    time.sleep(1)
    assert watching.poll() is None
    assert lab.admin("tokens", "revoke", credential).code == 0
    _, err = watching.communicate(timeout=20)
    assert watching.returncode == 5 and "was revoked" in err, err
    one_line(ana.client("list"), 5, "was revoked", "join again")
    # An expiry that the client knows of itself, and one that only the coordinator does.
    kept = ana.home / ".config" / "kbench" / "client.json"
    stored = json.loads(kept.read_text())
    stored["servers"][lab.address]["expires"] = 1_000_000
    kept.write_text(json.dumps(stored))
    one_line(ana.client("list"), 5, "have expired", "join again")
    tokens = lab.config / "tokens"
    fresh, credential = lab.invite("ana")
    lines = [l.replace(l[l.index('"expires":"') + 11:][:20], "2020-01-01T00:00:00Z") if credential in l else l
             for l in tokens.read_text().splitlines(keepends=True)]
    tokens.write_text("".join(lines))
    one_line(ana.client("join", fresh), 5, "has expired", "join again")
    listed = lab.admin("tokens", "list").out
    assert "revoked" in listed and "expired" in listed


def test_join_lines_that_are_none(lab):
    ana = Account(lab.stack, "ana")
    line, _ = lab.invite("ana")
    for bad in ("nonsense", "kbench-join:", line[:-1], line[:200], line.replace("A", "B", 3), "kbench-join:!!!!", "x" * 40_000):
        ran = ana.client("join", bad)
        one_line(ran, 2, "join line")
        assert len(ran.err) < 300 and line[40:80] not in ran.err, ran
    assert not (ana.home / ".config").exists()
    # A coordinator with another authority by now: the line is whole, and of no use.
    lab.stack.terminate(lab.server)
    lab.admin("init", "--name", "localhost", "--listen", f"127.0.0.1:{lab.port}", "--force")
    one_line(ana.client("join", line), 5, "nothing listens")
    lab.stack.start_server()
    one_line(ana.client("join", line), 5, "not signed by the authority")
    one_line(ana.client("list", "--server", lab.address), 5, "kbench-client join")


def test_beyond_loopback_only_with_tls(empty):
    port = free_port()
    ran = empty.client("--listen", f"0.0.0.0:{port}", program="kbench-server")
    one_line(ran, 2, "kbench-server init", "--insecure")
    made = empty.client("init", "--name", "localhost", "--listen", f"0.0.0.0:{port}", program="kbench-server")
    assert made.code == 0, made
    again = empty.client("init", program="kbench-server")
    one_line(again, 5, "--force", "server.toml")
    server = empty.start_server()
    assert empty.note()["listen"][0] == f"0.0.0.0:{port}"
    empty.terminate(server)
    open_to_all = empty.daemon(BIN / "kbench-server", "--config", "/dev/null", "--insecure", "--listen", f"0.0.0.0:{port}",
                               "--metrics-listen", "", "--data-dir", empty.root / "other")
    empty.wait_until(lambda: empty.client("whoami", env={"KBENCH_SERVER": f"127.0.0.1:{port}"}).code == 0, "no server", open_to_all)


def test_no_log_holds_a_secret(lab):
    ana = Account(lab.stack, "ana")
    line, _ = lab.invite("ana")
    secret = decoded(line)["token"]
    assert ana.client("join", line).code == 0
    ana.client("list", env={"KBENCH_TOKEN": secret[:-1], "KBENCH_SERVER": lab.address, "KBENCH_LOG": "trace"})
    ana.client("submit", "sum", "fp32", secret)
    ana.client("submit", "sum", "fp32", "64", "--device", secret)
    ana.client("list", "--server", line)
    ana.client("devices")
    worker, _ = lab.invite("lab", "--role", "worker")
    machine = Account(lab.stack, "machine")
    assert machine.run("kbench-worker", "join", worker).code == 0
    lab.stack.terminate(lab.server)
    found = [str(path) for path in lab.stack.root.rglob("*") if path.is_file()
             and any(s[4:-1].encode() in path.read_bytes() for s in (secret, decoded(worker)["token"]))]
    assert sorted(found) == sorted([str(ana.home / ".config/kbench/client.json"), str(machine.home / ".config/kbench/worker.json")])
    audit = lab.stack.data / "audit.log"
    assert audit.stat().st_mode & 0o777 == 0o600
    entries = [json.loads(entry) for entry in audit.read_text().splitlines()]
    assert {"UNAUTHENTICATED"} <= {entry.get("code") for entry in entries}


def test_the_configuration_file(empty):
    config = empty.root / "server.toml"
    config.write_text(f'listen = ["unix:{empty.root}/one.sock"]\nmetrics-listen = ""\ndata-dir = "{empty.data}"\nlog-level = "warn"\n')
    server = empty.daemon(BIN / "kbench-server", "--config", config)
    empty.wait_until(lambda: empty.note().get("pid") == server.pid, "no server", server)
    assert empty.note()["listen"] == [f"unix:{empty.root}/one.sock"] and empty.note()["metrics"] == ""
    empty.terminate(server)
    # Flags win.
    server = empty.daemon(BIN / "kbench-server", "--config", config, "--listen", f"unix:{empty.root}/two.sock")
    empty.wait_until(lambda: empty.note().get("pid") == server.pid, "no server", server)
    assert empty.note()["listen"] == [f"unix:{empty.root}/two.sock"]
    empty.terminate(server)
    for text, word in (("lisen = 1\n", "lisen"), ('local-role = "king"\n', "viewer, submitter"), ("[section]\nx = 1\n", "section")):
        config.write_text(text)
        ran = empty.client("--config", config, program="kbench-server")
        assert ran.code == 2 and word in ran.err and len(ran.err.splitlines()) == 1, ran
    ran = empty.client("--config", empty.root / "none.toml", program="kbench-server")
    assert ran.code == 2 and "none.toml" in ran.err, ran
    worker = empty.root / "worker.toml"
    worker.write_text('device = "cpu:9999"\n[env.default]\npython = "python3"\n')
    ran = empty.client("--config", worker, program="kbench-worker")
    assert ran.code == 2 and "no CPU 9999" in ran.err, ran
    ran = empty.client("--config", worker, "--device", "tpu", program="kbench-worker")
    assert ran.code == 2 and "'tpu'" in ran.err, ran
    worker.write_text('devise = "cpu"\n')
    ran = empty.client("--config", worker, program="kbench-worker")
    assert ran.code == 2 and "'devise'" in ran.err, ran


def test_an_admin_by_token_is_who_they_are(lab):
    """The name of the account they use here is nobody there: jobs, the default and drains are their own."""
    lab.stack.start_worker()
    boss = Account(lab.stack, "boss")
    line, _ = lab.invite("boss", "--role", "admin")
    assert boss.client("join", line).code == 0
    assert boss.client("whoami").out.startswith("boss (admin)")
    assert boss.client("default", "cpu").out == "your default: cpu\n"
    drained = boss.client("drain", "cpu", "--reason", "a look")
    assert drained.code == 0 and "by boss" in " ".join(drained.out.split()), drained
    submitted = boss.client("submit", "null", "fp32", "1", "--detach")
    assert submitted.code == 0, submitted
    held = boss.client("hold", "cpu", "--for", "1m", "--detach")
    assert held.code == 0, held
    for job in (submitted.out.strip(), held.out.strip()):
        assert lab.stack.job(job)[0]["owner"] == "boss"
    assert boss.client("resume", "cpu").code == 0
    # Nobody else has this default.
    listed = lab.stack.client("devices", "-o", "json")
    assert '"default"' not in listed.out, listed


def test_a_certificate_counts_by_the_file_of_tokens_alone(lab):
    bo = Account(lab.stack, "bo")
    line, credential = lab.invite("bo", "--certificate")
    assert bo.client("join", line).code == 0
    tokens = lab.config / "tokens"
    kept = tokens.read_text()
    assert lab.admin("tokens", "revoke", credential).code == 0
    lab.stack.wait_until(lambda: "was revoked" in bo.client("list").err, "the file is not read again", lab.server)
    revoked = tokens.read_text()
    tokens.unlink()
    # The second time: at its start nobody was invited yet.
    lab.stack.wait_until(lambda: lab.server.log.read_text().count(f"{tokens} is not there") == 2, "the log says nothing", lab.server)
    one_line(bo.client("list"), 5, "not among the credentials known here")
    lab.invite("ana")  # a new file that knows nothing of bo
    one_line(bo.client("list"), 5, "not among the credentials known here")
    tokens.write_text(revoked)
    lab.stack.wait_until(lambda: "was revoked" in bo.client("list").err, "the file is not read again", lab.server)
    tokens.write_text(kept)
    lab.stack.wait_until(lambda: bo.client("list").code == 0, "the file is not read again", lab.server)
