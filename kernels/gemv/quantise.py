"""Weights to whole numbers and back: symmetric, absmax, in groups of 128.  Works on NumPy and CuPy arrays alike (`xp`).

A group's scale is its largest magnitude over the largest code (127 or 7), rounded to fp16; a weight becomes the nearest
multiple.  Absmax scaling as in LLM.int8() (Dettmers et al., 2022), groups as in GPTQ (Frantar et al., 2022); the range is kept
symmetric, -127 to 127 and -7 to 7 (Krishnamoorthi, "Quantizing deep convolutional networks", 2018, section 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernels.gemv.problem import FP16, FP32, GROUP, INT4_CHUNKED, Format

LARGEST = {8: 127, 4: 7}
"""The largest code by bits."""

OFFSET = {8: 128, 4: 8}
"""What is added to a code before it is stored, so that no stored code is negative."""

CODES_A_WORD = 8

CHUNK_ROWS = INT4_CHUNKED.tile_rows
SCALE_BYTES = CHUNK_ROWS * 2
CHUNK_BYTES = CHUNK_ROWS * GROUP // 2 + SCALE_BYTES


@dataclass(frozen=True, slots=True)
class Stored:
    """Weights as a kernel takes them: `arrays` are its first arguments, `meant` the fp32 weights that they stand for.

    `scales` (rows x groups, fp16): those of a grouped format, however `arrays` hold them.
    """

    arrays: tuple[Any, ...]
    meant: Any
    scales: Any = None


def store(xp: Any, weights: Any, format: Format) -> Stored:
    """Weights (rows x cols, fp32) in a format.  Raises ValueError where they are not finite or too large for it."""
    if not bool(xp.isfinite(weights).all()):
        raise ValueError("weights that are not finite cannot be stored")
    if format == FP32:
        return Stored((weights,), weights)
    if format == FP16:
        narrow = weights.astype(xp.float16)
        if not bool(xp.isfinite(narrow).all()):
            raise ValueError("weights beyond the range of fp16")
        return Stored((narrow,), narrow.astype(xp.float32))
    codes, scales = quantise(xp, weights, format.bits)
    meant = dequantise(xp, codes, scales, format.bits, weights.shape[1])
    if format.together:
        return Stored((chunked(xp, codes, scales),), meant, scales)
    arrays = (pack(xp, codes) if format.bits == 4 else codes, scales)
    if format.tile_rows > 1:
        arrays = tuple(tiled(xp, one, scales.shape[1], format.tile_rows) for one in arrays)
    return Stored(arrays, meant, scales)


def quantise(xp: Any, weights: Any, bits: int) -> tuple[Any, Any]:
    """Codes (rows x groups * 128, uint8, offset added) and scales (rows x groups, fp16).

    What fills up the last group has the code of zero.  Raises ValueError where a scale is beyond the range of fp16.
    """
    rows, cols = weights.shape
    groups = -(-cols // GROUP)
    filled = xp.zeros((rows, groups * GROUP), dtype=xp.float32)
    filled[:, :cols] = weights
    grouped = filled.reshape(rows, groups, GROUP)
    scales = (xp.abs(grouped).max(axis=2) / xp.float32(LARGEST[bits])).astype(xp.float16)
    if not bool(xp.isfinite(scales).all()):
        raise ValueError("weights too large for a scale in fp16")
    divisor = xp.where(scales > 0, scales, xp.float16(1)).astype(xp.float32)[:, :, None]
    codes = xp.clip(xp.rint(grouped / divisor), -LARGEST[bits], LARGEST[bits])
    return (codes + OFFSET[bits]).astype(xp.uint8).reshape(rows, groups * GROUP), scales


def dequantise(xp: Any, codes: Any, scales: Any, bits: int, cols: int) -> Any:
    """The weights (rows x cols, fp32) that codes and scales stand for; exact: a code and a scale have 19 bits at most."""
    rows, groups = scales.shape
    whole = codes.reshape(rows, groups, GROUP).astype(xp.float32) - xp.float32(OFFSET[bits])
    return (whole * scales.astype(xp.float32)[:, :, None]).reshape(rows, groups * GROUP)[:, :cols]


def shift(index: int) -> int:
    """Where code `index` of the eight in a word begins: neighbours lie 16 bits apart, so that one mask takes out a pair."""
    return 4 * (index // 2) + 16 * (index % 2)


def pack(xp: Any, codes: Any) -> Any:
    """4-bit codes (rows x n, n a multiple of 8), eight to a word (rows x n / 8, uint32)."""
    rows, count = codes.shape
    eights = codes.reshape(rows, count // CODES_A_WORD, CODES_A_WORD)
    words = xp.zeros(eights.shape[:2], dtype=xp.uint32)
    for index in range(CODES_A_WORD):
        words |= eights[:, :, index].astype(xp.uint32) << xp.uint32(shift(index))
    return words


def tiled(xp: Any, array: Any, groups: int, tile_rows: int) -> Any:
    """Codes or scales (rows x groups * piece) in blocks of `tile_rows` rows x one group, one block after the other.

    The rows are filled up with zeros to whole tiles; a tile's blocks take the memory of its rows.
    """
    rows, width = array.shape
    tiles = -(-rows // tile_rows)
    filled = xp.zeros((tiles * tile_rows, width), dtype=array.dtype)
    filled[:rows] = array
    blocks = filled.reshape(tiles, tile_rows, groups, width // groups).transpose(0, 2, 1, 3)
    return xp.ascontiguousarray(blocks).reshape(tiles * tile_rows, width)


def chunked(xp: Any, codes: Any, scales: Any) -> Any:
    """4-bit codes and scales in chunks of 64 rows x one group, in the order in which the lanes of a warp multiply them.

    In a chunk: four tiles of 16 rows, of each rows 0 to 7, then 8 to 15, of each row four words for each of four lanes; then,
    for each of eight rows, the scales of both rows of all tiles.  Gives uint8 (rows filled up to 64 x groups * 66).
    """
    rows, width = codes.shape
    groups, blocks = scales.shape[1], -(-rows // CHUNK_ROWS)
    pairs = codes.reshape(rows, width // CODES_A_WORD, 4, 2)[:, :, [0, 2, 1, 3]]  # pair i lies 0, 8, 4, 12 bits up
    words = xp.zeros((blocks * CHUNK_ROWS, width // CODES_A_WORD), dtype=xp.uint32)
    words[:rows] = pack(xp, pairs.reshape(rows, width))
    halves = xp.zeros((blocks * CHUNK_ROWS, groups), dtype=xp.float16)
    halves[:rows] = scales
    # block, tile, half, row, group, word of a lane, lane: a lane's words come together, neighbouring lanes share 32 columns
    words = words.reshape(blocks, 4, 2, 8, groups, 4, 4).transpose(0, 4, 1, 2, 3, 6, 5)
    halves = halves.reshape(blocks, 4, 2, 8, groups).transpose(0, 4, 3, 1, 2)
    chunks = xp.empty((blocks, groups, CHUNK_BYTES), dtype=xp.uint8)
    chunks[:, :, :-SCALE_BYTES] = xp.ascontiguousarray(words).reshape(blocks, groups, -1).view(xp.uint8)
    chunks[:, :, -SCALE_BYTES:] = xp.ascontiguousarray(halves).reshape(blocks, groups, -1).view(xp.uint8)
    return chunks.reshape(blocks * CHUNK_ROWS, groups * (CHUNK_BYTES // CHUNK_ROWS))
