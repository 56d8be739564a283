"""The rungs of sm_90a by arithmetic and by their machine code; none of it needs a GPU."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from kernels import tensor_map
from kernels.build import SHARED_LIMIT, build
from kernels.catalogue import Kernel, KernelError, Problem
from kernels.gemm_bf16 import mma_sync
from kernels.gemm_bf16.ladder import LADDER
from kernels.gemm_bf16.problem import block_of
from kernels.gemm_bf16.warpgroups import CLUSTERS, PERSISTENT, RUNGS, launch_roles
from kernels.machine_code import instructions, operation

pytest.importorskip("cuda.bindings.nvrtc", reason="the CUDA compiler comes with the extra dev")

LARGE, ODD = LADDER.problem, Problem(129, 63, 17)
OPCODES = {
    0x1F0: "HGMMA",
    0x1B4: "UTMALDG",
    0x1B5: "UTMASTG",
    0x44: "STSM",
    0x1C8: "USETMAXREG",
    0x186: "STG",
    0x187: "STL",
    0x183: "LDL",
    0x3C: "HMMA",
}
"""Lowest nine bits of an instruction, seen beside the names in a disassembly (STL and LDL are those of local memory)."""

COUNTED = {
    # 4 depths of 16 x 2 halves of 64 rows; A and two parts of B, before the loop and in it; 64 pairs of 128 x 128 / 128 outputs
    "warpgroup": {"HGMMA": 8, "UTMALDG": 6, "STG": 64},
    # 4 depths; A and four parts of B; 64 pairs of a thread's 128 outputs; registers given and taken
    "roles": {"HGMMA": 4, "UTMALDG": 5, "STG": 64, "USETMAXREG": 2},
    "persistent": {"HGMMA": 4, "UTMALDG": 5, "STG": 64, "USETMAXREG": 2},
    # 16 x 16 values of a warp an instruction, 16 of them for 256 columns; a box of 64 columns each
    "stores": {"HGMMA": 4, "UTMALDG": 5, "STSM": 16, "UTMASTG": 4, "USETMAXREG": 2},
    # two halves of 64 rows; A and one of the two parts of B
    "clusters": {"HGMMA": 8, "UTMALDG": 2, "STSM": 16, "UTMASTG": 4, "USETMAXREG": 2},
}


@pytest.mark.parametrize("kernel", RUNGS, ids=lambda kernel: kernel.name)
def test_machine_code_has_the_instructions_that_the_rung_is_about(kernel: Kernel) -> None:
    launch = kernel.launch(LARGE)
    cubin = build(kernel, launch, "sm_90")
    code = Counter(OPCODES[kind] for word in instructions(cubin, kernel.entry) if (kind := operation(word)) in OPCODES)
    assert cubin.arch == "sm_90a"
    assert code == COUNTED[kernel.name]
    used = cubin.resources[kernel.entry]
    assert (used.spills, used.stack, used.shared) == (0, 0, 0)
    blocks = 2 if kernel.name == "warpgroup" else 1
    assert used.registers * launch.threads * blocks <= 65536
    assert (launch.dynamic_shared + 1024) * blocks <= (SHARED_LIMIT[90] + 1) * 1024
    assert launch.dynamic_shared <= kernel.min_shared * 1024 < launch.dynamic_shared + 1024


@pytest.mark.parametrize("kernel", RUNGS, ids=lambda kernel: kernel.name)
def test_the_compiler_neither_serialises_the_products_nor_ignores_the_registers(kernel: Kernel) -> None:
    """ptxas says so as C7510 and C7508."""
    for problem in (LARGE, ODD):
        assert "C75" not in build(kernel, kernel.launch(problem), "sm_90a").log


@pytest.mark.parametrize("kernel", RUNGS, ids=lambda kernel: kernel.name)
def test_other_architectures_are_refused_with_a_reason(kernel: Kernel) -> None:
    for arch in ("sm_80", "sm_89", "sm_100", "sm_120"):
        with pytest.raises(KernelError, match=f"{kernel.name} uses instructions that only sm_90a has, and this is {arch}"):
            build(kernel, kernel.launch(LARGE), arch)


@pytest.mark.parametrize(
    ("problem", "tiles", "pairs"),
    [
        (LARGE, 64 * 32, 16 * 64),
        (Problem(129, 264, 64), 2 * 2, 1 * 3),
        (Problem(8, 8, 8), 1, 1),
        (Problem(513, 256, 64), 5, 2 * 2),
    ],
)
def test_tiles_and_pairs_of_them_cover_the_output(problem: Problem, tiles: int, pairs: int) -> None:
    assert launch_roles(PERSISTENT)(problem).grid == (tiles, 1, 1)
    assert launch_roles(CLUSTERS)(problem).grid == (pairs * 2, 1, 1)
    assert launch_roles(CLUSTERS, 132)(problem).grid == (min(132, pairs * 2), 1, 1)


@pytest.mark.parametrize(
    ("m", "n", "group", "cluster"), [(8192, 8192, 8, 2), (1000, 520, 16, 1), (300, 2104, 4, 2), (64, 64, 8, 2)]
)
def test_every_tile_is_computed_once_whatever_the_grid(m: int, n: int, group: int, cluster: int) -> None:
    """Blocks take tiles `gridDim / CLUSTER` apart; those of a cluster lie below each other.  128 x 256 outputs a block."""
    across, down = -(-n // 256), -(-m // (128 * cluster))
    for blocks in (cluster, 6 * cluster, 132):
        found: Counter[tuple[int, int]] = Counter()
        for block in range(blocks):
            for order in range(block // cluster, across * down, blocks // cluster):
                row, col = block_of(order, across, down, group)
                found[row * cluster + block % cluster, col] += 1
        assert found == {(row, col): 1 for row in range(down * cluster) for col in range(across)}


@pytest.mark.parametrize("kernel", RUNGS, ids=lambda kernel: kernel.name)
def test_rows_of_whole_16_bytes_go_by_maps_and_others_by_pointers(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    def encoded(self: tensor_map.TensorMap, address: int) -> Any:
        return self.shape, self.box, self.byte_strides, address

    monkeypatch.setattr(tensor_map.TensorMap, "argument", encoded)
    arrays: list[Any] = [SimpleNamespace(data=SimpleNamespace(ptr=place)) for place in (256, 512, 768)]
    assert kernel.operands is not None
    for problem in (ODD, Problem(64, 64, 12), Problem(64, 12, 64)):
        assert kernel.operands(problem, *arrays) == tuple(arrays)
        assert kernel.launch(problem).constants["GUARD"] == 1
    a, b, c = kernel.operands(Problem(100, 40, 24), *arrays)
    assert kernel.launch(Problem(100, 40, 24)).constants["GUARD"] == 0
    assert a == ((100, 24), (kernel.tile[0], 64), (48,), 256)
    assert b == ((24, 40), (64, 64), (80,), 512)
    assert c == (((100, 40), (64, 64), (80,), 768) if kernel.name in ("stores", "clusters") else arrays[2])


def test_the_rungs_follow_the_portable_ones() -> None:
    assert [rung.source.name[:2] for rung in RUNGS] == ["08", "09", "09", "09", "09"]
    assert LADDER.rungs == (*mma_sync.RUNGS, *RUNGS)
    assert all((rung.min_arch, rung.feature_arch) == (90, "sm_90a") for rung in RUNGS)
