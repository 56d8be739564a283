"""Transitions as functions of two pictures: they begin with one, end with the other, and never flash."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from audio.timeline_file import load
from audio.tracks import DEFAULT, HERE
from scenes.render import flash
from scenes.stage.camera import Camera
from scenes.stage.clock import Clock
from scenes.stage.jit import f4
from scenes.stage.transitions import pieces, portal, smear, travel
from scenes.stage.transitions.cut import KINDS, Cut, Kind
from scenes.stage.transitions.mix import Mixer, brightest
from scenes.stage.transitions.span import Span

SONG = load(HERE / f"{DEFAULT}.timeline.json")
HEIGHT, WIDTH = 180, 320
Picture = NDArray[np.uint32]


def picture(seed: int, height: int = HEIGHT, width: int = WIDTH) -> Picture:
    """Soft patches of colour on a dark ground, opaque."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 120, (height // 20 + 2, width // 20 + 2, 3))
    rgb = np.kron(coarse, np.ones((20, 20, 1)))[:height, :width].astype(np.uint32)
    return np.ascontiguousarray(rgb[..., 0] | rgb[..., 1] << 8 | rgb[..., 2] << 16 | 0xFF000000).astype(np.uint32)


def channels(image: Picture) -> NDArray[np.float64]:
    return np.ascontiguousarray(image).view(np.uint8).reshape(*image.shape, 4)[..., :3].astype(float)


A, B = picture(1), picture(2)


def drawn(kind: Kind, progress: float, a: Picture = A, b: Picture = B, heading: float = 0.0) -> Picture:
    out = np.zeros_like(a)
    Mixer(Cut(kind, 1.0, 1.0, heading), (0.4, 0.55)).draw(a, b, progress, out)
    return out


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "glitch"])
@pytest.mark.parametrize("heading", [0.0, 18.0, 135.0, 270.0])
def test_it_begins_with_one_picture_and_ends_with_the_other(kind: Kind, heading: float) -> None:
    assert np.abs(channels(drawn(kind, 0.0, heading=heading)) - channels(A)).max() <= 1
    assert np.abs(channels(drawn(kind, 1.0, heading=heading)) - channels(B)).max() <= 1


def test_a_glitch_only_moves_light() -> None:
    # every value of every channel comes from the same rows of one of the two pictures, at whatever step
    for step in range(8):
        seen, rows = channels(drawn("glitch", (step + 0.5) / 8)), 8
        for y in range(0, HEIGHT - rows, rows):
            for c in range(3):
                there = set(channels(A)[y : y + rows, :, c].ravel()) | set(channels(B)[y : y + rows, :, c].ravel())
                assert set(seen[y : y + rows, :, c].ravel()) <= there
    assert np.array_equal(drawn("glitch", 0.02, A, A) & 0xFF000000, A & 0xFF000000)


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_a_function_of_its_arguments_alone(kind: Kind) -> None:
    mixer = Mixer(Cut(kind), (0.4, 0.55))
    first, later = np.zeros_like(A), np.full_like(A, 0x12345678)
    mixer.draw(A, B, 0.45, first)
    mixer.draw(B, A, 0.8, later)
    mixer.draw(A, B, 0.45, later)
    assert np.array_equal(first, later)
    assert np.array_equal(first, drawn(kind, 0.45))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [(180, 320), (90, 162), (46, 80)])
def test_any_even_frame_size(kind: Kind, size: tuple[int, int]) -> None:
    a, b = picture(3, *size), picture(4, *size)
    for progress in (0.1, 0.5, 0.9):
        assert (drawn(kind, progress, a, b) >> 24 == 255).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("swap", [False, True])
def test_it_neither_flashes_nor_dips_to_dark(kind: Kind, swap: bool) -> None:
    dark, bright = (np.full((HEIGHT, WIDTH), 0xFF000000 | grey * 0x010101, np.uint32) for grey in (40, 130))
    a, b = (bright, dark) if swap else (dark, bright)
    frames = [channels(drawn(kind, (k + 0.5) / 54, a, b)).astype(np.uint8) for k in range(54)]  # two beats at 60 fps
    shown = [a] * 30 + [b] * 30
    film = [channels(p).astype(np.uint8) for p in shown[:30]] + frames + [channels(p).astype(np.uint8) for p in shown[30:]]
    assert flash.scan(iter(film), 60.0) == ()
    means = np.array([frame.mean() for frame in frames])
    assert means.min() > 0.6 * 40 and means.max() < 1.25 * 130


def test_a_pans_blur_is_the_mean_over_its_reach() -> None:
    out = np.zeros_like(A)
    smear.pan_blur(A, 7, out)
    expected = uniform_filter1d(channels(A), 15, axis=1, mode="reflect")
    assert np.abs(channels(out) - expected).max() <= 0.51


def test_a_mixture_is_a_weighted_mean() -> None:
    out = np.zeros_like(A)
    smear.mixed(A, B, f4(0.25), out)
    assert np.abs(channels(out) - (0.75 * channels(A) + 0.25 * channels(B))).max() <= 0.51


def test_a_halved_picture_is_made_of_means() -> None:
    out = np.zeros((HEIGHT // 2, WIDTH // 2), np.uint32)
    portal.halved(A, out)
    expected = channels(A).reshape(HEIGHT // 2, 2, WIDTH // 2, 2, 3).mean(axis=(1, 3))
    assert np.abs(channels(out) - expected).max() <= 0.51


def test_a_dive_opens_a_disc_of_the_given_radius() -> None:
    black, white = np.full_like(A, 0xFF000000), np.full_like(A, 0xFFFFFFFF)
    out, nothing = np.zeros_like(A), np.zeros((HEIGHT // 2, WIDTH // 2), np.uint32)
    portal.dive(black, nothing, f4(0), white, f4(160), f4(90), f4(50), f4(2), np.zeros(3, np.float32), out)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    far = np.hypot(x - 160, y - 90)
    assert (out[far < 48.5] == 0xFFFFFFFF).all() and (out[far > 51.5] == 0xFF000000).all()
    assert np.count_nonzero(channels(out)[..., 0] > 127) == pytest.approx(np.pi * 50**2, rel=0.01)


def test_an_iris_opens_a_polygon_of_the_given_inner_radius() -> None:
    black, white = np.full_like(A, 0xFF000000), np.full_like(A, 0xFFFFFFFF)
    angles = 2 * np.pi * np.arange(4) / 4
    sides = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)  # a square of edge 100
    out = np.zeros_like(A)
    portal.iris(black, white, f4(160), f4(90), f4(50), sides, f4(0.5), f4(2), np.zeros(3, np.float32), out)
    assert np.count_nonzero(channels(out)[..., 0] > 127) == pytest.approx(100**2, rel=0.03)


def test_a_tile_turned_by_a_right_angle_shows_its_picture_turned() -> None:
    source = picture(5, 100, 100)
    out = np.full((100, 100), 0xFF000000, np.uint32)
    table = np.array([[49.5, 49.5, 49.5, 49.5, 1.0, np.pi / 2, 0.0, 1.0, 0.0, 1.0]], np.float32)
    pieces.tiles(source, pieces.pairs_of(source), table, f4(60), out)
    inner = slice(25, 75)
    turned = np.rot90(channels(source), k=-1)  # clockwise, as the angle goes in a picture whose y points down
    assert np.abs(channels(out)[inner, inner] - turned[inner, inner]).mean() < 2.0


def test_the_brightest_spot_near_the_middle_is_the_focus() -> None:
    image = np.full((180, 320), 0xFF101010, np.uint32)
    image[70:90, 190:210] = 0xFFFFFFFF
    x, y = brightest(image)
    assert (x, y) == pytest.approx((200 / 320, 80 / 180), abs=0.04)
    assert brightest(np.full((180, 320), 0xFF000000, np.uint32)) == (0.5, 0.5)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Cut("fade"), "no transition 'fade': there are dive, whip, shatter, streak, glitch, iris"),  # type: ignore[arg-type]
        (lambda: Cut("whip", before=0.0), "whip: expected more than 0 beats before and after, found 0.0 and 1.0"),
        (lambda: Cut("dive", focus=(1.2, 0.5)), "focus .* outside of the picture"),
    ],
)
def test_a_bad_transition_is_one_clear_line(make: object, words: str) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=words):
        make()


def test_a_span_is_counted_alike_from_both_sides_of_the_cut() -> None:
    cut = Cut("dive", 2.0, 1.5)
    out, into = Clock(SONG, 13, 4, 60.0), Clock(SONG, 17, 8, 60.0)
    here, there = Span.before(out, cut), Span.after(into, cut)
    assert here.cut == there.cut == round(SONG.time(17) * 60)
    assert abs(here.first - there.first) <= 1 and abs(here.last - there.last) <= 1
    assert here.first == round((SONG.time(17) - 2 * 60 / 132) * 60)  # the song's 132 beats a minute
    assert there.last == round((SONG.time(17) + 1.5 * 60 / 132) * 60)
    steps = [here.progress(frame, cut.share) for frame in range(here.first, here.last)]
    assert all(0.0 < b - a < 0.02 for a, b in pairwise(steps)) and 0.0 < steps[0] and steps[-1] < 1.0


def test_travel_begins_and_ends_at_rest_and_goes_one_way_through_a_whip() -> None:
    camera = Camera((0.0, -10.0, 3.0), (0.0, 0.0, 1.0))
    for kind in KINDS:
        cut = Cut(kind)
        assert travel.leave(cut, camera, 0.0) == camera and travel.enter(cut, camera, 1.0) == camera
    whip = Cut("whip")
    leaving = [travel.leave(whip, camera, u).axes()[2][0] for u in (0.0, 0.5, 1.0)]
    entering = [travel.enter(whip, camera, v).axes()[2][0] for v in (0.0, 0.5, 1.0)]
    assert leaving == sorted(leaving) and entering == sorted(entering)  # to the right all the time
    assert leaving[-1] == pytest.approx(np.sin(np.radians(travel.YAW)) * np.hypot(10, 0) / np.hypot(10, 2), abs=1e-6)


def test_kernel_files_of_transitions_name_the_cache(tmp_path: Path) -> None:
    from scenes.stage import jit

    folder = Path(jit.__file__).parent
    with_kernels = {
        f"transitions/{path.stem}" for path in (folder / "transitions").glob("*.py") if "@kernel" in path.read_text()
    }
    assert with_kernels <= set(jit._KERNEL_FILES)
