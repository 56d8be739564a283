"""The size of an attention forward pass, what it computes and the fewest bytes that it moves."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.catalogue import KernelError

HEAD_DIM = 128
BF16 = 2
FP32 = 4
EPS = 2.0**-8  # unit roundoff of bf16
MOST_HEADS = 65535  # heads lie along the second side of the grid


@dataclass(frozen=True, slots=True)
class Attention:
    """softmax(Q K^T / sqrt(128)) V for `batch` x `heads` heads of `seq` queries and as many keys, bf16 in and out.

    Each of Q, K, V and the output is (batch * heads) x seq x 128, row-major.  `causal`: no query sees a later key.
    Raises KernelError for sizes that the kernels do not take.
    """

    batch: int
    heads: int
    seq: int
    causal: bool = False

    def __post_init__(self) -> None:
        if min(self.batch, self.heads, self.seq) < 1:
            raise KernelError(f"attention needs sizes of at least 1, got {self}")
        if self.all_heads > MOST_HEADS:
            raise KernelError(f"{self}: more than {MOST_HEADS} heads do not fit along one side of a grid")
        if self.seq * HEAD_DIM >= 2**31:
            raise KernelError(f"{self}: a head of 2^31 elements or more is beyond the kernels' 32-bit indices")

    def __str__(self) -> str:
        return f"{self.batch} x {self.heads} heads, {self.seq} x {HEAD_DIM}{', causal' if self.causal else ''}"

    @property
    def all_heads(self) -> int:
        """Heads of all of the batch."""
        return self.batch * self.heads

    @property
    def flop(self) -> int:
        """4 x heads x seq^2 x 128: a multiplication and an addition a product, in two products; half of it if causal.

        This is how the FlashAttention papers count (Dao 2023, section 4.1); the softmax itself is not counted.
        """
        return 4 * self.all_heads * self.seq**2 * HEAD_DIM // (2 if self.causal else 1)

    @property
    def square_bytes(self) -> int:
        """Bytes of all heads' squares of scores in fp32: 268 MB a head at seq 8192."""
        return FP32 * self.all_heads * self.seq**2

    @property
    def compulsory_bytes(self) -> int:
        """The fewest bytes: Q, K and V read once, the output written once."""
        return 4 * self.all_heads * self.seq * HEAD_DIM * BF16


def tolerance(problem: Attention) -> float:
    """Largest allowed error over |O| + 4 |p v|, where |p v| is the root of the sum over the keys of (weight x value)^2.

    The output is rounded to bf16: at most 2^-8 |O|.  Where the weights go to bf16 too, each of them errs by a relative error
    between -2^-8 and 2^-8 of its own, so that their weighted sum errs by about 2^-8 |p v| / sqrt(3); 4 |p v| is seven times
    that standard deviation.  Everything else is fp32, thousands of times finer.
    """
    return EPS


def tiles(size: int, tile: int) -> int:
    """How many tiles cover a side."""
    return -(-size // tile)


def tile_pairs(problem: Attention, bq: int, bk: int) -> int:
    """Tiles of bq queries by bk keys that are computed in all heads; causal ones end with the tile that meets the diagonal."""
    if not problem.causal:
        return problem.all_heads * tiles(problem.seq, bq) * tiles(problem.seq, bk)
    last = (min(first + bq, problem.seq) for first in range(0, problem.seq, bq))
    return problem.all_heads * sum(tiles(end, bk) for end in last)
