"""The architecture check must see each kind of breach, and name the file and the rule."""
import pathlib
import subprocess
import sys

import pytest

CHECK = pathlib.Path(__file__).with_name("architecture.py")

BREACHES = [
    ("client/commands/submit.cc", '#include "server/store/store.h"', "client/ includes nothing from server/ or worker/"),
    ("kernels/cpu/sum.cc", '#include "worker/engine/timeline.h"', "kernels/ includes nothing from worker/"),
    ("kernels/catalog/sum.cc", "#include <cuda_runtime.h>", "kernels/catalog is plain C++"),
    ("worker/engine/burst.cc", '#include "absl/status/status.h"', "worker/engine links no gRPC, Protobuf or Abseil"),
    ("worker/runner/main.cc", "#include <grpcpp/grpcpp.h>", "runners have no gRPC"),
    ("worker/daemon/pool.cc", "#  include <cuda.h>", "the worker never links CUDA"),
    ("server/rpc/job.cc", "#include <cuda_runtime_api.h>", "the server links no CUDA"),
    ("server/rpc/job.cc", '#include "worker/daemon/session.h"', "the server includes worker/stats alone of worker/"),
    ("server/scheduler/fifo.cc", "#include <mutex>", "server/scheduler is pure"),
    ("worker/experiment/stop.cc", "#include <chrono>", "worker/experiment is pure"),
    ("worker/stats/median.h", "#include <iostream>", "worker/stats is pure"),
    ("stats/median.h", "#include <chrono>", "stats/ is pure"),
    ("stats/median.h", '#include "worker/stats/comparison.h"', "includes nothing of the other parts"),
    ("client/report/model.cc", '#include "worker/stats/comparison.h"', "client/ includes nothing from server/ or worker/"),
    ("proto/support/spawn.cc", "pid_t child = fork();", "no fork()"),
    ("kernels/python/kbench_kernels/torch/sum.py", "    from kbench_runner.engine import Engine", "know nothing of the runner"),
    ("kernels/python/kbench_kernels/triton/sum.py", "import subprocess", "know nothing of the runner"),
    ("worker/runner_py/kbench_runner/launch.py", "import torch.cuda", "imports torch through frameworks.py alone"),
    ("server/store/big.cc", "int a;\n" * 601, "at most 600 lines"),
]


def check(root):
    return subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True, check=False)


def write(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")


@pytest.mark.parametrize("name,text,rule", BREACHES)
def test_names_file_and_rule(tmp_path, name, text, rule):
    write(tmp_path, name, text)
    done = check(tmp_path)
    assert done.returncode == 1, done.stdout
    assert name in done.stdout and rule in done.stdout


def test_what_is_allowed_passes(tmp_path):
    write(tmp_path, "server/history/trend.cc", '#include "worker/stats/median.h"\n#include "kernels/catalog/catalog.h"')
    write(tmp_path, "client/report/ratio.cc", '#include "stats/paired_ratio.h"')
    write(tmp_path, "server/scheduler/fifo.cc", '#include <vector>\n// fork() is only a word here')
    write(tmp_path, "worker/engine/cuda_timeline.cc", "#include <cuda.h>")
    write(tmp_path, "worker/daemon/pool.cc", "#include <mutex>\nint a = process.fork_count();")
    done = check(tmp_path)
    assert done.returncode == 0, done.stdout
