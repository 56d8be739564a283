"""Warps: a block's threads stand in warps of 32; one instruction moves all 32 at once; each scheduler issues to one warp."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from scenes.props.cube import Cube
from scenes.props.issue import FRONT, Ranks, Scheduler, at_work, schedulers_of, struck
from scenes.props.seats import Hall
from scenes.props.signs import Sign, Signs
from scenes.props.warp import LANES, WIDTH, Press, Row, Warp, march
from scenes.stage.camera import Camera
from scenes.stage.claims import figure
from scenes.stage.keys import Path, Track, arrive, overshoot, ramp
from scenes.stage.overlay import Item, Number, Text
from scenes.stage.passage import Passage, Scenery
from scenes.stage.plane import TextPlane
from scenes.stage.type import FACT, NUMBER, SMALL
from scenes.stage.world import Fog, Ground, Light, World

STRIDE = 1.6  # a step of the march, in lanes
GOAL = 3.2  # y that our warp comes to: where the next passage's march begins
SIGN = 1.3  # height of the warps' signs, world units
WARPS = 8  # of the block, where no record tells how many threads its blocks have
MOST = 16  # warps of a block that can be looked at
# What the index kernel does (kernels/traces/index.cu), an instruction for each turn of our warp.
WORDS = ("read block number", "times block size", "add own place", "compare with n", "form address", "store number")
LEFT, BIG, FINE = 96, 258, 310  # places of the figures, design pixels
HERE = (4.6, GOAL - 2.2, 1.6, 27.0, 54.0, 8.0)  # the camera as the next passage takes it over, and where it is a bar later
THERE = (2.4, -1.4, 1.7, 33.0, 40.0, 10.0)


class Warps(Passage):
    """Bar 1: a block falls into warps.  Bar 2: each steps as one.  Bar 3: cards fall, one a scheduler.  Bar 4: ours alone."""

    name: ClassVar[str] = "warps"
    title: ClassVar[str] = "WARPS"
    chapter: ClassVar[str] = "CUDA for Deep Learning, Ch. 3"
    bars: ClassVar[int] = 4

    def construct(self) -> None:
        self.falls, self.steps, self.cards, self.alone = self.at(1, 3), self.at(2), self.at(3), self.at(4)
        self.schedulers = schedulers_of(self.data.device.compute_capability)
        self.ranks = Ranks(self._warps(), self.schedulers or FRONT, Track(0.0).to(1.0, self.falls, 0.8, overshoot))
        self.first = int(self.cards)
        self.prop(Scenery(self._light))

        # Every warp of the block; ours stands in front.  Theirs go when ours walks on.
        self.hero = Hall.of(self.data).thread % LANES
        self.warps = [self._warp(k) for k in range(self.ranks.warps)]
        self.prop(*self.warps)
        ours = self.warps[0]
        cube = self.prop(Cube(ours.seat, WIDTH))

        # Bar 3: a scheduler at the end of its warps; each beat it serves one of them, and a card lands on all lanes at once.
        if self.schedulers:
            rise = Track(0.0).to(1.0, self.cards - 0.5, 0.7, overshoot).to(0.0, self.alone - 0.4, 0.5)
            for group in range(self.schedulers):
                self.prop(Scheduler(partial(self._middle, group), rise, self._issued(group), partial(self._served, group)))
        self._issue()

        # Names and figures; then the camera ends where the next passage begins.
        self._name(cube)
        self._tell()
        self.camera_at = self._fly()
        self.finish()

    def _warps(self) -> int:
        """Warps of a block: as in the recorded launch, where that is a number that can be looked at."""
        trace = self.data.launch_trace()
        warps, rest = divmod(trace.value.threads, LANES) if trace else (WARPS, 0)
        return warps if rest == 0 and 4 <= warps <= MOST else WARPS

    # ---- what the warps do ------------------------------------------------------------------------------------------------

    def _turns(self, k: int) -> list[int]:
        """Beats of the third bar on which a warp is issued an instruction; nobody but ours where no schedulers are known."""
        if self.schedulers:
            return self.ranks.turns(k, self.first, self.first + 3)
        return [self.first, self.first + 2] if k == 0 else []

    def _warp(self, k: int) -> Warp:
        """One of the block's; the others step half a beat after ours where they stand behind it: only a warp is in lockstep."""
        late = 0.5 * (k % 2)

        def y(beat: float) -> float:
            return self._front(beat - late if beat < self.cards else beat) + self.ranks.behind(k, beat)

        def z(beat: float) -> float:
            return self._walk(beat - late)[1] if beat < self.cards else self._walk(beat)[1] * float(k == 0)

        up = Track(0.15).to(1.0, 0.25 + 0.06 * k, 0.5, overshoot)
        steps = [self.steps + late + n for n in range(4)]
        if k == 0:
            landings = [*range(int(self.steps), int(self.steps) + 4), *range(int(self.alone), int(self.clock.beats) + 1)]
            work = at_work(self._turns(0), steps, self.alone)
            return Warp(Row(y=y, z=z), work, self.hero, struck([*landings, *self._turns(0)]), up)
        up.to(0.0, self.alone + 0.3 + 0.04 * k, 0.8)
        return Warp(Row(y=y, z=z), at_work(self._turns(k), steps), -1, struck(self._turns(k)), up)

    def _walk(self, beat: float) -> tuple[float, float]:
        """Way walked and height over the floor: four steps in the second bar; in the fourth one a beat, the last at its end."""
        steps = int(self.steps)
        if beat < self.cards:
            return march(beat, steps, steps + 3, STRIDE)
        way, high = march(beat, self.alone, self.clock.beats, STRIDE)
        return 4 * STRIDE + way, high

    def _front(self, beat: float) -> float:
        """y of our warp."""
        return GOAL + STRIDE * (4 + self.clock.beats - self.alone + 1) - self._walk(beat)[0]

    def _middle(self, group: int, beat: float) -> float:
        """y of the middle of a scheduler's warps."""
        return self._front(beat) + self.ranks.middle(group, beat)

    def _issued(self, group: int) -> list[int]:
        """Beats of the third bar on which a scheduler issues."""
        rows = range(group * self.ranks.each, min((group + 1) * self.ranks.each, self.ranks.warps))
        return sorted(beat for k in rows for beat in self._turns(k))

    def _served(self, group: int, beat: float) -> float:
        """y of the warp that a scheduler serves on the beat next to this one."""
        return self._front(beat) + self.ranks.behind(self.ranks.served(group, round(beat - 0.2), self.first), beat)

    def _issue(self) -> None:
        for k, warp in enumerate(self.warps):
            words = iter(WORDS)
            beats = [*self._turns(k), *(range(int(self.alone), int(self.clock.beats)) if k == 0 else ())]
            for beat in beats:
                said = next(words, "") if k == 0 else ""
                tall, hang = (1.9 if beat < self.alone else 1.3, 1.35) if said else (0.55, 1.2)
                card = self.prop(Press(warp, float(beat), lambda now: (-LANES / 2, LANES / 2), tall, hang, 0.4))
                if said:
                    self.text(Text(said, FACT, 0, 15, "centre", card.shown, card.face))

    # ---- what is written --------------------------------------------------------------------------------------------------

    def _name(self, cube: Cube) -> None:
        """How many warps a group has, which ones is not documented, beside its rows; the lane of our thread over its cube."""
        signs: list[Sign] = []
        each, last = self.ranks.each, self.ranks.warps - 1
        for group, first in enumerate(range(0, last + 1, each)):
            shown = Track(0.0).to(1.0, self.falls + 0.2 * group, 0.3, arrive).to(0.0, self.cards - 0.7, 0.3)
            to = min(first + each - 1, last)
            words = f"{to - first + 1} warp{'s' if to > first else ''}"

            def standing(beat: float, group: int = group, words: str = words) -> TextPlane:
                place = (LANES / 2 + 1.2, self._middle(group, beat) - 0.5, 0.1)
                return TextPlane.standing(words, FACT, place, SIGN, 12.0)

            signs.append((standing, shown))
        self.prop(Signs(signs))
        lane = Track(0.0).to(1.0, self.falls + 0.6, 0.3, arrive).to(0.0, self.cards - 0.9, 0.3)
        self.text(Text(f"our thread, lane {self.hero}", FACT, 0, -12, "centre", lane, at=lambda beat: cube.top(beat, 0.25)))

    def _tell(self) -> None:
        """A block; how many threads a warp has; how schedulers issue; and the whole idea once more."""
        block = Track(0.0).to(1.0, 0.6, 0.3, arrive).to(0.0, self.falls - 0.1, 0.3)
        self.text(Text(f"a block of {len(self.warps) * LANES} threads", FACT, LEFT, BIG, opacity=block))
        shown = Track(0.0).to(1.0, self.falls + 0.25, 0.3, arrive).to(0.0, self.cards - 0.2, 0.4)

        def size() -> list[Item]:
            shot = figure(self.read("device.warp_size"), 0, "threads")
            words = Text(f"are a warp, {shot.source}", SMALL, LEFT, FINE, opacity=shown)
            return [Number(shot, NUMBER, LEFT, BIG, opacity=shown), words]

        def unknown() -> list[Item]:
            return [Text(f"warp size not known of {self.data.device.name}", SMALL, LEFT, FINE, opacity=shown)]

        self.text_later(shown, size if self.data.has("device.warp_size") else unknown)
        issue = Track(0.0).to(1.0, self.cards, 0.4, arrive).to(0.0, self.alone + 0.3, 0.4)
        if self.schedulers:
            said = "CUDA C++ Programming Guide · a beat: a turn, waits left out · which warps: drawn"
            self.text(Text("each scheduler issues to one warp a cycle, if one is ready", FACT, LEFT, BIG, opacity=issue))
            self.text(Text(said, SMALL, LEFT, FINE, opacity=issue))
        else:
            self.text(Text(f"warp schedulers not known of {self.data.device.name}", SMALL, LEFT, BIG, opacity=issue))
        last = Track(0.0).to(1.0, self.alone + 0.7, 0.3, arrive)
        self.text(Text("one instruction for all its lanes", FACT, LEFT, BIG, opacity=last))

    # ---- the picture ------------------------------------------------------------------------------------------------------

    def _light(self, world: World, beat: float) -> None:
        deep = self.ranks.behind(self.ranks.warps - 1, beat) / 2
        lit = 1.0 - ramp(beat, self.alone, 3.0)
        focus = (0.0, self._front(beat) - 2.0 + (deep + 2.0) * lit)
        world.light = Light(focus=focus, radius=26.0, ambient=0.24, sheen=0.1, bloom=1.5)
        world.fog = Fog(start=48.0 + 14.0 * lit, end=130.0)
        world.ground = Ground(spacing=STRIDE, extent=90.0, reflect=0.9)

    def _fly(self) -> Callable[[float], Camera]:
        """Down on the block, round the warps as they open, along them as the cards fall, low beside ours at the end."""
        y0, y1 = self._front(0.0), self._front(self.cards)
        deep = self.ranks.behind(self.ranks.warps - 1, self.cards)
        far = 0.5 + 0.5 * deep / 21.0  # the further back the block reaches, the further off
        path = Path([
            (0.0, (0.0, y0 + 3.0, 0.2, 36.0, -30.0, 30.0)),
            (self.falls, (2.6, y0 + 0.3 * deep, 0.8, 46.0 * far, -18.0, 25.0)),
            (self.steps, (3.4, y0 + 0.26 * deep, 1.0, 46.5 * far, -6.0, 18.0)),
            (self.at(2, 3), (3.8, self._front(self.at(2, 3)) + 0.24 * deep, 1.2, 46.5 * far, 8.0, 16.0)),
            (self.cards - 0.5, (6.2, y1 + 0.3 * deep, 2.6, 53.5 * far, 4.0, 20.0)),
            (self.at(3, 3), (6.4, y1 + 0.28 * deep, 2.8, 53.5 * far, 11.0, 20.5)),
            (self.at(3, 4), (6.4, y1 + 0.26 * deep, 2.8, 53.5 * far, 15.0, 20.0)),
            (self.alone, (2.5, y1 + 0.16 * deep, 2.9, 43.0, 35.0, 13.0)),
            (self.at(4, 3), (3.8, GOAL + 1.8, 1.7, 31.0, 47.0, 10.0)),
            (self.clock.beats, HERE),
            (self.clock.beats + 2.0, THERE),
        ])  # fmt: skip

        def camera(beat: float) -> Camera:
            x, y, z, distance, azimuth, elevation = path(beat)
            return Camera.orbit((x, y, z), distance, azimuth, elevation, 32.0)

        return camera
