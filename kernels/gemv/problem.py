"""The size of a matrix-vector product and how its weights are stored: bits a weight, groups, bytes."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.catalogue import KernelError

GROUP = 128
"""Neighbours in a row that share a scale; 128 as in GPTQ (Frantar et al., 2022) and in the formats that came after it."""

SCALE_BITS = 16
VECTOR_BYTES = 2  # x is fp16
OUTPUT_BYTES = 4  # y is fp32


@dataclass(frozen=True, slots=True)
class Format:
    """How weights are stored: `bits` of a weight itself; `grouped` ones are whole numbers with an fp16 scale a group.

    `tile_rows` rows lie in memory a group of each at a time, filled up to whole tiles; `together`: codes and scales in one.
    """

    name: str
    bits: int
    grouped: bool
    tile_rows: int = 1
    together: bool = False

    @property
    def bits_with_scales(self) -> float:
        """Bits a weight takes with its share of the scale: 4.125 for int4 in groups of 128."""
        return self.bits + (SCALE_BITS / GROUP if self.grouped else 0.0)


FP32 = Format("fp32", 32, grouped=False)
FP16 = Format("fp16", 16, grouped=False)
INT8 = Format("int8", 8, grouped=True)
INT4 = Format("int4", 4, grouped=True)
INT4_TILED = Format("int4_tiled", 4, grouped=True, tile_rows=16)
INT4_CHUNKED = Format("int4_chunked", 4, grouped=True, tile_rows=64, together=True)
FORMATS = (FP32, FP16, INT8, INT4, INT4_TILED, INT4_CHUNKED)


@dataclass(frozen=True, slots=True)
class GemvProblem:
    """y (rows) = W (rows x cols) times x (cols).  Raises KernelError for sizes that the kernels do not take."""

    rows: int
    cols: int

    def __post_init__(self) -> None:
        if min(self.rows, self.cols) < 1:
            raise KernelError(f"a matrix-vector product needs sizes of at least 1, got {self}")
        if max(self.rows, self.cols) > 2**30:
            raise KernelError(f"{self}: more than 2^30 rows or columns are beyond the kernels' 32-bit row and column numbers")

    def __str__(self) -> str:
        return f"{self.rows} x {self.cols}"

    @property
    def groups(self) -> int:
        """Groups in a row, the last one filled up."""
        return -(-self.cols // GROUP)

    @property
    def flop(self) -> int:
        """2 x rows x cols: a multiplication and an addition for each weight."""
        return 2 * self.rows * self.cols

    def weight_bytes(self, format: Format) -> int:
        """Bytes of the stored weights and scales; grouped formats fill their rows up to whole groups."""
        if not format.grouped:
            return self.rows * self.cols * format.bits // 8
        return self.rows * self.groups * (GROUP * format.bits + SCALE_BITS) // 8

    def needed_bytes(self, format: Format) -> int:
        """The fewest bytes of one product: weights, scales and x read once, y written once."""
        return self.weight_bytes(format) + VECTOR_BYTES * self.cols + OUTPUT_BYTES * self.rows
