"""The sanitizer's findings are read right, and clean is only said where every kernel ran and a planted fault was seen."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import shutil
from pathlib import Path

import pytest

from kernels.families import units
from measure import sanitize, sanitized
from measure.errors import MeasureError
from measure.sanitize import TOOLS, Ran, check, judge, line
from measure.sanitized import CONTROL, PLANTED, RUN
from measure.sanitizer_log import Report, read

# After the examples of NVIDIA's own manual (Compute Sanitizer, "Using Memcheck", "Using Racecheck", ...), kernels renamed.
MEMCHECK = """\
the program's own words
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at gemm_shared+0x70
=========     by thread (0,0,0) in block (0,0,0)
=========     Access at 0x7f5c0a000200 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f5c0a000000 of size 512 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: launch [0x1754] in module.so
=========
========= Invalid __global__ read of size 4 bytes
=========     at 0xa0 in cupy_random(float *)
=========     by thread (1,0,0) in block (0,0,0)
=========
========= Target application returned an error
========= ERROR SUMMARY: 2 errors
"""
RACECHECK = """\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at gemm_shared+0xe0
=========     and Read access at gemm_shared+0x140 [508 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
INITCHECK = """\
========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 4 bytes
=========     at vector_scalar_multiply_kernel(float const *)+0x70 in somewhere.cu:41
=========     by thread (31,0,0) in block (1,0,0)
=========     Address 0x7f3c7ec000fc
=========
========= ERROR SUMMARY: 1 error
"""
SYNCCHECK = """\
========= COMPUTE-SANITIZER
========= Barrier error detected. Divergent thread(s) in warp.
=========     at gemm_shared+0xa0
=========     by thread (19,0,0) in block (0,0,0)
=========
========= ERROR SUMMARY: 1 error
"""
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
CLEAN_RACES = "========= COMPUTE-SANITIZER\n========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"
UNSUPPORTED = "========= COMPUTE-SANITIZER\n========= Error: Device not supported. Please refer to the documentation.\n"
ENTRIES = frozenset(entry for unit in units() for entry in unit.entries)


def planted(tool: str) -> Ran:
    """What a tool that works says of its planted fault."""
    text = {"memcheck": MEMCHECK, "racecheck": RACECHECK, "initcheck": INITCHECK, "synccheck": SYNCCHECK}[tool]
    for name in ("gemm_shared", "vector_scalar_multiply_kernel(float const *)"):
        text = text.replace(name, f"planted_{tool}")
    return Ran(text)


def clean(tool: str, launched: frozenset[str] = ENTRIES) -> Ran:
    return Ran(CLEAN_RACES if tool == "racecheck" else CLEAN, launched)


# ---- reading --------------------------------------------------------------------------------------------------------


def test_findings_are_read_with_the_kernel_that_they_name() -> None:
    assert read(MEMCHECK).reports == (
        Report("Invalid __global__ write of size 4 bytes", "gemm_shared"),
        Report("Invalid __global__ read of size 4 bytes", "cupy_random"),
    )
    assert read(RACECHECK).reports == (Report("Error: Race reported between Write access", "gemm_shared"),)
    assert read(INITCHECK).reports == (
        Report("Uninitialized __global__ memory read of size 4 bytes", "vector_scalar_multiply_kernel"),
    )
    assert read(SYNCCHECK).reports == (Report("Barrier error detected. Divergent thread(s) in warp.", "gemm_shared"),)


def test_the_tool_s_own_count_is_read() -> None:
    assert [read(text).counted for text in (MEMCHECK, RACECHECK, CLEAN, CLEAN_RACES, "nothing", "")] == [2, 1, 0, 0, None, None]


def test_what_no_tool_can_work_on_is_its_reason() -> None:
    assert read(UNSUPPORTED).refusal == "Error: Device not supported. Please refer to the documentation."
    assert judge("memcheck", "roofs", Ran(UNSUPPORTED)).clean is None


def test_only_initcheck_sees_what_libraries_run() -> None:
    """A write of a kernel that is left out would not count as one; the planted fault goes under the same filter."""
    assert sanitize.kernel_filter("initcheck") == ()
    for tool in ("memcheck", "racecheck", "synccheck"):
        option, value = sanitize.kernel_filter(tool)
        pattern = value.removeprefix("regex=")
        assert option == "--kernel-name" and value != pattern
        assert all(re.search(pattern, name) for name in (*ENTRIES, f"planted_{tool}"))
        assert not re.search(pattern, "cupy_copy__float32_float32") and not re.search(pattern, "my_gemm_shared")


# ---- judging --------------------------------------------------------------------------------------------------------


def test_only_the_project_s_kernels_count() -> None:
    found = judge("memcheck", "gemm_fp32", Ran(MEMCHECK, ENTRIES))
    assert found.clean is False and found.foreign == 1
    assert found.findings == {"gemm_shared: Invalid __global__ write of size 4 bytes": 1}
    library = judge("initcheck", "gemm_fp32", Ran(INITCHECK, ENTRIES))
    assert library.clean is True and library.foreign == 1 and library.findings == {}


@pytest.mark.parametrize(
    ("ran", "words"),
    [
        (Ran(CLEAN, failure="VerificationError: the copy differs"), "VerificationError: the copy differs"),
        (Ran("", failure="did not end within 300 s"), "did not end within 300 s"),
        (Ran("========= COMPUTE-SANITIZER\nKilled\n"), "Killed"),
        (Ran(INITCHECK.replace("1 error", "7 errors")), "6 findings were not shown"),
    ],
    ids=["broke off", "endless", "no summary", "more than shown"],
)
def test_a_run_that_did_not_come_to_its_end_is_no_clean_one(ran: Ran, words: str) -> None:
    """A tool has been seen to print zero hazards for a program that had died."""
    result = judge("initcheck", "roofs", ran)
    assert result.clean is None and result.words == words


# ---- the lines ------------------------------------------------------------------------------------------------------


def test_clean_takes_a_seen_fault_and_every_kernel() -> None:
    results = check(("memcheck",), ("a", "b"), lambda tool, subject: planted(tool) if subject == CONTROL else clean(tool))
    assert line("memcheck", results, ENTRIES) == (True, f"memcheck: clean, {len(ENTRIES)} kernels of 2 subjects")
    one_less = check(
        ("memcheck",),
        ("a",),
        lambda tool, subject: planted(tool) if subject == CONTROL else clean(tool, ENTRIES - {"gemm_shared"}),
    )
    assert line("memcheck", one_less, ENTRIES) == (False, "memcheck: never launched: gemm_shared")


def test_a_tool_that_is_blind_here_says_nothing() -> None:
    asked: list[str] = []

    def runner(tool: str, subject: str) -> Ran:
        asked.append(subject)
        return clean(tool)

    results = check(("racecheck",), ("a",), runner)
    assert asked == [CONTROL]
    assert line("racecheck", results, ENTRIES) == (False, "racecheck: no verdict: it does not report a planted fault here")


def test_what_this_gpu_cannot_run_is_said_and_no_fault() -> None:
    def runner(tool: str, subject: str) -> Ran:
        if subject == CONTROL:
            return planted(tool)
        return clean(tool) if subject == "a" else Ran(CLEAN, skipped="one GPU only")

    ok, words = line("memcheck", check(("memcheck",), ("a", "b"), runner), ENTRIES)
    assert ok and words == f"memcheck: clean, {len(ENTRIES)} kernels of 1 subjects; b not run: one GPU only"


def test_a_finding_is_named_with_its_kernel() -> None:
    results = check(
        ("racecheck",), ("a",), lambda tool, subject: planted(tool) if subject == CONTROL else Ran(RACECHECK, ENTRIES)
    )
    ok, words = line("racecheck", results, ENTRIES)
    assert not ok and words == "racecheck: a: gemm_shared: Error: Race reported between Write access (1 times)"


def test_the_command_prints_a_line_a_tool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def runner(tool: str, subject: str) -> Ran:
        if subject == CONTROL:
            return planted(tool)
        return Ran(SYNCCHECK, ENTRIES) if (tool, subject) == ("synccheck", RUN[0]) else clean(tool)

    path = tmp_path / "results.json"
    assert sanitize.main(["-o", str(path)], runner) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [text.split(":")[0] for text in lines] == list(TOOLS)
    assert [": clean, " in text for text in lines] == [True, True, True, False]
    rows = json.loads(path.read_text())
    assert len(rows) == 4 * (1 + len(RUN)) and sum(row["clean"] is False for row in rows) == 4 + 1
    assert sanitize.main(["--tool", "memcheck"], runner) == 0


def test_a_subject_of_its_own_need_not_launch_all(capsys: pytest.CaptureFixture[str]) -> None:
    def runner(tool: str, subject: str) -> Ran:
        return planted(tool) if subject == CONTROL else clean(tool, frozenset({"gemm_shared"}))

    assert sanitize.main(["--tool", "initcheck", "--subject", RUN[0]], runner) == 0
    assert capsys.readouterr().out == "initcheck: clean, 0 kernels of 1 subjects\n"


# ---- what is run ----------------------------------------------------------------------------------------------------


def test_the_planted_faults_are_one_for_each_tool() -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="the CUDA compiler comes with the extra dev")
    from kernels.build import compile_source

    assert set(compile_source(PLANTED, "sm_90").resources) == {f"planted_{tool}" for tool in TOOLS}


def test_a_missing_tool_is_one_clear_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr(Path, "is_file", lambda path: False)
    with pytest.raises(MeasureError, match="compute-sanitizer is not installed; it comes with the CUDA toolkit"):
        sanitize.find_sanitizer()


def test_the_tool_is_found_beside_the_profiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "compute-sanitizer").write_text("")
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: str(tmp_path / "ncu") if name == "ncu" else None)
    monkeypatch.setattr(sanitize, "PLACES", ())
    assert sanitize.find_sanitizer() == (tmp_path / "compute-sanitizer").resolve()


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="there may be a GPU here")
def test_without_a_gpu_the_command_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert sanitize.main([]) == 2
    assert capsys.readouterr().err.startswith("sanitize: no GPU can be measured")


def test_the_small_sizes_are_of_names_that_the_subjects_use() -> None:
    """And of their types: a name that moved would leave the large size in use, for minutes."""
    for module, values in sanitized.SMALL.items():
        for attribute, value in values.items():
            assert type(getattr(importlib.import_module(module), attribute)) in (type(value), int)


HAZARDS = """\
========= COMPUTE-SANITIZER
========= Error: Potential RAW hazard detected at __shared__ 0x47c in block (0,0,0) :
=========     Write Thread (31,0,0) at planted_racecheck+0xb0
=========     Read Thread (32,0,0) at planted_racecheck+0xc0
=========     Current Value : 128
=========         Host Frame: main in sanitized.py:70
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""


def test_a_hazard_names_its_kernel_and_not_its_memory() -> None:
    """As compute-sanitizer 2025.3 printed it on an H200."""
    log = read(HAZARDS)
    assert log.reports == (Report("Error: Potential RAW hazard detected", "planted_racecheck"),) and log.counted == 1
