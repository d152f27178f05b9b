"""code_and_profile.py without a GPU: what it calls wrong."""
import code_and_profile


def test_files_are_what_their_names_say(tmp_path, monkeypatch):
    monkeypatch.setattr(code_and_profile, "found", lambda name: name == "cuobjdump")
    for name, content in {"a.ptx": b".visible .entry K()", "a.cubin": b"\x7fELF...", "a.sass": b"Function : K", "b.ptx": b"no"}.items():
        (tmp_path / f"j-0-{name}").write_bytes(content)
    names = [f"artifacts/j-0-a.{kind}" for kind in ("ptx", "cubin", "sass")]
    assert code_and_profile.wrong_files(True, names, tmp_path) == []
    assert code_and_profile.wrong_files(True, names[:2], tmp_path) == ["no .sass"]
    assert code_and_profile.wrong_files(False, [], tmp_path) == []
    assert code_and_profile.wrong_files(True, [*names, "artifacts/j-0-b.ptx", "artifacts/j-0-c.ptx"], tmp_path) == [
        "artifacts/j-0-b.ptx is not what its name says", "artifacts/j-0-c.ptx leads nowhere"]
