#!/usr/bin/env python3
"""Device code as artifacts and --profile on a GPU host: the names, the bytes, what ncu said.

    code_and_profile.py CLIENT DEVICE

Prints a sentence a row. Exits 1 when a file is missing or not what its name says, or when ncu is there and gave no sentence.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOOLS = ["/usr/local/cuda/bin"]
# kernel, dtype, size, implementations; a range is two cases of one job, of which the second only names what the first sent.
JOBS = [("sum", "fp32", "2^26", "cuda/naive"), ("matmul", "fp16", "1024,2048", "cuda/naive,cublas")]
ELF = b"\x7fELF"


def found(name):
    return any(shutil.which(name, path=path) for path in (None, *TOOLS)) or \
        (name == "ncu" and any(pathlib.Path("/opt/nvidia/nsight-compute").glob("*/ncu")))


def lines(client, *words):
    ran = subprocess.run([client, *words, "-o", "json"], capture_output=True, text=True, timeout=300)
    if ran.stderr.strip():
        print(ran.stderr.strip(), file=sys.stderr)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def is_what_it_says(path):
    content = path.read_bytes()
    if path.suffix == ".cubin":
        return content.startswith(ELF)
    words = {".ptx": b".entry", ".sass": b"Function"}
    return words.get(path.suffix, b"") in content and len(content) > 0


def wrong_files(ours, names, folder):
    """What is amiss among the artifacts that a result of one of our kernels names."""
    wanted = {".ptx", ".cubin"} | ({".sass"} if found("cuobjdump") or found("nvdisasm") else set())
    have = {pathlib.Path(name).suffix for name in names}
    missing = [f"no {suffix}" for suffix in sorted(wanted - have)] if ours else []
    for name in names:
        path = folder / name.removeprefix("artifacts/")
        if not path.is_file():
            missing.append(f"{name} leads nowhere")
        elif not is_what_it_says(path):
            missing.append(f"{name} is not what its name says")
    return missing


def check(client, device, kernel, dtype, size, implementations):
    said = lines(client, "submit", kernel, dtype, size, "--impl", implementations, "--device", device, "--quick", "--profile")
    results = [line["result"] for line in said if "result" in line]
    wrong = [] if results else [f"{kernel} {dtype} {size}: no results"]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for job in {result["job"] for result in results}:
            subprocess.run([client, "artifacts", job.removeprefix("jobs/"), "--all", folder], check=True, stdout=subprocess.DEVNULL)
        for result in results:
            title = f"{kernel} {dtype} {result['case']['shape']} {result['implementation']}"
            profile = result.get("profile", {})
            print(f"{title}: {profile.get('sentence') or profile.get('message')} ({profile.get('seconds', 0):.1f} s)")
            print(f"   {profile.get('kernel', '')[:100]}, {len(profile.get('metrics', {}))} metrics; {' '.join(result['artifacts'])}")
            ours = result["implementation"].startswith("cuda/")
            wrong += [f"{title}: {what}" for what in wrong_files(ours, result["artifacts"], folder)]
            if "code" in result.get("configuration", {}):
                wrong.append(f"{title}: {result['configuration']['code']}")
            if found("ncu") and not profile.get("sentence"):
                wrong.append(f"{title}: no profile")
    return wrong


def main():
    client, device = sys.argv[1:]
    wrong = [what for job in JOBS for what in check(client, device, *job)]
    for what in wrong:
        print(f"WRONG: {what}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
