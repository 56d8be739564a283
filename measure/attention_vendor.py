"""The vendor's attention beside ours: cuDNN's and FlashAttention-2's, as PyTorch has them, where one with CUDA is installed.

PyTorch is no dependency: without it the ladder has no such lines.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from kernels.attention.problem import HEAD_DIM, Attention

BACKENDS: Mapping[str, tuple[str, str]] = {
    "cudnn": ("CUDNN_ATTENTION", "cuDNN, through PyTorch"),
    "flash_attention": ("FLASH_ATTENTION", "FlashAttention-2, through PyTorch"),
}
"""By name of the line: PyTorch's name of the backend, and the title."""


def runs(problem: Attention, q: Any, k: Any, v: Any) -> dict[str, Callable[[], None]]:
    """A launch by each backend that takes the problem, on CuPy arrays of bf16 bits; nothing where there is no PyTorch."""
    try:
        torch: Any = importlib.import_module("torch")
        choose: Any = importlib.import_module("torch.nn.attention")
        if not torch.cuda.is_available():
            return {}
    except (ImportError, OSError, RuntimeError):  # none, or one that does not load here
        return {}
    shape = (problem.batch, problem.heads, problem.seq, HEAD_DIM)

    def tensor(bits: Any) -> Any:
        return torch.from_dlpack(bits.view("int16")).view(torch.bfloat16).view(shape)

    tensors = tuple(tensor(bits) for bits in (q, k, v))
    attend = torch.nn.functional.scaled_dot_product_attention
    found: dict[str, Callable[[], None]] = {}
    for name, (backend, _) in BACKENDS.items():

        def run(backend: str = backend) -> None:
            with choose.sdpa_kernel(getattr(choose.SDPBackend, backend)):
                attend(*tensors, is_causal=problem.causal)

        try:
            run()
            torch.cuda.synchronize()
        except (RuntimeError, AttributeError):  # a backend that this PyTorch or this GPU does not have
            continue
        found[name] = run
    return found
