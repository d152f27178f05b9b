"""The sides' readers on samples of the foreign formats, and the checks; runs without a GPU."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))

import launchers  # noqa: E402
import stopwatch_compare  # noqa: E402
from stopwatch import checks, cupti_side, kbench_side, loop_sides, loop_target, ncu_side, nvbench_side, table  # noqa: E402
from stopwatch.study import CELLS, Reading, SideAbsent, SideError, cells_of, middle  # noqa: E402

SUM, COPY, MATMUL = cells_of(["sum_fp32_2p22", "copy_fp32_2p24", "matmul_bf16_4096"])

# As `ncu --csv --print-units base --metrics ...` writes it with --log-file: its own words, a header, a line a kernel and metric.
NCU_HEADER = ('"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC",'
              '"Section Name","Metric Name","Metric Unit","Metric Value"')
NCU_WORDS = "==PROF== Connected to process 4711 (/usr/bin/python3.12)\n==PROF== Disconnected from process 4711\n"


def ncu_long(kernels, unit="ns", scale=1.0):
    lines = [NCU_WORDS + NCU_HEADER]
    for number, (name, nanoseconds, cycles) in enumerate(kernels):
        row = f'"{number}","4711","python3.12","127.0.0.1","{name}","1","7","(256, 1, 1)","(2048, 1, 1)","0","9.0","Command line profiler metrics"'
        lines.append(f'{row},"gpu__time_duration.sum","{unit}","{nanoseconds * scale:,.2f}"')
        lines.append(f'{row},"sm__cycles_elapsed.max","cycle","{cycles:,.0f}"')
    return "\n".join(lines) + "\n"


MARK = ("kbench::cuda::<unnamed>::NullKernel()", 1500, 2900)
FIRST = ("void kbench::cuda::<unnamed>::SumKernel<Element<1>, float>(const float *, long, float *)", 9000, 17000)
SECOND = ("void kbench::cuda::<unnamed>::SumKernel<Element<1>, float>(const float *, long, float *)", 2000, 4000)
GEMM = ("nvjet_tst_256x128_64x4_2x1_v_bz_coopA_NNT", 175400, 340000)


def test_ncu_adds_up_the_kernels_of_a_launch_and_leaves_the_first_launches_out():
    slow = (FIRST[0], 90000, 170000)
    kernels = [MARK, slow, SECOND, *[FIRST, SECOND] * 4, MARK, *[GEMM] * 5, MARK]
    found = ncu_side.readings(ncu_side.parse(ncu_long(kernels)), [SUM, MATMUL], launches=5, warm=1)
    assert found[SUM.key].seconds == pytest.approx(11e-6)
    assert found[SUM.key].cycles == 21000
    assert found[SUM.key].details["kernels"] == [slow[0], SECOND[0]]
    assert found[MATMUL.key].seconds == pytest.approx(175.4e-6)
    assert found[MATMUL.key].cycles == 340000


@pytest.mark.parametrize("unit,scale", [("ns", 1.0), ("nsecond", 1.0), ("us", 1e-3), ("usecond", 1e-3), ("ms", 1e-6)])
def test_ncu_units(unit, scale):
    text = ncu_long([("kernel", 175_400_000, 1)], unit, scale)
    assert ncu_side.parse(text)[0]["metrics"][ncu_side.DURATION] == pytest.approx(0.1754)


def test_ncu_with_a_line_a_kernel():
    text = (NCU_WORDS + '"ID","Process ID","Kernel Name","CC","gpu__time_duration.sum","sm__cycles_elapsed.max"\n'
            '"","","","","ns","cycle"\n"0","1","NullKernel()","9.0","1,500","2900"\n"1","1","a, b","9.0","11,000","n/a"\n')
    kernels = ncu_side.parse(text)
    assert [kernel["name"] for kernel in kernels] == ["NullKernel()", "a, b"]
    assert kernels[1]["metrics"] == {ncu_side.DURATION: pytest.approx(11e-6)}


@pytest.mark.parametrize("text,word", [
    ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", "ERR_NVGPUCTRPERM"), ("", "nothing at all"),
    (ncu_long([("kernel", 1, 1)], unit="fortnight"), "fortnight")])
def test_ncu_without_a_table_is_an_error_with_its_own_words(text, word):
    with pytest.raises(SideError, match=word):
        ncu_side.parse(text)


@pytest.mark.parametrize("kernels,word", [
    ([MARK, GEMM, GEMM], "1 markers"), ([MARK, GEMM, GEMM, GEMM, MARK], "no whole number"), ([MARK, MARK], "no whole number"),
    ([MARK, (GEMM[0], 0, 0), GEMM, MARK], "no gpu__time_duration")])
def test_ncu_kernels_that_cannot_be_told_apart(kernels, word):
    with pytest.raises(SideError, match=word):
        ncu_side.readings(ncu_side.parse(ncu_long(kernels)), [MATMUL], launches=2, warm=0)


def summary(tag, value, kind="float64"):
    return {"tag": tag, "name": "x", "description": "x", "hint": "duration", "data": [{"name": "value", "type": kind, "value": value}]}


def nvbench_json(cell, median="1.4432e-05", clock="1.965e+09", **state):
    """As NVBench's json_printer writes a benchmark without axes: numbers are texts."""
    summaries = [summary("nv/cold/sample_size", "1000", "int64"), summary("nv/cold/time/gpu/mean", "1.5e-05"),
                 summary("nv/cold/sm_clock_rate/mean", clock)]
    if median:
        summaries.append(summary("nv/cold/time/gpu/median", median))
    states = [{"name": "Device=0", "min_samples": 100, "device": 0, "type_config_index": 0, "axis_values": None, "summaries": summaries,
               "is_skipped": False, **state}]
    return json.dumps({"meta": {}, "devices": [{"id": 0, "name": "NVIDIA H200"}],
                       "benchmarks": [{"name": cell.key, "index": 0, "devices": [0], "axes": None, "states": states}]})


def test_nvbench_median_and_cycles():
    reading = nvbench_side.parse(nvbench_json(SUM), [SUM])[SUM.key]
    assert reading.seconds == pytest.approx(14.432e-6)
    assert reading.cycles == pytest.approx(14.432e-6 * 1.965e9)
    assert reading.details["samples"] == 1000


@pytest.mark.parametrize("text,word", [
    ("", "nothing at all"), (nvbench_json(COPY), "no such benchmark"), (nvbench_json(SUM, median=None), "nv/cold/time/gpu/mean"),
    (nvbench_json(SUM, is_skipped=True, skip_reason="out of memory"), "out of memory")])
def test_nvbench_without_a_figure(text, word):
    with pytest.raises(SideError, match=word):
        nvbench_side.parse(text, [SUM])


def test_nvbench_runs_every_cell_under_its_key_on_the_stream_it_gives(monkeypatch, tmp_path):
    from stopwatch import nvbench_target
    launched, ran = [], []

    class Stream:
        def addressof(self):
            return 0x5EED

    class Running:
        def get_stream(self):
            return Stream()

    class Benchmark:
        def __init__(self, function):
            self.function = function

        def set_name(self, name):
            ran.append(name)

    class State:
        def exec(self, function, /, *, batched=None, sync=False, timer=False):
            assert batched is False
            function(Running())

    class Module:
        registered = []

        def register(self, function):
            self.registered.append(function)
            return Benchmark(function)

        def run_all_benchmarks(self, argv):
            assert argv[argv.index("--json") + 1] == str(tmp_path / "x.json")
            for function in self.registered:
                function(State())

    class Library:
        def __init__(self, path):
            pass

        def prepare(self, kernel, dtype, size, implementation):
            return type("Launch", (), {"launch": lambda self, stream: launched.append((kernel, stream))})()

    monkeypatch.setattr(nvbench_target.importlib, "import_module", lambda name: Module())
    monkeypatch.setattr(nvbench_target, "Launchers", Library)
    monkeypatch.setattr(sys, "argv", ["x", "lib.so", str(tmp_path / "x.json"), SUM.key, MATMUL.key])
    assert nvbench_target.main() == 0
    assert launched == [("sum", 0x5EED), ("matmul", 0x5EED)]
    assert ran == [SUM.key, MATMUL.key]


def test_a_missing_wheel_is_told_apart_from_a_broken_one(tmp_path):
    (tmp_path / "cuda").mkdir()
    with pytest.raises(SideAbsent, match="--wheels"):
        nvbench_side.measure(tmp_path / "no.so", [SUM])


def test_the_loop_keeps_what_began_in_its_last_seconds():
    clock = [0.0]

    def batch(count):
        clock[0] += 0.001 * count if clock[0] < 3 else 0.002 * count
        return 0.001 * count if clock[0] < 3 else 0.002 * count

    found = loop_target.loop(batch, 5, 1.5, now=lambda: clock[0])
    assert found["seconds"] == pytest.approx(0.002)
    assert found["launches_per_batch"] == 50
    assert 13 <= found["batches"] <= 16


def test_sides_that_print_lines():
    text = 'torch says hello\n{"cell": "sum_fp32_2p22", "seconds": 1.43e-05, "configuration": {}}\n'
    assert loop_sides.readings(text, [SUM])[SUM.key].seconds == 1.43e-5
    with pytest.raises(SideError, match="copy fp32"):
        loop_sides.readings(text, [COPY])


def test_a_result_of_ours_as_a_reading():
    result = {"device_time": {"median": 1.7e-4, "rounds": 12}, "device_cycles": 3.2e5, "verdict": "VERDICT_VALID",
              "verdict_reasons": ["POWER_LIMITED"], "telemetry": {"sm_clock_hertz": 1.9e9}}
    reading = kbench_side.reading_of(result)
    assert (reading.seconds, reading.cycles, reading.power_limited, reading.note) == (1.7e-4, 3.2e5, True, "VALID POWER_LIMITED")
    assert not kbench_side.reading_of({**result, "verdict_reasons": []}).power_limited


def test_turns_become_one_reading():
    turns = [Reading(3e-6, 30, True), Reading(1e-6, 10, True), Reading(2e-6, 20, False)]
    assert middle(turns) == Reading(2e-6, 20, True)
    assert middle([Reading(1.0), Reading(2.0), Reading(9.0, 0.0, True)]) == Reading(2.0, 0.0, False)


COST = 1.5e-6
GOOD = {"ncu": Reading(10.5e-6, 20800), "clean": Reading(12.2e-6, 24100), "dirty": Reading(14.4e-6, 28500), "nvbench": Reading(14.5e-6, 28700),
        "do_bench": Reading(14.3e-6), "steady": Reading(10.4e-6), "loop": Reading(10.5e-6)}


def failed(cell, cost=COST, absent=False, **changed):
    sides = {name: reading for name, reading in {**GOOD, **changed}.items() if reading is not None}
    return {check.name: check.figure for check in checks.check_cell(cell, sides, cost, absent) if check.passed is False}


def test_a_cell_where_everything_holds():
    found = checks.check_cell(SUM, GOOD, COST)
    assert len(found) == 5 and all(check.passed for check in found)
    assert len(checks.check_cell(MATMUL, GOOD, COST)) == 3


@pytest.mark.parametrize("changed,name", [
    ({"clean": Reading(13.1e-6)}, "clean less event cost = ncu"),       # 1.1 us off, 1 us is allowed
    ({"nvbench": Reading(12.06e-6), "dirty": Reading(12.0e-6), "clean": Reading(12.9e-6), "ncu": Reading(10.5e-6), "do_bench": Reading(9e-6),
      "steady": Reading(10.4e-6)}, None),
    ({"nvbench": Reading(10.6e-6), "dirty": Reading(10.6e-6)}, "nearer to ncu than nvbench"),
    ({"do_bench": Reading(10.6e-6)}, "nearer to ncu than do_bench"),
    ({"dirty": Reading(13.9e-6)}, "dirty = NVBench"),                   # 0.6 us off
    ({"steady": Reading(10.75e-6)}, "steady = loop of seconds")])       # 2.4 %
def test_each_check_can_fail(changed, name):
    assert set(failed(SUM, **changed)) == ({name} if name else set())


def test_limits_of_long_kernels_are_ratios():
    long = {name: Reading(1600e-6) for name in GOOD}
    assert not failed(MATMUL, **{**long, "clean": Reading(1600e-6 * 1.019 + COST)})
    assert failed(MATMUL, **{**long, "clean": Reading(1600e-6 * 1.021 + COST)})
    assert not failed(MATMUL, **{**long, "dirty": Reading(1600e-6 * 0.991)})
    assert failed(MATMUL, **{**long, "dirty": Reading(1600e-6 * 0.989)})


def test_a_power_limited_cell_is_compared_in_cycles():
    limited = {"clean": Reading(180e-6, 342000, True), "ncu": Reading(172e-6, 338000), "dirty": Reading(180e-6, 342000, True),
               "nvbench": Reading(172e-6, 341000)}
    assert not failed(MATMUL, **limited)
    assert set(failed(MATMUL, **{**limited, "clean": Reading(180e-6, 342000, False)})) == {"clean less event cost = ncu"}
    assert "no cycles" in failed(MATMUL, **{**limited, "ncu": Reading(172e-6)})["clean less event cost = ncu"]
    assert set(failed(MATMUL, **{**limited, "nvbench": Reading(172e-6, 330000)})) == {"dirty = NVBench"}


def test_a_missing_side_fails_and_only_an_absent_nvbench_is_forgiven():
    assert set(failed(SUM, ncu=None)) == {"clean less event cost = ncu", "nearer to ncu than nvbench", "nearer to ncu than do_bench"}
    assert set(failed(SUM, nvbench=None)) == {"nearer to ncu than nvbench", "dirty = NVBench"}
    assert not failed(SUM, absent=True, nvbench=None)
    assert set(failed(SUM, absent=True, nvbench=None, ncu=None)) == {"clean less event cost = ncu", "nearer to ncu than nvbench",
                                                                     "nearer to ncu than do_bench"}
    assert "event cost" in failed(SUM, cost=0.0)["clean less event cost = ncu"]


def compare(monkeypatch, tmp_path, clean, **others):
    """stopwatch_compare.main() with sides that answer at once."""
    def submit(client, device, cell, *options):
        return {"clean": clean, "dirty": GOOD["dirty"], "steady": GOOD["steady"]}[options[-1]]

    monkeypatch.setattr(kbench_side, "fresh_options", lambda client: [])
    monkeypatch.setattr(kbench_side, "event_cost", lambda client, device: (COST, {"passed": True}))
    monkeypatch.setattr(kbench_side, "measure", submit)
    monkeypatch.setattr(ncu_side, "measure", lambda ncu, path, cells: {cell.key: GOOD["ncu"] for cell in cells})
    monkeypatch.setattr(nvbench_side, "measure",
                        others.get("nvbench", lambda path, cells: {cell.key: GOOD["nvbench"] for cell in cells}))
    monkeypatch.setattr(loop_sides, "do_bench", lambda path, cells: {cell.key: GOOD["do_bench"] for cell in cells})
    monkeypatch.setattr(loop_sides, "loop", lambda path, cell: GOOD["loop"])
    monkeypatch.setattr(sys, "argv", ["x", "client", "gpu0", "lib.so", "--out", str(tmp_path), *others.get("options", [])])
    code = stopwatch_compare.main()
    return code, json.loads((tmp_path / "stopwatch.json").read_text()), (tmp_path / "stopwatch.md").read_text()


def absent(path, cells):
    raise SideAbsent("not installed")


def test_the_whole_comparison(monkeypatch, tmp_path):
    code, record, text = compare(monkeypatch, tmp_path, GOOD["clean"])
    assert code == 0
    assert len(record["readings"]) == len(CELLS) and len(record["readings"][SUM.key]["clean"]) == 3
    assert len(record["readings"][SUM.key]["loop"]) == 1
    assert len(record["checks"]) == 4 * 5 + 3 * 3
    assert "| sum fp32 2^22 cuda/naive | 10.50 | 12.20 | 10.70 | +1.9% | 14.40 | 14.50 | 14.30 | 10.40 | 10.50 |  |" in text
    assert compare(monkeypatch, tmp_path, Reading(13.1e-6))[0] == 1


def test_without_nvbench(monkeypatch, tmp_path):
    code, record, text = compare(monkeypatch, tmp_path, GOOD["clean"], nvbench=absent)
    assert code == 0 and len(record["errors"]) == 1 and "not compared" in text
    assert compare(monkeypatch, tmp_path, GOOD["clean"], nvbench=absent, options=["--require-nvbench"])[0] == 1


def test_an_unknown_cell_is_named():
    with pytest.raises(SystemExit, match="sum_fp32_2p22"):
        cells_of(["sum"])


def test_a_table_without_figures():
    assert "| sum fp32 2^22 cuda/naive | - | - | - |" in table.results([SUM], {SUM.key: {}}, 0.0)


LIBRARY = pathlib.Path(os.environ.get("KBENCH_BIN", HERE.parent.parent / "build/ci/bin")).parent / "tests/libkbench-launchers.so"


def in_a_process_of_its_own(code):
    return subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {str(HERE)!r})\n{code}"], capture_output=True, text=True,
                          timeout=60, check=False)


@pytest.mark.skipif(not LIBRARY.exists(), reason="libkbench-launchers.so is not built: it needs CUDA")
def test_the_launchers_know_the_catalog_and_say_what_is_wrong():
    code = f"""
from launchers import LaunchError, Launchers
from stopwatch.study import CELLS
library = Launchers({str(LIBRARY)!r})
print(*[sum(library.operand_bytes(cell.kernel, cell.dtype, cell.size)) for cell in CELLS])
try:
    library.operand_bytes("copy", "fp31", "2^24")
except LaunchError as error:
    print(error)
"""
    done = in_a_process_of_its_own(code)
    assert done.returncode == 0, done.stderr
    sums, error = done.stdout.splitlines()
    expected = [4 * 2**22 + 4, 4 * 2**26 + 4, 8 * 2**24, 8 * 4096**2, 6 * 2048**2, 6 * 4096**2, 6 * 8192**2]
    assert [int(number) for number in sums.split()] == expected
    assert "fp31" in error and "fp32" in error


def test_every_function_of_the_header_has_a_signature():
    header = (HERE / "launchers.h").read_text()
    declared = {word.split("(")[0].strip("* ") for line in header.splitlines() if line.startswith("KBL_API") for word in line.split() if "kbl_" in word and "(" in word}
    source = pathlib.Path(launchers.__file__).read_text()
    assert len(declared) == 11
    assert all(f'"{name}": (' in source for name in declared)


SPIN_KERNEL = "at::native::spin_kernel(long)"


def timeline(*launches):
    """A flush, a spin kernel, the launch's kernels as (begin, end), a spin kernel: over and over."""
    found = []
    for number, kernels in enumerate(launches):
        at = 1000 * number
        found += [(at, at + 10, "fill"), (at + 10, at + 20, SPIN_KERNEL), *[(at + begin, at + end, "add") for begin, end in kernels],
                  (at + 900, at + 901, SPIN_KERNEL)]
    return found


def test_a_span_is_from_the_first_kernels_beginning_to_the_last_ones_end():
    assert cupti_side.spans(timeline([(20, 30)], [(20, 300), (40, 250)]), 2) == [pytest.approx(10e-9), pytest.approx(280e-9)]


@pytest.mark.parametrize("kernels,launches,word", [(timeline([(20, 30)]), 2, "2 spin kernels"), (timeline([]), 1, "no kernel between")])
def test_cupti_launches_that_cannot_be_told_apart(kernels, launches, word):
    with pytest.raises(SideError, match=word):
        cupti_side.spans(kernels, launches)


@pytest.mark.parametrize("ours,passed", [(51.5e-6, True), (53.0e-6, False)])
def test_several_kernels_are_held_against_the_span(ours, passed):
    check = checks.near_span(SUM, {"clean": Reading(ours), "cupti": Reading(50e-6)}, 1e-6)
    assert check.passed is passed, check
    assert checks.near_span(SUM, {"clean": Reading(ours)}, 1e-6).passed is False
