"""The encoder: colours against ITU-R BT.709, tags, exact frames, closed groups of pictures."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from scenes.render.encode import Encoder
from scenes.render.errors import RenderError, RequestError
from scenes.render.quality import QUALITIES, Quality

SMALL = Quality("t", 64, 48, 24, "superfast", 1)
# 8-bit limited-range codes of full-scale primaries, rounded from E'Y = .2126 R + .7152 G + .0722 B (BT.709-6, items 3.2 to 3.5)
CODES = {
    (255, 0, 0): (63, 102, 240),
    (0, 255, 0): (173, 42, 26),
    (0, 0, 255): (32, 240, 118),
    (255, 255, 255): (235, 128, 128),
    (0, 0, 0): (16, 128, 128),
}


def flat(colour: tuple[int, int, int], quality: Quality = SMALL) -> NDArray[np.uint8]:
    pixels = np.full((quality.height, quality.width, 4), 255, np.uint8)
    pixels[..., :3] = colour
    return pixels


@pytest.mark.parametrize(("colour", "code"), CODES.items())
def test_colours_are_bt709(tmp_path: Path, colour: tuple[int, int, int], code: tuple[int, int, int]) -> None:
    with Encoder(tmp_path / "a.mp4", SMALL) as encoder:
        encoder.write(flat(colour))
    with av.open(str(tmp_path / "a.mp4")) as film:
        planes = next(film.decode(video=0)).planes
        found = [np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, -1)[8, 8] for plane in planes]
    assert np.abs(np.array(found, int) - code).max() <= 1


def test_the_stream_says_what_it_is(tmp_path: Path) -> None:
    with Encoder(tmp_path / "a.mp4", SMALL) as encoder:
        encoder.write(flat((9, 99, 200)))
    with av.open(str(tmp_path / "a.mp4")) as film:
        context = film.streams.video[0].codec_context
        assert (context.name, context.pix_fmt) == ("h264", "yuv420p")
        assert (context.colorspace, context.color_primaries, context.color_trc, context.color_range) == (1, 1, 1, 1)


def test_frames_leave_in_order_and_every_second_starts_afresh(tmp_path: Path) -> None:
    with Encoder(tmp_path / "a.mp4", SMALL) as encoder:
        for frame in range(60):
            encoder.write(flat((4 * frame, 255 - 4 * frame, 128)))
    with av.open(str(tmp_path / "a.mp4")) as film:
        packets = [packet for packet in film.demux(video=0) if packet.pts is not None]
        times = [packet.pts * (packet.time_base or 0) * 24 for packet in packets if packet.pts is not None]
        keys = [index for index, packet in enumerate(packets) if packet.is_keyframe]
    assert times == list(range(60))
    assert [packet.dts for packet in packets] == [packet.pts for packet in packets]
    assert keys[0] == 0 and all(later - earlier <= 24 for earlier, later in zip(keys, [*keys[1:], 60], strict=True))


def test_the_same_frames_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.mp4", "b.mp4"):
        with Encoder(tmp_path / name, SMALL) as encoder:
            for frame in range(10):
                encoder.write(flat((20 * frame, 10, 10)))
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()


def test_a_frame_of_another_size_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RenderError, match="64x48"), Encoder(tmp_path / "a.mp4", SMALL) as encoder:
        encoder.write(np.zeros((48, 32, 4), np.uint8))


def test_the_letters_are_manims() -> None:
    from manim.constants import QUALITIES as MANIMS

    theirs = {entry["flag"]: (entry["pixel_width"], entry["pixel_height"], entry["frame_rate"]) for entry in MANIMS.values()}
    for letter, quality in QUALITIES.items():
        assert theirs[letter] == (quality.width, quality.height, quality.fps)


@pytest.mark.parametrize("size", [(855, 480, 15), (854, 481, 15), (854, 480, 0)])
def test_sizes_that_cannot_be_coded_are_refused(size: tuple[int, int, int]) -> None:
    with pytest.raises(RequestError, match="even"):
        Quality("x", *size)
