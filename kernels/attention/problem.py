"""The size of an attention forward pass, what it computes and the fewest bytes that it moves."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.catalogue import KernelError

HEAD_DIM = 128
BF16 = 2
FP32 = 4
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
