"""Tensor maps by the limits of the driver's documentation, and by its header as `cuda.bindings` has it."""

from __future__ import annotations

import pytest

from kernels.build import target
from kernels.catalogue import KernelError
from kernels.tensor_map import PROMOTIONS, SWIZZLES, TYPES, TensorMap


def test_strides_of_an_array_in_c_order_and_the_bytes_of_a_box() -> None:
    """A 3 x 5 x 64 array of two bytes: rows of 128 bytes, planes of 640; a box of 4 x 64 of them is 512 bytes."""
    plain = TensorMap((3, 5, 64), (1, 4, 64))
    assert plain.byte_strides == (640, 128)
    assert plain.box_bytes == 512
    assert TensorMap((64,), (64,)).byte_strides == ()
    assert TensorMap((8, 16), (8, 16), strides=(4096,), dtype="float32", swizzle=0).box_bytes == 512


@pytest.mark.parametrize(
    ("shape", "box", "more", "words"),
    [
        ((8, 63), (8, 32), {}, "strides of"),  # rows of 126 bytes
        ((8, 64), (8, 72), {}, "more than the swizzle's 128"),
        ((8, 64), (8, 4), {}, "not a multiple of 16"),
        ((8, 64), (257, 64), {}, "1 to 256"),
        ((8, 64), (0, 64), {}, "1 to 256"),
        ((0, 64), (8, 64), {}, "sizes of 1"),
        ((8, 64), (8,), {}, "dimensions"),
        ((1,) * 6, (1,) * 6, {}, "dimensions"),
        ((8, 64), (8, 64), {"dtype": "float63"}, "float63"),
        ((8, 64), (8, 64), {"swizzle": 48}, "swizzle 48"),
        ((8, 64), (8, 64), {"strides": (128, 2)}, "2 strides"),
        ((8, 64), (8, 64), {"strides": (2**40,)}, "below 2"),
    ],
)
def test_what_the_driver_would_refuse_is_refused_with_a_reason(shape: object, box: object, more: object, words: str) -> None:
    with pytest.raises(KernelError, match=words):
        TensorMap(shape, box, **more)  # type: ignore[arg-type]


def test_an_address_off_sixteen_bytes_is_refused_before_the_driver_is_asked() -> None:
    with pytest.raises(KernelError, match="multiple of 16"):
        TensorMap((8, 64), (8, 64)).encode(4096 + 8)


def test_numbers_are_those_of_the_drivers_header() -> None:
    driver = pytest.importorskip("cuda.bindings.driver")
    kinds = driver.CUtensorMapDataType
    for name, (number, _) in TYPES.items():
        assert number == int(getattr(kinds, f"CU_TENSOR_MAP_DATA_TYPE_{name.upper()}"))
    for width, number in SWIZZLES.items():
        word = f"{width}B" if width else "NONE"
        assert number == int(getattr(driver.CUtensorMapSwizzle, f"CU_TENSOR_MAP_SWIZZLE_{word}"))
    for width, number in PROMOTIONS.items():
        word = f"L2_{width}B" if width else "NONE"
        assert number == int(getattr(driver.CUtensorMapL2promotion, f"CU_TENSOR_MAP_L2_PROMOTION_{word}"))


def test_instructions_of_one_architecture_run_on_no_other() -> None:
    """Code of sm_90a runs on compute capability 9.0 alone; the portable code of another GPU stays as it is."""
    assert target("x", 90, "sm_90a", "sm_90") == target("x", 90, "sm_90a", "sm_90a") == "sm_90a"
    assert target("x", 80, "", "sm_90") == "sm_90"
    for arch in ("sm_80", "sm_100", "sm_120"):
        with pytest.raises(KernelError, match=f"only sm_90a has, and this is {arch}"):
            target("x", 75, "sm_90a", arch)
