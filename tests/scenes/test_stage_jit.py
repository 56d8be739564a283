"""The folders of compiled kernels: those of older sources go, never one that a process uses."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scenes.render.content import ROOT
from scenes.stage import jit

HOLD = """
import sys
from scenes.stage import jit
jit._CACHE = sys.argv[1]
jit._hold()
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Seven folders of kernels, the first used longest ago; one was left by a version that locked nothing."""
    made = [tmp_path / f"kernels-{k:012x}" for k in range(7)]
    for k, folder in enumerate(made):
        (folder / "stage").mkdir(parents=True)
        (folder / "stage" / "kernel.nbc").write_bytes(b"code")
        touched = folder if k == 2 else folder / "in-use"
        if touched != folder:
            touched.touch()
        os.utime(touched, (1000.0 + k, 1000.0 + k))
    (tmp_path / "module.cpython-311.pyc").write_bytes(b"")
    return made


def holding(folder: Path) -> subprocess.Popen[str]:
    """Another process that uses a folder."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", HOLD, str(folder)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


@pytest.fixture
def user(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    folder = tmp_path / "kernels-0000000000aa"
    process = holding(folder)
    yield process
    process.communicate("")


def test_the_few_used_last_stay(folders: list[Path], tmp_path: Path) -> None:
    mine = folders[1]
    assert jit.sweep(mine, kept=3) == [folders[3], folders[2], folders[0]]
    assert {path.name for path in tmp_path.iterdir()} == {
        "module.cpython-311.pyc", *(folder.name for folder in (mine, *folders[4:]))
    }  # fmt: skip
    assert jit.sweep(mine, kept=3) == []


def test_a_folder_in_use_stays_until_its_process_ends(user: subprocess.Popen[str], tmp_path: Path) -> None:
    used, mine = tmp_path / "kernels-0000000000aa", tmp_path / "kernels-0000000000bb"
    mine.mkdir()
    assert jit.sweep(mine, kept=0) == [] and used.is_dir()
    user.communicate("")
    assert jit.sweep(mine, kept=0) == [used] and not used.exists()


def test_a_process_that_begins_sweeps_the_others(folders: list[Path], tmp_path: Path) -> None:
    mine = tmp_path / "kernels-0000000000cc"
    holding(mine).communicate("")
    assert {path for path in tmp_path.glob("kernels-*")} == {mine, *folders[4:]}
