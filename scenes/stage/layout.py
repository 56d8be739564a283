"""Labels of points of the world: where each stands is planned over the whole passage, so that none collides and none jumps.

For every label the plan is the cheapest path through a set of places around its point (Viterbi 1967): a place costs more the
nearer it is to HUD, lyric line, border, other texts and labels planned before it, and so does leaving a place for another. The
plan knows the whole passage before its first frame; where a label stands is then a pure function of the beat.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scenes.stage.claims import Figure
from scenes.stage.keys import smooth
from scenes.stage.overlay import APART, KEPT_CLEAR, SAFE, VISIBLE, Canvas, Placed, Point, Value, apart, clearance, value_at
from scenes.stage.palette import QUIET, Colour
from scenes.stage.type import Style, measure_text

Floats = NDArray[np.float64]
View = Callable[[float, Floats], Floats]  # beat, points (N, 3) -> design pixels and depth (N, 3)
Avoid = Callable[[float], Sequence[tuple[float, float, float, float]]]

STEP = 0.25  # beats between two samples of the plan
GLIDE = 2.0  # beats that a label takes from one place to another
AIR = 30.0  # design pixels kept between a label and anything else where there is room
LEADER_AIR = 6.0  # between a leader and another text
LEADING = 14.0  # between two lines of a label
RESERVED = "reserved"
NEAREST = 0.3  # depth at which a point counts as behind the camera
REACHES = (44.0, 84.0, 140.0, 210.0, 300.0)  # from the point to the label, design pixels
WAYS = tuple((math.cos(math.radians(a)), -math.sin(math.radians(a))) for a in (40, 140, 90, 12, 168, -40, 220, -90))
PLACES = tuple((x * reach, y * reach) for reach in REACHES for x, y in WAYS)  # the plan likes earlier ones better
BLOCKED, CROSSED, CROWDED = 400.0, 300.0, 3.0  # costs of a sample: on something, its leader over something, near something
MOVED, FURTHER = 60.0, 0.12  # costs of a move by 100 px, of each place further down the list


@dataclass(frozen=True, slots=True)
class Label:
    """Lines of text for a point of the world, the first on top; figures among them are logged as claims."""

    lines: Sequence[tuple[str | Figure, Style]]
    at: Point
    opacity: Value = 1.0
    colour: Colour = QUIET  # of the leader and of the dot on the point

    def size(self, scale: float = 1.0) -> tuple[float, float]:
        """Width and height in design pixels, with the fonts as they are at a frame's scale."""
        sizes = [measure_text(_words(what), style, scale) for what, style in self.lines]
        return max(w for w, _ in sizes) / scale, sum(cap for _, cap in sizes) / scale + LEADING * (len(sizes) - 1)

    def point(self, beat: float) -> Sequence[float]:
        return self.at(beat) if callable(self.at) else self.at


def _words(what: str | Figure) -> str:
    return what if isinstance(what, str) else what.text


def box_at(x: float, y: float, offset: tuple[float, float], size: tuple[float, float]) -> tuple[float, float, float, float]:
    """Left, top, right, bottom of a label whose nearest point to (x, y) is `offset` away from it."""
    cx = x + offset[0] + size[0] / 2 * max(-1.0, min(1.0, offset[0] / 40.0))
    cy = y + offset[1] + size[1] / 2 * max(-1.0, min(1.0, offset[1] / 40.0))
    return cx - size[0] / 2, cy - size[1] / 2, cx + size[0] / 2, cy + size[1] / 2


@dataclass(slots=True)
class Labels:
    """A set of labels that stand clear of each other; earlier ones choose first. An item of the type layer.

    `view` projects world points for any beat of the passage, `avoid` lists boxes (design pixels) that are taken at a beat, and
    `beats` is how long the passage is. Where a label finds no free place it fades out: it never stands on another text.
    """

    labels: Sequence[Label]
    view: View
    beats: float
    avoid: Avoid = lambda beat: ()
    yields: bool = field(default=True, init=False)
    _paths: list[Floats] | None = field(default=None, init=False)

    def offset(self, which: int, beat: float) -> tuple[float, float]:
        """Where label `which` stands from its point at a beat, design pixels: continuous in the beat."""
        path = self._plan()[which]
        where = min(max(beat / STEP, 0.0), len(path) - 1.0)
        reach = GLIDE / STEP / 2
        # a moving mean under a raised cosine: a change of place becomes a glide about it
        first, last = math.ceil(where - reach), math.floor(where + reach)
        samples = np.arange(first, last + 1)
        weight = 1.0 + np.cos(np.pi * (samples - where) / reach)
        mean = weight @ path[np.clip(samples, 0, len(path) - 1)] / weight.sum()
        return float(mean[0]), float(mean[1])

    def draw(self, canvas: Canvas) -> None:
        standing = []
        for which, label in enumerate(self.labels):
            opacity = value_at(label.opacity, canvas.beat)
            if opacity <= 0.004:
                continue
            x, y, depth = canvas.pin(label.point(canvas.beat))
            if depth <= NEAREST:
                continue
            box = box_at(x, y, self.offset(which, canvas.beat), label.size(canvas.scale))
            opacity *= min(clearance(*box), apart(canvas, *box), _inside(*box), _inside(x, y, x, y))
            opacity *= self._clear_way(canvas, (x, y), box)
            if opacity > 0.004:
                standing.append((label, (x, y), box, opacity))
                self._reserve(canvas, box, opacity)
        canvas.placed[:] = [taken for taken in canvas.placed if taken.kind != RESERVED]
        for label, point, box, opacity in standing:  # leaders first: where they must cross a text they pass beneath it
            self._lead(canvas, label, point, box, opacity)
        for label, point, box, opacity in standing:
            self._letter(canvas, label, point, box, opacity)

    def _clear_way(self, canvas: Canvas, point: tuple[float, float], box: tuple[float, float, float, float]) -> float:
        """1 for a leader that passes no text, 0 for one that touches one, smooth between."""
        texts = np.array([(b.left, b.top, b.right, b.bottom) for b in canvas.placed], float).reshape(-1, 4) / canvas.scale
        gap = float(_gaps(_leaders(np.array(point), np.array([box]))[0], texts).min())
        return smooth(min(max(gap / LEADER_AIR, 0.0), 1.0))

    def _reserve(self, canvas: Canvas, box: tuple[float, float, float, float], opacity: float) -> None:
        """Tell the labels that follow in this frame that a box is taken."""
        left, top, right, bottom = (side * canvas.scale for side in box)
        canvas.placed.append(Placed("", left, top, right, bottom, opacity, RESERVED))

    def _lead(
        self, canvas: Canvas, label: Label, point: tuple[float, float], box: tuple[float, float, float, float], opacity: float
    ) -> None:
        x, y = point
        nx, ny = min(max(x, box[0]), box[2]), min(max(y, box[1]), box[3])
        far = math.hypot(nx - x, ny - y)
        if far > 24.0:
            ex, ey = nx + (x - nx) * 10.0 / far, ny + (y - ny) * 10.0 / far
            canvas.line(x, y, ex, ey, 7.0, (0.0, 0.0, 0.0), 0.55 * opacity)
            canvas.line(x, y, ex, ey, 2.6, label.colour, opacity)
        canvas.disc(x, y, 7.0, (0.0, 0.0, 0.0), 0.55 * opacity)
        canvas.disc(x, y, 4.5, label.colour, opacity)

    def _letter(
        self, canvas: Canvas, label: Label, point: tuple[float, float], box: tuple[float, float, float, float], opacity: float
    ) -> None:
        x = point[0]
        nx = min(max(x, box[0]), box[2])
        align: float = 0.0 if nx >= x + 8 else 1.0 if nx <= x - 8 else 0.5
        baseline = box[1]
        for what, style in label.lines:
            width, cap = (v / canvas.scale for v in measure_text(_words(what), style, canvas.scale))
            baseline += cap
            left = box[0] + (box[2] - box[0] - width) * align
            if isinstance(what, Figure):
                canvas.claim(what, style, left, baseline, "left", opacity)
            else:
                canvas.write(what, style, left, baseline, "left", opacity, "label")
            baseline += LEADING

    # ---- the plan -----------------------------------------------------------------------------------------------------

    def _plan(self) -> list[Floats]:
        if self._paths is None:
            self._paths = plan(self.labels, self.view, self.beats, self.avoid)
        return self._paths


def _inside(left: float, top: float, right: float, bottom: float) -> float:
    """1 for a box well inside the safe area, 0 for one that leaves it."""
    gap = min(left - SAFE[0], top - SAFE[1], SAFE[2] - right, SAFE[3] - bottom)
    return smooth(min(max(gap / APART + 1e-9, 0.0), 1.0))


def _gaps(boxes: Floats, others: Floats) -> Floats:
    """(P,) the least distance of boxes (P, 4) to any of others (M, 4), negative for overlap; infinite without others."""
    if not len(others):
        return np.full(len(boxes), np.inf)
    a, o = boxes[:, None], others[None]
    apart_x = np.maximum(o[..., 0] - a[..., 2], a[..., 0] - o[..., 2])
    apart_y = np.maximum(o[..., 1] - a[..., 3], a[..., 1] - o[..., 3])
    nearest: Floats = np.maximum(apart_x, apart_y).min(1)
    return nearest


def _leaders(point: Floats, boxes: Floats) -> Floats:
    """(P, 8, 4) spots along the leader from a point (2,) to each of boxes (P, 4), as boxes without extent."""
    end = np.clip(point, boxes[:, :2], boxes[:, 2:])
    share = np.linspace(0.0, 1.0, 8, endpoint=False)[None, :, None]
    spots = point + (end - point)[:, None] * share
    return np.concatenate([spots, spots], -1)


def plan(labels: Sequence[Label], view: View, beats: float, avoid: Avoid) -> list[Floats]:
    """For each label its offsets (N, 2) from its point, sampled every STEP beats of a passage."""
    moments = np.arange(math.ceil(beats / STEP) + 1) * STEP
    points = [np.array([view(beat, np.array([label.point(beat)], float))[0] for beat in moments]) for label in labels]
    shown = [
        np.array([value_at(label.opacity, beat) > VISIBLE for beat in moments]) & (place[:, 2] > NEAREST)
        for label, place in zip(labels, points, strict=True)
    ]
    leaders: list[list[tuple[float, float, float, float]]] = [[] for _ in moments]
    taken = [[*KEPT_CLEAR, *avoid(beat)] if any(s[n] for s in shown) else [] for n, beat in enumerate(moments)]
    spots = np.array(PLACES)
    far = np.linalg.norm(spots[:, None] - spots[None], axis=-1)
    switch = MOVED * (np.where(far > 0, 0.5, 0.0) + far / 200.0)
    paths = []
    for k, label in enumerate(labels):
        size = label.size()
        cost = np.tile(FURTHER * np.arange(len(PLACES)), (len(moments), 1))
        boxes = np.array([[box_at(x, y, place, size) for place in PLACES] for x, y, _ in points[k]])
        for n in np.flatnonzero(shown[k]):
            others = [point[n] for j, (point, seen) in enumerate(zip(points, shown, strict=True)) if j != k and seen[n]]
            dots = [(x - 12, y - 12, x + 12, y + 12) for x, y, _ in others]
            gap = _gaps(boxes[n], np.array([*taken[n], *dots], float).reshape(-1, 4))
            b = boxes[n]
            edge = np.minimum(
                np.minimum(b[:, 0] - SAFE[0], b[:, 1] - SAFE[1]), np.minimum(SAFE[2] - b[:, 2], SAFE[3] - b[:, 3])
            )
            gap = np.minimum(gap, edge)
            way = _leaders(points[k][n, :2], b).reshape(-1, 4)
            crossed = _gaps(way, np.array(taken[n], float).reshape(-1, 4)).reshape(len(b), -1).min(1)
            crossed = np.minimum(crossed, _gaps(b, np.array(leaders[n], float).reshape(-1, 4)))
            cost[n] += np.where(crossed < LEADER_AIR, CROSSED, 0.0)
            cost[n] += np.where(gap < APART, BLOCKED - np.maximum(gap, -400), CROWDED * np.maximum(0.0, AIR - gap) / AIR)
        chosen = _cheapest(cost, switch)
        paths.append(spots[chosen])
        for n in np.flatnonzero(shown[k]):
            box = boxes[n, chosen[n]]
            taken[n].append(tuple(box))
            leaders[n] += [tuple(spot) for spot in _leaders(points[k][n, :2], box[None])[0]]
    return paths


def _cheapest(cost: Floats, switch: Floats) -> NDArray[np.int64]:
    """Viterbi: the places (N,) with the least sum of costs (N, P) and of changes (P, P) from sample to sample."""
    best = np.empty(cost.shape, np.int64)
    total = cost[0]
    for n in range(1, len(cost)):
        through = total[:, None] + switch
        best[n] = through.argmin(0)
        total = through.min(0) + cost[n]
    path = np.empty(len(cost), np.int64)
    path[-1] = int(total.argmin())
    for n in range(len(cost) - 1, 0, -1):
        path[n - 1] = best[n, path[n]]
    return path
