"""A passage: a plain manim.Scene whose picture is a pure function of the frame, written in bars and beats.

`construct()` is a screenplay: it keys tracks, adds props and texts, and moves on with `until`, `hold` and `hit`.  Each of them
plays exact frames of absolute time, so a passage may be rendered whole, from any frame to any frame, or one frame alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
from manim import Animation, Scene, config
from manim.mobject.types.vectorized_mobject import VMobject
from numpy.typing import NDArray

from audio import tracks
from audio.timeline import Timeline
from measure.dataset import Dataset, Owned, Reading
from scenes import film
from scenes.film import Row
from scenes.stage.breath import Breath
from scenes.stage.camera import Camera
from scenes.stage.claims import ClaimLog, decimals, figure
from scenes.stage.clock import Clock, OverrunError
from scenes.stage.hud import Hud, Lamps, Ratio
from scenes.stage.jit import f4
from scenes.stage.keys import Track
from scenes.stage.later import Later
from scenes.stage.lyric import Lyric
from scenes.stage.mobject import StageCamera
from scenes.stage.overlay import VISIBLE, Canvas, Item, Placed, in_order
from scenes.stage.plane import seen_figures
from scenes.stage.raster import Raster
from scenes.stage.transitions.handover import Ends
from scenes.stage.transitions.smear import mixed
from scenes.stage.type import DESIGN_HEIGHT, DESIGN_WIDTH
from scenes.stage.world import World

# Which peak the ratio is of, in the order in which `Roof.best` picks one.
PEAKS = ("measured", "published", "datasheet", "computed")  # sources of a peak, the best first
MEASUREMENTS_VARIABLE, TRACK_VARIABLE = "ROOFLINE_MEASUREMENTS", "ROOFLINE_TRACK"


@dataclass(slots=True)
class Context:
    """What a passage is rendered from: the measurements, the track's timeline and the passage's place in it.

    `row` is its own row of the film, `before` and `after` the rows next to it: with them it draws its transitions.
    """

    dataset: Dataset
    timeline: Timeline
    first_bar: int
    bars: int
    row: Row | None = None
    before: Row | None = None
    after: Row | None = None

    @classmethod
    def of(cls, dataset: Dataset, timeline: Timeline, row: Row, before: Row | None = None, after: Row | None = None) -> Context:
        """For a row of a film and the rows next to it."""
        return cls(dataset, timeline, row.first_bar, row.bars, row, before, after)

    @classmethod
    def default(cls, passage: type[Passage]) -> Context:
        """For `manim scenes/x.py X`: the committed measurements and track, or those named in the environment."""
        names = [name for name in os.environ.get(MEASUREMENTS_VARIABLE, "").split(os.pathsep) if name]
        track = tracks.open(os.environ[TRACK_VARIABLE]) if os.environ.get(TRACK_VARIABLE) else tracks.default()
        row = film.row_of(passage)
        if row is None:
            return cls(Dataset.open(names), track.timeline, 1, min(8, track.timeline.bars))
        return cls.of(Dataset.open(names), track.timeline, row, *film.neighbours(row))


class Prop(Protocol):
    """Something of the 3-D world: adds its batches for a moment, in beats from the passage's start."""

    def draw(self, world: World, beat: float) -> None: ...


class Picture(VMobject):
    """The whole stage as one Mobject: world, then type.  Its only state is the frame it shows."""

    paints_every_pixel = True  # the camera need not copy its background beneath

    def __init__(self, passage: Passage) -> None:
        super().__init__(stroke_width=0.0, fill_opacity=0.0)
        self.set_points_as_corners(np.array([[-7.0, -4.0, 0.0], [7.0, -4.0, 0.0], [7.0, 4.0, 0.0]]))
        self.passage = passage
        self.frame = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> Picture:
        return self

    def draw_batch(self, camera: Any, pixels: NDArray[np.uint8]) -> None:
        self.passage.paint(self.frame, pixels.view(np.uint32)[..., 0])


class Roll(Animation):
    """Shows frames first, first + 1, ... of the picture, one a step."""

    def __init__(self, picture: Picture, first: int, count: int, fps: float) -> None:
        # Manim plays len(arange(0, run_time, 1/fps)) frames; half a frame less is exactly `count` whatever the rounding.
        # One frame is one whole step: Manim warns of anything shorter.
        super().__init__(picture, run_time=max(count - 0.5, 1.0) / fps, rate_func=lambda u: u, suspend_mobject_updating=False)
        self._picture, self.first, self.count, self._fps = picture, first, count, fps

    def interpolate(self, alpha: float) -> None:
        step = round(alpha * self.run_time * self._fps)
        self._picture.frame = self.first + min(step, self.count - 1)

    def clean_up_from_scene(self, scene: Scene) -> None:
        """The picture stays in the scene."""


@dataclass(slots=True)
class Window:
    """Frames of the film to render: first inclusive, last exclusive; None = to the passage's end."""

    first: int | None = None
    last: int | None = None

    def clip(self, first: int, last: int) -> tuple[int, int]:
        return max(first, first if self.first is None else self.first), min(last, last if self.last is None else self.last)


class Passage(Scene):
    """Base of every scene of the film."""

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    chapter: ClassVar[str] = ""
    bars: ClassVar[int] = 8

    def __init__(self, context: Context | None = None, window: Window | None = None, **kwargs: Any) -> None:
        kwargs.setdefault("camera_class", StageCamera)
        super().__init__(**kwargs)
        self.context = context or Context.default(type(self))
        self.window = window or Window()
        self.data = self.context.dataset
        self.timeline = self.context.timeline
        self.fps = float(config.frame_rate)
        written = self.context.row.written if self.context.row else 0
        self.clock = Clock(self.timeline, self.context.first_bar, self.context.bars, self.fps, written)
        self.log = ClaimLog(self.name)
        self.props: list[Prop] = []
        self.texts: list[Item] = []
        self.dim = Track(0.0)  # 1 is black: dips between scenes
        self.hud_shown = Track(1.0)
        self.camera_at: Callable[[float], Camera] = lambda beat: Camera((0.0, -10.0, 6.0), (0.0, 0.0, 0.0))
        self.placed: list[Placed] = []
        self.beat = 0.0
        self._frame = self.clock.start
        self._raster: Raster | None = None
        self._breath: Breath | None = None
        self._shot: NDArray[np.uint32] | None = None
        self._shot_thread = True
        self.ends = Ends(self)
        self._hud: list[Item] = []
        self._picture = Picture(self)

    # ---- the screenplay's words -------------------------------------------------------------------------------------

    def at(self, bar: int, beat: float = 1.0) -> float:
        """The moment of a beat of one of this passage's bars, in beats from its start."""
        return self.clock.moment(bar, beat)

    def prop(self, *props: Any) -> Any:
        """Add things to the world; returns the last, so that it can be named."""
        self.props.extend(props)
        return props[-1]

    def text(self, *items: Any) -> Any:
        """Add texts to the type layer; returns the last."""
        self.texts.extend(items)
        return items[-1]

    def text_later(self, shown: Callable[[float], float], make: Callable[[], Sequence[Item]], yields: bool = False) -> None:
        """Add texts that are made when `shown` first is above 0: what they read, no frame before that depends on."""
        self.texts.append(Later(shown, make, yields))

    def until(self, bar: int, beat: float = 1.0) -> None:
        """Play on to a beat of a bar."""
        self._play_to(self.at(bar, beat), f"bar {bar} beat {beat:g}")

    def hold(self, beats: float) -> None:
        """Play on for a number of beats."""
        self._play_to(self.beat + beats, f"{beats:g} beats after beat {self.beat:g}")

    def hit(self, cue: str) -> None:
        """Play on to a cue of the track."""
        if cue not in self.timeline.cues:
            raise OverrunError(f"{self.name}: the track has no cue {cue!r}; it has {', '.join(sorted(self.timeline.cues))}")
        self._play_to(self.clock.moment_of(self.timeline.position(self.timeline.cues[cue])), f"cue {cue!r}")

    def finish(self) -> None:
        """Play on to the passage's last frame."""
        self._play_to(self.clock.beats, "the end")

    # ---- figures ------------------------------------------------------------------------------------------------------

    def achieved(self) -> Callable[[float], Ratio | None]:
        """The HUD's ratio at a beat of this passage: none, unless the scene is about one and says of what it is."""
        return lambda beat: None

    def rungs_before(self) -> tuple[str, ...]:
        """Names of the GEMM rungs that the film has shown before this passage."""
        seen: list[str] = []
        own = self.context.row  # laid over another track, the rows of the film keep their order, not their bars
        for row in film.FILM:
            if row.name == own.name if own and own.written else row.first_bar >= self.context.first_bar:
                break
            seen.extend(row.rungs)
        return tuple(seen)

    def best_of(self, rungs: tuple[str, ...]) -> Ratio | None:
        """ACHIEVED / PEAK of the fastest verified fp32 rung among some; None where none of them was measured or published."""
        readings = {name: reading for name in rungs if (reading := self.data.achieved("gemm_fp32", name)) is not None}
        owned = self.data.ladder("gemm_fp32")
        if not readings or owned is None:
            return None
        best = max(readings, key=lambda name: readings[name].quantity.value)
        title = next(rung.title for rung in owned.value.rungs if rung.name == best)
        dtype = owned.value.dtype.split(" in")[0]
        digits = decimals(readings[best].quantity.value, 2)
        return Ratio(figure(readings[best], digits, ""), f"{title}, {dtype}", self.peak_note(dtype))

    def read(self, key: str) -> Reading:
        """A reading that `data.has`.  Raises KeyError for one that is absent."""
        if (reading := self.data.get(key)) is None:
            raise KeyError(f"{self.name}: {key} is not in the measurements")
        return reading

    def footer(self, owner: Dataset | Owned[Any] | None = None) -> str:
        """Whose figures these are, and of which day or published, for the HUD's bottom line: the first file's, or `owner`'s."""
        whose = owner or self.data
        return f"{whose.device.name} · {f'measured {whose.run.date[:10]}' if whose.run else 'published figures'}"

    def peak_note(self, dtype: str = "fp32") -> str:
        """Which peak a ratio is of: fp32's; of another type on the same units, the peak is named by its units."""
        of = "fp32" if dtype == "fp32" else "CUDA cores'"
        return next((f"of the {of} peak, {name}" for name in PEAKS if self.data.has(f"roofs.fp32.{name}")), "no peak known")

    # ---- frames -------------------------------------------------------------------------------------------------------

    def setup(self) -> None:
        """Manim calls this before construct()."""
        config.disable_caching = True  # Manim's cache key sees neither the stage's code nor the measurements

        def hud_shown(beat: float) -> float:
            return self.hud_shown(beat) * self.ends.hud(beat)

        achieved = self.achieved()
        self._hud = [
            Later(hud_shown, lambda: [Hud(self.title, self.chapter, self.footer(), achieved, hud_shown)]),
            Lyric(self.timeline, 1.0 / self.fps),
            Lamps(self.clock),
        ]
        self.add(self._picture)

    def tear_down(self) -> None:
        """Manim calls this after construct(): a screenplay that ends early leaves its last picture moving to the end."""
        if self._frame < self.clock.end:
            self.finish()

    def _play_to(self, moment: float, goal: str) -> None:
        if (target := self.clock.frame(moment)) < self._frame or moment < self.beat - 1e-9:
            raise OverrunError(
                f"{self.name}: {goal} is frame {target}, but the screenplay is already at frame {self._frame} "
                f"(beat {self.beat:g} of {self.clock.beats:g})"
            )
        if moment > self.clock.beats + 1e-9:
            raise OverrunError(f"{self.name}: {goal} is past the passage's {self.clock.beats:g} beats")
        first, last = self.window.clip(self._frame, target)
        if last > first and self._shot is not None:
            self.paint_stage(first, self._shot, self._shot_thread)
        elif last > first:
            self.play(Roll(self._picture, first, last - first, self.fps))
        self._frame, self.beat = target, moment

    def paint(self, frame: int, pixels: NDArray[np.uint32]) -> None:
        """Draw a frame of the film into pixels (H, W) RGBA; depends on nothing but the frame."""
        canvas = self.ends.paint(frame, pixels)
        for item in self._hud:
            item.draw(canvas)
        self.placed = canvas.placed

    def paint_stage(self, frame: int, pixels: NDArray[np.uint32], thread: bool = True) -> Canvas:
        """Draw a frame's world and its texts, without transition and head-up display; without the thread's cube if so asked."""
        height, width = pixels.shape
        if self._raster is None or (self._raster.width, self._raster.height) != (width, height):
            self._raster = Raster(width, height)
        beat = self.clock.at_frame(frame)
        world = World()
        for prop in self.props:
            if thread or not getattr(prop, "is_thread", False):
                prop.draw(world, beat)
        camera = self.view(beat)
        self._raster.render(world, camera, pixels)
        for shown in seen_figures(world.planes, camera, width, height):
            self.log.saw(shown, frame)
        canvas = Canvas(pixels, frame, beat, lambda points: camera.project(points, width, height), self.log)
        dark = self.dim(beat)
        if dark > 0.003:
            canvas.shade(0, 0, DESIGN_WIDTH + 2, DESIGN_HEIGHT + 2, dark)
        self._letter(canvas, beat)
        return canvas

    def _letter(self, canvas: Canvas, beat: float) -> None:
        """Draw the scene's texts, as far as a transition leaves them."""
        shown = self.ends.letters(beat)
        if shown <= VISIBLE:
            return
        bare = canvas.pixels.copy() if shown < 1.0 else None
        for item in in_order(self.texts):
            item.draw(canvas)
        if bare is not None:
            mixed(bare, canvas.pixels, f4(shown), canvas.pixels)

    def view(self, beat: float) -> Camera:
        """The camera at a moment: as keyed in `camera_at`, breathing with the music, and with its transitions' travel."""
        if self._breath is None or self._breath.keyed is not self.camera_at:
            self._breath = Breath(self.camera_at, self.timeline, self.clock.origin, self.clock.beats)
        return self.ends.move(self._breath(beat), beat)

    def pinned(self, beat: float, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Points of the world (N, 3) as design pixels and depth at a beat: for planning labels."""
        return self.view(beat).project(points, DESIGN_WIDTH, DESIGN_HEIGHT)

    def shoot(self, frame: int, width: int, height: int, thread: bool = True) -> NDArray[np.uint32]:
        """One frame's `paint_stage`, (height, width) uint32, by playing the screenplay; for a passage not yet played."""
        self.window, self._shot, self._shot_thread = Window(frame, frame + 1), np.zeros((height, width), np.uint32), thread
        self.setup()
        self.construct()
        self.tear_down()
        return self._shot


@dataclass(slots=True)
class Scenery:
    """Light, fog and ground of a passage as a prop: `setup(world, beat)` is called first each frame."""

    arrange: Callable[[World, float], None] = field(default=lambda world, beat: None)

    def draw(self, world: World, beat: float) -> None:
        self.arrange(world, beat)
