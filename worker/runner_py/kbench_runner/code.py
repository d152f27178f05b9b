"""Device code of an instance as files: what Triton and its assembler made."""
import hashlib
import os
import re

from kbench_runner import failures

KINDS = ("cubin", "ptx")  # in this order
MOST_FILE_BYTES = 4 << 20


def _digest(code):
    """Of all of it, whatever the order."""
    digest = hashlib.sha256()
    for function in sorted(code):
        for kind in sorted(code[function]):
            digest.update(f"{function} {kind} {len(code[function][kind])}\n".encode())
            digest.update(code[function][kind])
    return digest.hexdigest()[:32]


def _architecture(kinds, asked):
    """What PTX says it is for (sm_90a); a cubin is what was made of it."""
    found = re.search(rb"^\.target\s+(sm_\w+)", kinds.get("ptx", b""), re.M)
    return found[1].decode() if found else asked


def collect(prepared, directory, architecture):
    """The CodeCollected; with an empty directory nothing is written."""
    try:
        code = {str(function): {kind: bytes(content) for kind, content in kinds.items()} for function, kinds in prepared.code().items()}
    except Exception as error:
        failures.show(error)
        return {"message": f"the implementation cannot give its code: {failures.words(error)}"}
    functions = list(code)
    files, missing = [], []
    for function in functions if directory else []:
        for kind in KINDS:
            content = code[function].get(kind)
            if content is None:
                missing.append(f"there is no {kind} of {function}")
            elif len(content) > MOST_FILE_BYTES:
                missing.append(f"the {kind} of {function} is left out: it has {len(content)} bytes, at most {MOST_FILE_BYTES} are kept")
            else:
                name = f"code-{len(files)}.{kind}"
                try:
                    with open(os.path.join(directory, name), "wb") as file:
                        file.write(content)
                except OSError as error:
                    missing.append(f"cannot write {directory}/{name}: {error.strerror}")
                    continue
                files.append({"name": name, "kind": kind, "architecture": _architecture(code[function], architecture), "size_bytes": len(content),
                              "functions": [function]})
    return {"files": files, "functions": functions, "message": "; ".join(missing), "digest": _digest(code) if code else ""}
