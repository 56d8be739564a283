"""The stage reel: its rows fill their bars, every element is in the picture, its figures are claims, bad names are told."""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from click.testing import CliRunner
from manim import tempconfig
from numpy.typing import NDArray

import roofline
from audio import tracks
from measure.dataset import Dataset
from scenes import film
from scenes.film import Row, UnknownSceneError
from scenes.props.chip import Chip
from scenes.reel.element import Element
from scenes.reel.order import ELEMENTS, ORDER, OTHER_GPU
from scenes.render import content
from scenes.render.plan import choose, plan
from scenes.render.quality import QUALITIES
from scenes.stage.digits import Counter
from scenes.stage.layout import Labels
from scenes.stage.overlay import Run, Text
from scenes.stage.passage import Context, Window
from scenes.stage.trail import Trail
from scenes.stage.transitions.cut import KINDS
from scenes.stage.type import HEADLINE, NUMBER
from scenes.stage.ways import Packets
from scenes.stage.world import World

HELPERS = Path(__file__).parent / "helpers"
sys.path.insert(0, str(HELPERS))
import laid_out  # noqa: E402
from staging import small_frames  # noqa: E402
from staging import staged as keyed  # noqa: E402

WIDTH, HEIGHT = 480, 270
SONG = tracks.default().timeline
REEL = pytest.mark.parametrize("row", ORDER, ids=lambda row: row.name)
HERE = Path(__file__).parent


def beside(name: str) -> ModuleType:
    """Another test module of this folder: the rules that it holds the film to hold for the reel too."""
    spec = importlib.util.spec_from_file_location(f"{name}_for_the_reel", HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def staged(name: str, spec: str = "nvidia-h200") -> Element:
    """A passage that has been keyed, without its transitions, ready to paint any frame."""
    row = film.row(name)
    with tempconfig({"pixel_width": WIDTH, "pixel_height": HEIGHT, "frame_rate": 30}):
        scene = row.load()(Context(Dataset.open([spec]), SONG, row.first_bar, row.bars), Window(0, 0))
        scene.setup()
        scene.construct()
    assert isinstance(scene, Element)
    return scene


def world(scene: Element, beat: float) -> World:
    shown = World()
    for prop in scene.props:
        prop.draw(shown, beat)
    return shown


def painted(scene: Element, beat: float) -> NDArray[np.uint32]:
    pixels = np.zeros((HEIGHT, WIDTH), np.uint32)
    scene.paint(scene.clock.frame(beat), pixels)
    return pixels


# ---- the order ---------------------------------------------------------------------------------------------------------


def test_the_rows_fill_their_bars_without_a_gap() -> None:
    bars = [bar for row in ORDER for bar in range(row.first_bar, row.first_bar + row.bars)]
    assert bars == list(range(ORDER[0].first_bar, SONG.bars + 1))
    assert len({row.name for row in ORDER} | {row.name for row in film.FILM}) == len(ORDER) + len(film.FILM)


@pytest.mark.parametrize("letter", ["l", "h"])
def test_its_segments_are_every_frame_of_those_bars_and_take_45_to_70_seconds(letter: str) -> None:
    quality = QUALITIES[letter]
    segments = plan(ORDER, SONG, quality)
    assert all(a.last == b.first for a, b in pairwise(segments))
    assert segments[0].first == round(SONG.time(ORDER[0].first_bar) * quality.fps)
    assert segments[-1].last == round(SONG.duration * quality.fps)
    assert 45 <= sum(segment.frames for segment in segments) / quality.fps <= 70


def test_every_transition_is_used_once() -> None:
    assert ORDER[0].transition is None
    assert sorted(row.transition.kind for row in ORDER[1:] if row.transition) == sorted(KINDS)


def test_a_row_is_found_with_its_own_neighbours() -> None:
    first, second = ORDER[:2]
    assert film.neighbours(second) == (first, ORDER[2]) and film.neighbours(first)[0] is None
    assert film.neighbours(film.row("roof-4"))[1] == film.row("curriculum")  # the film has a row in the same bars
    assert film.row_of(second.load()) == second


def test_the_film_s_scenes_do_not_depend_on_the_reel() -> None:
    assert not any("reel" in module for row in film.FILM for module in content.closure((row.module, content.SEGMENT_CODE)))
    assert "scenes.stage.trail" in content.closure((film.row("reel-trails").module,))


def test_another_gpu_s_file_belongs_to_the_row_that_shows_it() -> None:
    named = [row for row in ORDER if row.files]
    assert [row.name for row in named] == ["reel-boards"] and named[0].files[0].split()[0] == OTHER_GPU


# ---- the elements ------------------------------------------------------------------------------------------------------


def has_text(scene: Element, kind: type, size: float = 0.0) -> bool:
    return any(isinstance(item, kind) and getattr(getattr(item, "style", None), "size", size) >= size for item in scene.texts)


def has_prop(scene: Element, kind: type) -> bool:
    return any(isinstance(getattr(prop, "chip", prop), kind) for prop in scene.props)


def spread(values: NDArray[np.float32]) -> int:
    return len(np.unique(np.round(values, 3), axis=0))


def azimuths(scene: Element) -> NDArray[np.float64]:
    cameras = [scene.view(beat) for beat in np.arange(0.0, 16.0, 0.5)]
    return np.unwrap([np.arctan2(*(np.subtract(camera.eye, camera.target)[:2] * (1, -1))) for camera in cameras])


def distances(scene: Element) -> list[float]:
    cameras = [scene.view(float(beat)) for beat in range(17)]
    return [float(np.linalg.norm(np.subtract(camera.eye, camera.target))) for camera in cameras]


def travel(scene: Element) -> float:
    """How far along x the camera's target goes: a dolly, not a turn on the spot."""
    return abs(scene.view(16.0).target[0] - scene.view(0.0).target[0])


def speeds(scene: Element) -> NDArray[np.float64]:
    eyes = np.array([scene.view(beat).eye for beat in np.arange(4.0, 8.0, 0.05)])
    return np.asarray(np.linalg.norm(np.diff(eyes, axis=0), axis=1))


def shadow_closes(scene: Element) -> bool:
    """A box that casts a shadow hangs over the floor, and stands on it later."""
    high, low = (world(scene, beat).all_boxes().origin[:, 2] for beat in (5.0, 15.0))
    return bool(high.max() > 1.0 and low.max() < 1e-6)


def some_are_hidden(scene: Element) -> bool:
    """The same picture without its boxes shows more of the trails' colour: some of them stood before the trails."""
    scene.props, whole = [prop for prop in scene.props if type(prop).__name__ != "Pillars"], scene.props
    try:
        bare = painted(scene, 9.0)
    finally:
        scene.props = whole
    magenta = [int(((p & 255 > 150) & (p >> 8 & 255 < 80) & (p >> 16 & 255 > 130)).sum()) for p in (painted(scene, 9.0), bare)]
    return magenta[1] > magenta[0] > 20


def sung(scene: Element) -> bool:
    painted(scene, 3.0)
    return {"lyric", "lyric-lit"} <= {box.kind for box in scene.placed}


def dithered(scene: Element) -> bool:
    """A dark gradient keeps its mean between two steps of a byte: neighbouring pixels of the sky differ, by one step."""
    sky = (painted(scene, 9.0) >> 8 & 255).astype(int)[4:34, 150:330]
    steps = np.abs(np.diff(sky, axis=1))
    return bool(steps.max() <= 2 and 0.05 < (steps > 0).mean() < 0.95)


EVIDENCE: dict[str, Callable[[Element], bool]] = {
    "voxels": lambda s: min(spread(getattr(world(s, 9.0).all_boxes(), k)) for k in ("size", "color", "emission")) > 50,
    "board and chip": lambda s: has_prop(s, Chip) and len({c.chip.device.name for c in s.props if hasattr(c, "chip")}) == 3,
    "packets": lambda s: has_prop(s, Packets),
    "ribbons": lambda s: len(set(world(s, 5.0).all_ribbons().floor.tolist())) == 2,
    "trails": lambda s: has_prop(s, Trail),
    "sprites": lambda s: len(world(s, 5.0).all_sprites().position) > 3,
    "text planes": lambda s: len(world(s, 5.0).planes) > 9,
    "occlusion": some_are_hidden,
    "ground and horizon": lambda s: world(s, 5.0).ground is not None,
    "mirror": lambda s: getattr(world(s, 5.0).ground, "reflect", 0.0) > 0.5,
    "fog": lambda s: world(s, 5.0).all_boxes().origin[:, 1].max() > 0.5 * world(s, 5.0).fog.end,
    "contact shadow": shadow_closes,
    "bloom": lambda s: world(s, 9.0).light.bloom > 0 and spread(world(s, 9.0).all_boxes().color[:5]) == 3,
    "dithering": dithered,
    "camera dolly": lambda s: travel(s) > 20.0,
    "camera orbit": lambda s: bool(np.degrees(np.ptp(azimuths(s))) > 60.0),
    "camera dive": lambda s: max(distances(s)) > 2.5 * min(distances(s)),
    "camera breath": lambda s: bool(speeds(s).min() > 0.0 and speeds(s).max() > 1.3 * speeds(s).min()),
    "headline": lambda s: has_text(s, Text, HEADLINE.size),
    "label": lambda s: has_text(s, Labels),
    "number": lambda s: has_text(s, Counter, NUMBER.size),
    "code": lambda s: has_text(s, Run),
    "lyric": sung,
    "live digits": lambda s: has_text(s, Counter),
    "label layout": lambda s: has_text(s, Labels),
    "claims": lambda s: painted(s, 9.0) is not None and len(s.log.claims) > 1,
}  # fmt: skip


def test_every_element_of_the_list_is_shown_and_nothing_else_is_named() -> None:
    shown = [name for row in ORDER for name in row.load().shows]  # type: ignore[attr-defined]
    assert set(shown) == set(ELEMENTS) == {*EVIDENCE, *KINDS}


@pytest.mark.parametrize("element", ELEMENTS)
def test_an_element_is_there_where_it_is_said_to_be(element: str) -> None:
    rows = [row for row in ORDER if element in row.load().shows]  # type: ignore[attr-defined]
    assert rows
    for row in rows:
        if element in KINDS:
            assert row.transition is not None and row.transition.kind == element
        else:
            assert EVIDENCE[element](staged(row.name)), row.name


# ---- frames ------------------------------------------------------------------------------------------------------------


@REEL
@pytest.mark.parametrize("spec", ["nvidia-h200", "rtx-3090-published", "hgx-h100-published"])
def test_frames_are_drawn_from_any_measurements(row: Row, spec: str) -> None:
    scene = staged(row.name, spec)
    frames = [painted(scene, beat) for beat in (3.0, 9.0)]
    assert all((frame & 0xFFFFFF).any() for frame in frames) and (frames[0] != frames[1]).any()


@REEL
def test_a_frame_is_the_same_whatever_was_drawn_before_it(row: Row) -> None:
    scene = staged(row.name)
    once = painted(scene, 6.5)
    painted(scene, 12.0)
    assert (painted(scene, 6.5) == once).all()


@REEL
def test_every_figure_is_the_file_s_as_rounded(row: Row) -> None:
    scene, data = staged(row.name), Dataset.open(["nvidia-h200"])
    for beat in (3.0, 7.0, 11.0, 15.0):
        painted(scene, beat)
    for claim in scene.log.claims:
        reading = data.get(claim.key)
        assert reading is not None and reading.quantity.source == claim.source
        exact = Decimal(repr(reading.quantity.value * claim.scale))
        assert Decimal(claim.numeral) == exact.quantize(Decimal(1).scaleb(-claim.digits), rounding=ROUND_HALF_EVEN)
    expected = {"reel-boards": "device.sm_count", "reel-packets": "roofs.dram.measured"}.get(row.name)
    assert expected is None or expected in {claim.key for claim in scene.log.claims}


def test_no_measured_figure_is_typed_in() -> None:
    rules = beside("test_claims")
    for path in sorted(Path(film.__file__).with_name("reel").glob("*.py")):
        assert not rules.typed_numbers(path.read_text()), path.name


@REEL
def test_every_second_beat_is_laid_out(row: Row) -> None:
    """As the film's scenes."""
    with small_frames(laid_out.WIDTH, laid_out.HEIGHT):
        scene = keyed(row, "nvidia-h200", timeline=SONG)
    _, found = laid_out.over(scene, np.arange(1.0, scene.clock.beats, 2.0))
    assert not found, "\n".join(found)


# ---- names -------------------------------------------------------------------------------------------------------------


def test_the_reel_s_name_stands_for_all_of_it_and_a_scene_s_for_one() -> None:
    assert choose(["stage-reel"]) == ORDER == film.order_with(["stage-reel"])
    assert choose(["reel-boards"]) == (ORDER[1],) and film.order_with(["reel-boards"]) == ORDER
    assert film.order_with([]) == film.order_with(["title"]) == film.FILM


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("render", "stage-rel"), ("no scene 'stage-rel'", "did you mean 'stage-reel'")),
        (("render", "title", "reel-boards"), ("title and reel-boards", "different films")),
        (("still", "stage-reel", "1"), ("a film of 7 scenes", "reel-voxels")),
        (("still", "reel-boards", "5"), ("reel-boards bar 5", "bars 1 to 4")),
    ],
)
def test_a_bad_name_gets_one_line(arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(roofline.main, list(arguments))
    assert done.exit_code == 2 and len(done.output.strip().splitlines()) == 1
    assert all(word in done.output for word in words)


def test_a_film_is_no_scene() -> None:
    with pytest.raises(UnknownSceneError, match="its scenes are reel-voxels"):
        film.row("stage-reel")
