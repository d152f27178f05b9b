import atexit
import os
import pathlib
import shutil
import sys
import tempfile

_ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(_ROOT / "kernels" / "python"))
sys.path.append(str(_ROOT / "tests" / "worker" / "runner_py"))  # fixture_kernels

# What is compiled here neither comes from whoever runs the tests nor is left with them.
_CACHES = {"TRITON_CACHE_DIR": "triton", "TORCHINDUCTOR_CACHE_DIR": "inductor"}
_folder = tempfile.mkdtemp(prefix="kbench-python-kernels-")
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
for _name, _part in _CACHES.items():
    os.environ[_name] = os.path.join(_folder, _part)
