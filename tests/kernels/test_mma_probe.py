"""The probe of the tensor cores' roof: its closed form, its work, and its source run on the CPU."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import numpy as np
import pytest

from kernels.build import ARCHITECTURES, arch_number, build_program, supported_architectures
from kernels.catalogue import Mutant
from kernels.roofs import mma_probe
from measure.bf16 import to_bf16

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
import on_host


def test_it_fits_everywhere_twice() -> None:
    """128 registers for 256 threads: two blocks an SM."""
    pytest.importorskip("cuda.bindings.nvrtc", reason="the CUDA compiler comes with the extra dev")
    for arch in ARCHITECTURES:
        if arch_number(arch) >= 80 and arch_number(arch) in supported_architectures():
            used = build_program(mma_probe.MMA, arch).resources["probe_mma"]
            assert (used.spills, used.stack) == (0, 0) and used.registers <= 128


def test_the_probe_s_closed_form() -> None:
    """Both products added up in float64."""
    a, b = (np.array(rows, np.float64) for rows in mma_probe.operands(3))
    both = a[: mma_probe.ROWS] @ b + a[mma_probe.ROWS :] @ b
    assert np.array_equal(np.array(mma_probe.expected(b.astype(int).tolist(), 7)), 7 * both)
    assert np.abs(a).max() <= 127 and np.array_equal(a, np.round(a))


def test_the_probe_s_sums_stay_exact() -> None:
    """At the most rounds, with one more product of 16 in between, below 2^24."""
    assert mma_probe.MOST_ROUNDS * 126 + 16 * 127 * 126 <= 2**24 < (mma_probe.MOST_ROUNDS + 1) * 126 + 16 * 127 * 126
    with pytest.raises(ValueError, match="exact up to"):
        mma_probe.expected([[0]], mma_probe.MOST_ROUNDS + 1)


def test_work_of_the_probe() -> None:
    """264 blocks of 8 warps, 2 x 16 mma of 4096 FLOP a round."""
    assert mma_probe.flop(264, 100) == 264 * 8 * 32 * 4096 * 100


def written(folder: Path, text: str, rounds: int) -> tuple[bool, bool]:
    """Whether the probe's source, run on the CPU, writes its closed form, and times that go on."""
    a, b = mma_probe.operands(9)
    bits = [to_bf16(np, np.array(rows, np.float32)) for rows in (a, b)]
    out = np.full((mma_probe.warps(1), mma_probe.ROWS, mma_probe.COLS), np.nan, np.float32)
    when = np.zeros((mma_probe.warps(1), 3), np.int64)
    library = on_host.compile_kernel(folder, text, "probe_mma", mma_probe.MMA.constants)
    pointers = tuple(ctypes.c_void_p(array.ctypes.data) for array in (*bits, out, when))
    arguments = (*pointers, ctypes.c_int(rounds))
    on_host.launch(library, (1, 1, 1), (mma_probe.THREADS, 1, 1), arguments, on_host.FREEDOMS[0])
    expected = np.array(mma_probe.expected(b, rounds), np.float32)
    return np.array_equal(out, np.broadcast_to(expected, out.shape)), bool((when[:, 2] > when[:, 1]).all())


@pytest.mark.skipif(on_host.COMPILER is None, reason="no C++ compiler here to run the probe's source with")
def test_the_probe_writes_its_closed_form(tmp_path: Path) -> None:
    assert written(tmp_path, mma_probe.MMA.text, 5) == (True, True)


@pytest.mark.skipif(on_host.COMPILER is None, reason="no C++ compiler here to run the probe's source with")
@pytest.mark.parametrize("mutant", mma_probe.MUTANTS, ids=lambda mutant: mutant.kind)
def test_a_mutant_of_the_probe_does_not(tmp_path: Path, mutant: Mutant) -> None:
    assert not written(tmp_path, mutant.apply(mma_probe.MMA.text), 5)[0]
