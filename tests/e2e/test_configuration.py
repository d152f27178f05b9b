"""Configuration files, credentials and words of a command line that are not right: refused in one line that says what would be."""
import json
import os
import re

import pytest

from accounts import Account, Lab
from stack import BIN

LIBRARIES = ("INI was", "Could not convert", "libprotobuf", "Value ", "not in range")


def refused(ran, code, *words):
    assert ran.code == code and ran.out == "", ran
    assert len(ran.err.splitlines()) == 1 and ran.err.startswith("kbench-"), ran
    for word in words:
        assert word in ran.err, ran
    for word in LIBRARIES:
        assert word not in ran.err, ran


@pytest.mark.parametrize("program", ["kbench-server", "kbench-worker"])
def test_a_configuration_that_is_not_right_names_file_line_and_key(empty, program):
    config = empty.root / "some.toml"
    flag = "share-socket" if program == "kbench-server" else "retune"
    for text, line, words in (
            (flag, 1, (f"'{flag}' has no value",)),
            (f"# a comment\n{flag} =\n", 2, (f"'{flag}' has no value",)),
            (f"{flag} = true\n\n{flag} = true\n", 3, (f"{flag} stands on line 1 already",)),
            (f"{flag} = yes\n", 1, (f"write {flag} = true or {flag} = false",)),
            ('log-level = "inof"\n', 1, ("log-level = inof", "trace, debug, info, warn, error")),
            ('data-dir = "half\n', 1, ("data-dir", "at its end")),
            ('data_dir = "x"\n', 1, ("'data_dir' is no flag", "data-dir")),
            ("[x\n", 1, ("[x",)),
    ):
        config.write_text(text)
        refused(empty.client("--config", config, program=program), 2, f"{config}:{line}: ", *words)
    config.write_bytes(b"\xff\xfe")
    refused(empty.client("--config", config, program=program), 2, f"{config}:1: ", "UTF-8")
    refused(empty.client("--config", empty.root / "none.toml", program=program), 2, "none.toml", "cannot be read")


def test_values_of_the_server_say_what_is_right(empty):
    config = empty.root / "server.toml"
    for text, word in (("lease = abc\n", "from 1 to 3600"), ('max-hold = "8x"\n', "30m"), ("most-queued-cases = 0\n", "from 1 to"),
                       ("keep-logs = 5\n", "30d"), ("listen = []\n", "has no value"), ("lease = [1]\n", "one value"), ("[x]\na = 1\n", "no section")):
        config.write_text(text)
        refused(empty.client("--config", config, program="kbench-server"), 2, f"{config}:1: ", word)


def test_a_log_level_that_is_none_is_refused(empty):
    ran = empty.client("--log-level", "inof", program="kbench-server")
    refused(ran, 2, "inof", "trace, debug, info, warn, error")
    server = empty.daemon(BIN / "kbench-server", "--metrics-listen", "", "--data-dir", empty.data, env={"KBENCH_LOG": "inof"})
    empty.wait_until(lambda: empty.note().get("pid") == server.pid, f"no server, see {server.log}", server)
    assert "KBENCH_LOG=inof names no level" in server.log.read_text()
    assert "listens on" in server.log.read_text(), "as without it"


def test_backup_check_and_restore_find_the_server_of_init(empty):
    lab = Lab(empty)
    empty.terminate(lab.server)
    config = lab.config / "server.toml"
    elsewhere = empty.root / "elsewhere"
    config.write_text(re.sub(r"# data-dir = .*", f'data-dir = "{elsewhere}"', config.read_text()))
    server = empty.daemon(BIN / "kbench-server", "--metrics-listen", "")
    empty.wait_until(lambda: (elsewhere / "server.json").exists() and json.loads((elsewhere / "server.json").read_text()).get("pid") == server.pid,
                     f"no server, see {server.log}", server)
    empty.wait_until(lambda: empty.client("whoami").code == 0, "it does not serve", server)
    # Its first address speaks TLS; the commands go through the Unix socket.
    ran = empty.client("check", program="kbench-server")
    assert ran.code == 0 and f"the store in {elsewhere} is sound" in ran.out, ran
    ran = empty.client("backup", empty.root / "copy", program="kbench-server")
    assert ran.code == 0 and (empty.root / "copy" / "kbench.db").exists(), ran
    assert "save" in ran.err and str(lab.config) in ran.err, ran
    empty.terminate(server)
    (elsewhere / "kbench.db").unlink()
    ran = empty.client("restore", empty.root / "copy", program="kbench-server")
    assert ran.code == 0 and (elsewhere / "kbench.db").exists(), ran
    assert not (empty.data / "kbench.db.replaced").exists()
    other = empty.root / "other.toml"
    other.write_text(f'data-dir = "{empty.root}/nothing"\n')
    refused(empty.client("check", "--config", other, program="kbench-server"), 5, f"{empty.root}/nothing holds no store")
    refused(empty.client("check", "--config", empty.root / "none.toml", program="kbench-server"), 2, "none.toml")
    for command in ("backup", "restore", "check"):
        text = empty.client(command, "--help", program="kbench-server").out
        assert "--data-dir" in text and "--config" in text, text
        assert ("--server" in text) == (command != "restore"), text


def test_arguments_that_are_no_text(stack):
    bad = os.fsdecode(b"caf\xe9")
    for args in (("submit", "null", "fp32", "1", "--device", bad), ("submit", "null", "fp32", "1", "--label", f"a={bad}"), ("explain", bad),
                 ("with", "cpu", "--for", "1m", "--remote", "--", "echo", bad)):
        refused(stack.client(*args), 2, "caf?", "UTF-8")
    refused(stack.client("invite", bad, program="kbench-server"), 2, "caf?", "UTF-8")
    refused(stack.client("--name", bad, program="kbench-worker"), 2, "caf?", "UTF-8")
    # A command of one's own may have any.
    ran = stack.client("with", "cpu", "--for", "1m", "--", "sh", "-c", 'test "$(printf "caf\\351")" = "$1"', "sh", bad)
    assert ran.code == 0, ran
    assert "libprotobuf" not in stack.server.log.read_text()


def test_credentials_that_others_may_read_are_refused(empty):
    lab = Lab(empty)
    ana = Account(empty, "ana")
    line, _ = lab.invite("ana")
    assert ana.client("join", line).code == 0
    kept = ana.home / ".config" / "kbench" / "client.json"
    kept.chmod(0o644)
    refused(ana.client("list"), 2, "mode 0644", f"chmod 600 {kept}")
    kept.chmod(0o600)
    assert ana.client("list").code == 0
