"""Text planes: hidden and shown as a ray finds them, ink that neither shimmers nor is lost, one front, a glow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from measure.dataset import Reading
from measure.records import Device, Quantity
from scenes.stage import plane as planes
from scenes.stage.camera import Camera
from scenes.stage.claims import figure
from scenes.stage.plane import PlaneError, TextPlane
from scenes.stage.raster import Raster
from scenes.stage.type import HEADLINE, LABEL, load_font
from scenes.stage.world import Boxes, Fog, Ground, Light, Ribbons, World

WIDTH, HEIGHT = 320, 180
BLACK = Ground(color=(0, 0, 0))
WHITE = LABEL.coloured((1.0, 1.0, 1.0))
SOLID = "\u2588" * 6  # full blocks: a rectangle from the font's descent to its ascent
VIEW = Camera.orbit((0, 0, 1), 10, -25, 20)


def world(*things: object) -> World:
    """On black, without fog, every face in its own colour."""
    made = World(light=Light(face=(1, 1, 1, 1, 1, 1), ambient=1.0, bloom=0.0), ground=BLACK, fog=Fog(max=0.0))
    for thing in things:
        made.add(thing)  # type: ignore[arg-type]
    return made


def render(
    shown: World, camera: Camera = VIEW, width: int = WIDTH, height: int = HEIGHT, flat: bool = True
) -> NDArray[np.float64]:
    out = Raster(width, height, flat).render(shown, camera, np.zeros((height, width), np.uint32))
    return out.view(np.uint8).reshape(height, width, 4)[..., :3].astype(float)


def rays(camera: Camera) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Eye (3,) and directions (H, W, 3) through the pixels' centres."""
    m = camera.matrix(WIDTH, HEIGHT).astype(float)
    x, y = np.meshgrid(np.arange(WIDTH) + 0.5, np.arange(HEIGHT) + 0.5)
    way = m[2, :3] + ((x - m[1, 3]) / m[0, 3])[..., None] * m[0, :3] - ((y - m[2, 3]) / m[0, 3])[..., None] * m[1, :3]
    return m[3, :3], way


def meets_plane(plane: TextPlane, camera: Camera, grow: float) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """(H, W) whether a ray meets the solid block of a plane, grown by `grow` world units each way, and at which depth."""
    eye, way = rays(camera)
    along, up = np.asarray(plane.along, float), np.asarray(plane.up, float)
    normal = np.cross(along, up)
    depth = ((np.asarray(plane.at) - eye) @ normal) / (way @ normal)
    at = eye + way * depth[..., None] - plane.at
    font = load_font(plane.style.font, 1000)
    left, top, right, bottom = (v * plane.height / -font.getbbox("H", anchor="ls")[1] for v in font.getbbox(SOLID, anchor="ls"))
    u, v = at @ along, -(at @ up)
    inside = (u > left - grow) & (u < right + grow) & (v > top - grow) & (v < bottom + grow) & (depth > 0)
    return inside, np.where(inside, depth, np.inf)


def meets_boxes(origin: NDArray[np.float64], size: NDArray[np.float64], camera: Camera) -> NDArray[np.float64]:
    """(H, W) depth of the nearest box (Kay and Kajiya 1986), infinite for none."""
    eye, way = rays(camera)
    way = np.where(np.abs(way) < 1e-12, 1e-12, way)
    nearest = np.full(way.shape[:2], np.inf)
    for low, extent in zip(origin, size, strict=True):
        a, b = (low - eye) / way, (low + extent - eye) / way
        enter, leave = np.minimum(a, b).max(-1), np.maximum(a, b).min(-1)
        nearest = np.where((enter < leave) & (enter > 0), np.minimum(nearest, enter), nearest)
    return nearest


SLANT = (0.8, 0.0, 0.6)
STANDING = TextPlane.standing(SOLID, WHITE, (-1.6, 0.2, 0.5), 0.9, -20.0)
LYING = TextPlane.lying(SOLID, WHITE, (-1.9, -0.6, 0.7), 0.9, 10.0)
LEANING = TextPlane(SOLID, WHITE, (-1.5, 0.0, 0.4), SLANT, (-0.6, 0.0, 0.8), 0.7)


@pytest.mark.parametrize("plane", [STANDING, LYING, LEANING])
@pytest.mark.parametrize("azimuth", [-55.0, -10.0, 40.0])
def test_who_hides_whom_is_what_a_ray_meets_first(plane: TextPlane, azimuth: float) -> None:
    """Boxes before, behind, beside and below the plane, none through it: every pixel away from an edge has the right colour."""
    rng = np.random.default_rng(7)
    normal = np.cross(plane.along, plane.up)
    origin: list[NDArray[np.float64]] = []
    size: list[NDArray[np.float64]] = []
    for low in rng.uniform((-3, -3, 0), (3, 3, 2.2), (60, 3)):
        extent = rng.uniform(0.2, 0.6, 3)
        corners = low + extent * ((np.arange(8)[:, None] >> np.arange(3)) & 1)
        side = (corners - plane.at) @ normal
        apart = all((np.maximum(low - o, o - low) > 0).any() for o in origin)  # distinct
        free = all(((low > o + s) | (low + extent < o)).any() for o, s in zip(origin, size, strict=True))
        if (side.min() > 0.02 or side.max() < -0.02) and apart and free:
            origin.append(low)
            size.append(extent)
    assert len(origin) > 12
    camera = Camera.orbit((0, 0, 1), 9, azimuth, 25)
    picture = render(world(Boxes.of(origin, size, (1.0, 0.0, 0.0), edge=0.0), plane), camera)
    sure, near = meets_plane(plane, camera, -0.06)
    maybe, _ = meets_plane(plane, camera, 0.06)
    boxes = meets_boxes(np.array(origin), np.array(size), camera)
    whole, depth = meets_plane(plane, camera, 0.0)
    kind = np.where(whole & (depth < boxes), 2, np.where(np.isfinite(boxes), 1, 0))
    settled = np.ones_like(sure)
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            settled &= np.roll(kind, (dy, dx), (0, 1)) == kind
    in_front, behind = sure & settled & (near < boxes - 0.05), sure & settled & (boxes < near - 0.05)
    assert in_front.sum() > 400 and (behind.sum() > 20 or azimuth)
    bare = ~maybe & ~np.isfinite(boxes) & settled
    wrong = [
        (picture[in_front].min(-1) < 240).mean(),
        (picture[behind][:, 1] > 15).sum() / len(picture[behind]),
        (picture[bare] > 15).mean(),
    ]
    assert max(wrong) < 0.01, wrong  # slivers and seams between the rays of two pixels


def test_text_is_written_upon_what_lies_in_its_plane() -> None:
    slab = Boxes.of([(-2, -2, 0)], (4, 4, 0.5), (1, 0, 0))
    line = Ribbons.of([(-2, -0.4, 0.505)], [(2, -0.4, 0.505)], 0.2, (1, 0, 0))
    plane = TextPlane.lying(SOLID, WHITE, (-1.5, -0.6, 0.505), 0.8)
    inside, _ = meets_plane(plane, VIEW, -0.06)
    assert inside.sum() > 300 and (render(world(slab, line, plane))[inside].min(-1) > 240).all()


@pytest.mark.parametrize(("distance", "elevation"), [(9.0, 30.0), (30.0, 20.0), (12.0, 6.0)])
def test_small_and_grazing_text_keeps_its_ink(distance: float, elevation: float) -> None:
    """The light on the frame is that of the letters' area on the screen: nothing is dropped between samples."""
    text = "0.95 of the load path"
    font = load_font(WHITE.font, 1000)
    sheet = Image.new("L", (20000, 1600))
    ImageDraw.Draw(sheet).text((0, 0), text, font=font, fill=255)
    share = np.asarray(sheet, float).sum() / 255 / 1000**2  # square em
    cap = -font.getbbox("H", anchor="ls")[1] / 1000
    plane = TextPlane.lying(text, WHITE, (0, 0, 0.01), 0.3, align="centre")
    camera = Camera.orbit((0, 0.1, 0), distance, 0, elevation)
    drawn = render(world(plane), camera)[..., 1].sum() / 254.9
    a, b, c = camera.project([(0, 0.1, 0.01), (0.05, 0.1, 0.01), (0, 0.15, 0.01)], WIDTH, HEIGHT)[:, :2]
    pixels = abs(np.linalg.det([b - a, c - a])) / 0.05**2  # px for a square unit of the floor there
    assert drawn == pytest.approx(share * (0.3 / cap) ** 2 * pixels, rel=0.06)


def test_text_does_not_shimmer_as_the_camera_creeps() -> None:
    """480 lines, the camera moving by tenths of a pixel: ink comes and goes by less than a fiftieth."""
    plane = TextPlane.standing("HBM3e 4.8 TB/s", WHITE, (0, 0, 0.5), 0.12, align="centre")
    total = [render(world(plane), Camera((x, -9, 1.2), (x, 0, 0.6)), 854, 480)[..., 1].sum() for x in np.linspace(0, 0.02, 11)]
    assert (max(total) - min(total)) / np.mean(total) < 0.02


def test_letters_read_at_480_lines_as_sharp_as_flat_type() -> None:
    """Seen straight on, at the size of a label, the plane's picture is that of the font at that size."""
    camera = Camera((0, -10, 1), (0, 0, 1))
    unit = 480 / 2 / np.tan(np.radians(16)) / 10  # px a world unit
    font = load_font(WHITE.font, 25)
    plane = TextPlane.standing("Shared L2", WHITE, (0, 0, 1), 1.0)
    plane = replace(plane, height=font.getlength("Shared L2") / unit / plane.width)
    picture = render(world(plane), camera, 854, 480)[..., 1]
    sheet = Image.new("L", (854, 480))
    ImageDraw.Draw(sheet).text((427, 240), "Shared L2", font=font, fill=255, anchor="ls")
    flat = np.asarray(sheet, float)
    assert np.corrcoef(picture.ravel(), flat.ravel())[0, 1] > 0.93
    assert picture.max() > 235


def test_the_back_is_not_seen_and_the_edge_fades() -> None:
    plane = TextPlane.standing(SOLID, WHITE, (0, 0, 0.5), 0.8, align="centre")

    def ink(azimuth: float) -> float:
        area = meets_plane(
            replace(plane, align="left", at=(-plane.width / 2, 0, 0.5)), Camera.orbit((0, 0, 1), 9, azimuth, 5), 0
        )
        return float(render(world(plane), Camera.orbit((0, 0, 1), 9, azimuth, 5))[..., 1].sum() / 255 / max(1, area[0].sum()))

    assert ink(180.0) == 0.0 and ink(91.0) == 0.0
    assert ink(0.0) == pytest.approx(1.0, abs=0.03) and 0.0 < ink(88.5) < ink(86.5) < 0.9


def test_ink_that_emits_is_taken_by_the_bloom() -> None:
    lit = TextPlane.standing("GLOW", HEADLINE.coloured((1.0, 0.69, 0.0)), (0, 0, 0.5), 0.9, align="centre")
    bright, plain = (
        render(replace_light(world(lit.shown(1.0, e))), Camera((0, -9, 1), (0, 0, 1)), flat=False) for e in (1.0, 0.0)
    )
    around = np.s_[40:70, 110:210]
    assert (bright[around] - plain[around]).mean() > 3


def replace_light(shown: World) -> World:
    shown.light = Light()
    return shown


def test_texts_are_written_once_and_frames_repeat() -> None:
    shown = [TextPlane.standing(f"{k} TB/s", WHITE, (0, 0, 0.4 * k), 0.3) for k in range(4)]
    first = render(world(*shown))
    before = planes._texture.cache_info().misses
    render(world(*shown), Camera.orbit((0, 0, 1), 8, 5, 10))
    assert (render(world(*shown)) == first).all() and planes._texture.cache_info().misses == before


@pytest.mark.parametrize(
    "change", [{"height": 0.0}, {"along": (0.0, 0.0, 2.0)}, {"at": (float("nan"), 0.0, 0.0)}, {"height": float("nan")}]
)
def test_a_plane_without_height_or_span_is_refused_in_one_line(change: dict[str, object]) -> None:
    with pytest.raises(PlaneError, match="expected a height above 0 and two directions that span a plane"):
        replace(STANDING, **change)  # type: ignore[arg-type]


def test_a_figure_on_a_plane_is_a_claim_only_where_it_is_seen() -> None:
    shown = figure(Reading("roofs.l2", Quantity(7.9, "TB/s", "measured"), Device("NVIDIA Test", "test"), "test-file"), 1)
    plane = replace(TextPlane.standing("7.9 TB/s", WHITE, (0, 0, 1), 0.4, align="centre"), figure=shown)
    front, back, aside = (Camera((0, y, 1), (x, 0, 1)) for x, y in ((0, -9), (0, 9), (20, -9)))
    for camera, found in ((front, [shown]), (back, []), (aside, [])):
        assert planes.seen_figures([plane], camera, WIDTH, HEIGHT) == found
    assert planes.seen_figures([plane.shown(0.02)], front, WIDTH, HEIGHT) == []
