"""Weights in few bits: sizes by arithmetic, codes and scales by hand, packed words bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.catalogue import KernelError
from kernels.gemv.ladder import FORMAT_OF, LADDER
from kernels.gemv.problem import FP16, FP32, INT4, INT8, Format, GemvProblem
from kernels.gemv.quantise import dequantise, pack, quantise, store

BILLION = LADDER.problem  # 2^30 weights


def test_bits_and_the_speed_up_that_they_allow() -> None:
    """4 + 16/128 = 4.125 bits: 32/4.125 = 7.76 times fewer than fp32, 16/4.125 = 3.88 than fp16; int8: 32/8.125 = 3.94."""
    assert [one.bits_with_scales for one in (FP32, FP16, INT8, INT4)] == [32, 16, 8.125, 4.125]
    assert round(32 / INT4.bits_with_scales, 2) == 7.76
    assert round(16 / INT4.bits_with_scales, 2) == 3.88
    assert round(32 / INT8.bits_with_scales, 2) == 3.94


def test_bytes_of_a_billion_weights() -> None:
    """2^30 weights: 4 GiB in fp32; in int4 512 MiB and 2^23 scales of 2 bytes; x 64 KiB, y 128 KiB."""
    assert BILLION.rows * BILLION.cols == 2**30 and BILLION.flop == 2**31
    assert BILLION.weight_bytes(FP32) == 4 * 2**30
    assert BILLION.weight_bytes(INT4) == 512 * 2**20 + 2**24
    assert BILLION.needed_bytes(INT4) == 512 * 2**20 + 2**24 + 64 * 2**10 + 128 * 2**10


def test_rows_of_codes_are_filled_up_to_whole_groups() -> None:
    """Three rows of 129: fp16 has 774 bytes; int8 has 2 groups of 128 bytes and a scale in each row."""
    problem = GemvProblem(3, 129)
    assert (problem.groups, problem.weight_bytes(FP16), problem.weight_bytes(INT8)) == (2, 774, 3 * 2 * 130)


def test_sizes_that_the_kernels_do_not_take_are_refused() -> None:
    with pytest.raises(KernelError, match="at least 1"):
        GemvProblem(0, 4)
    with pytest.raises(KernelError, match=r"2\^30"):
        GemvProblem(1, 2**30 + 1)


def test_codes_and_scales_by_hand() -> None:
    """A group whose largest magnitude is 7: the scale is 1 and a code is the nearest whole number, 8 added; ties to even."""
    weights = np.zeros((1, 130), dtype=np.float32)
    weights[0, :6] = [7, -7, 0.4, 0.6, 2.5, -1.2]
    weights[0, 128:] = [0.5, -0.5]
    codes, scales = quantise(np, weights, 4)
    assert codes.dtype == np.uint8 and codes.shape == (1, 256) and scales.dtype == np.float16
    assert codes[0, :7].tolist() == [15, 1, 8, 9, 10, 7, 8]
    assert scales[0].tolist() == [1.0, float(np.float16(0.5 / 7))]
    assert codes[0, 128:131].tolist() == [15, 1, 8], "each group has its own scale, and what fills up counts as zero"


@pytest.mark.parametrize("format", [INT8, INT4], ids=lambda one: one.name)
def test_no_weight_is_further_off_than_half_a_step(format: Format) -> None:
    """Rounding to the nearest multiple of the scale; the scale's own rounding to fp16 (2^-11) moves the largest by as much."""
    weights = np.random.default_rng(5).standard_normal((9, 700), dtype=np.float32)
    codes, scales = quantise(np, weights, format.bits)
    meant = dequantise(np, codes, scales, format.bits, 700)
    largest = {8: 127, 4: 7}[format.bits]
    step = np.repeat(scales.astype(np.float64), 128, axis=1)[:, :700]
    assert (np.abs(meant - weights) <= step * (0.5 + largest * 2.0**-11)).all()
    assert codes.min() >= 1 and codes.max() <= 2**format.bits - 1


def test_a_group_of_zeros_stays_zero() -> None:
    codes, scales = quantise(np, np.zeros((2, 128), dtype=np.float32), 4)
    assert (codes == 8).all() and not dequantise(np, codes, scales, 4, 128).any()


def test_eight_codes_lie_in_a_word_as_the_kernels_say() -> None:
    """Number i in bits 4 (i / 2) + 16 (i % 2) and up: 0, 16, 4, 20, 8, 24, 12, 28."""
    words = pack(np, np.array([[1, 2, 3, 4, 5, 6, 7, 8]], dtype=np.uint8))
    assert words.tolist() == [[0x8642_7531]]


@pytest.mark.parametrize("name", FORMAT_OF)
def test_what_cannot_be_stored_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="not finite"):
        store(np, np.array([[np.nan]], dtype=np.float32), FORMAT_OF[name])
    if FORMAT_OF[name] != FP32:
        with np.errstate(over="ignore"), pytest.raises(ValueError, match=r"range of fp16|too large"):
            store(np, np.array([[1e8]], dtype=np.float32), FORMAT_OF[name])


def test_every_rung_says_what_it_moves() -> None:
    for rung in LADDER.rungs:
        assert rung.traffic(BILLION)["dram"] == BILLION.needed_bytes(FORMAT_OF[rung.name])
        assert rung.source.name[3:] == f"{rung.name}.cu"
