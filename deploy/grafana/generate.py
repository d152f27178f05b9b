"""Writes dashboards/*.json from kbench_dashboards: .venv/bin/python deploy/grafana/generate.py [FOLDER]"""
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))

from kbench_dashboards import devices, performance, queue  # noqa: E402  (the package lies beside this file)

DASHBOARDS = {"performance.json": performance, "queue.json": queue, "devices.json": devices}


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, module in DASHBOARDS.items():
        (folder / name).write_text(module.dashboard().json(), encoding="utf-8")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "dashboards")
