"""The flash check: does a film flash too often for viewers with photosensitive epilepsy?

After WCAG 2.2, success criterion 2.3.1 and its definition of "general flash and red flash thresholds":

- A *general flash* is a pair of opposing changes in relative luminance of 10 % or more of the maximum, the darker image below
  0.80.
- A *red flash* is a pair of opposing changes that involve a saturated red, R/(R + G + B) >= 0.8 (linear), and differ by more
  than 0.2 in the CIE 1976 u'v' diagram.
- More than three within any one second fail, unless what flashes at the same time fills no more than a quarter of any rectangle
  of a third of the picture's width and height (341 x 256 of 1024 x 768, a 10 degree field of vision).
- *Extended*, as Electronic Arts' IRIS has it: two or three flashes a second kept up for four seconds out of five fail as well.

Frames are averaged to cells first.  A pattern that moves brightens as much as it darkens and is none.  This is our
implementation of those rules, not a certificate.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import av
import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter, minimum_filter, uniform_filter

from scenes.render.errors import RequestError
from scenes.stage.jit import kernel

Kind = Literal["general", "red", "general, extended", "red, extended"]
Floats = NDArray[np.float32]

CELLS = (90, 160)  # rows and columns that a frame is averaged to
CHANGE = 0.10  # relative luminance
DARK = 0.80
RED_SHARE = 0.8
RED_CHANGE = 0.2  # distance in u'v'
AREA = 0.25  # of a field
FIELD = 3  # a field is the picture's width and height over this
MOST = 6  # transitions in a second: three flashes
RISE = 0.1  # seconds that a flash may take to come up
EXTENDED = (4, 4.0, 5.0)  # transitions in a second, kept up so long, out of so long

_LINEAR = np.array(
    [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in np.arange(256) / 255.0], dtype=np.float32
)
_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]], np.float32)


@dataclass(frozen=True, slots=True)
class Violation:
    """A stretch that flashes too often: seconds from `start` to `end`, `transitions` in the worst second of a place (two to a
    flash), and `area`, the largest share of a field that flashes so."""

    kind: Kind
    start: float
    end: float
    transitions: int
    area: float

    def __str__(self) -> str:
        return (
            f"{self.kind} flash from {self.start:.2f} to {self.end:.2f} s: {self.transitions / 2:g} flashes in a second, "
            f"over {self.area:.0%} of a field of vision"
        )


def check(film: Path, told: Callable[[], None] = lambda: None) -> tuple[Violation, ...]:
    """Decode a film and return every violation; `told` hears of every frame.  Raises RequestError where it cannot be read."""
    try:
        with av.open(str(film)) as container:
            rate = container.streams.video[0].average_rate
            if rate is None:
                raise RequestError(f"{film}: has no constant frame rate, so flashes cannot be counted")
            frames = (np.asarray(frame.to_ndarray(format="rgb24"), np.uint8) for frame in container.decode(video=0))
            return scan(heard(frames, told), float(rate))
    except (av.error.FFmpegError, IndexError, OSError) as error:
        why = (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()
        raise RequestError(f"{film}: cannot be read as a film: {why}") from None


def heard(frames: Iterable[NDArray[np.uint8]], told: Callable[[], None]) -> Iterator[NDArray[np.uint8]]:
    for frame in frames:
        told()
        yield frame


def scan(frames: Iterable[NDArray[np.uint8]], fps: float) -> tuple[Violation, ...]:
    """Check frames, each (height, width, 3) uint8 sRGB, all of one size.  Raises ValueError for a rate that is not positive."""
    if not fps > 0:
        raise ValueError(f"a frame rate above 0 is needed, got {fps}")
    general, red = _Counter(fps), _Counter(fps)
    luminance, hue = _Luminance(), _Red()
    for linear in map(_cells, frames):
        general.frame(*luminance.changes(linear))
        red.frame(*hue.changes(linear))
    found = [*general.violations("general", "general, extended"), *red.violations("red", "red, extended")]
    return tuple(sorted(found, key=lambda one: one.start))


def _cells(frame: NDArray[np.uint8]) -> Floats:
    """Linear light of a frame averaged to cells, (rows, columns, 3)."""
    height, width = frame.shape[:2]
    rows, columns = min(CELLS[0], height), min(CELLS[1], width)
    sums = np.zeros((rows, columns, 3), np.float32)
    _add_light(frame, _LINEAR, sums)
    high, wide = np.diff(np.arange(rows + 1) * height // rows), np.diff(np.arange(columns + 1) * width // columns)
    cells: Floats = sums / (high[:, None] * wide[None, :])[:, :, None].astype(np.float32)
    return cells


@kernel
def _add_light(frame: NDArray[np.uint8], linear: Floats, sums: Floats) -> None:
    height, width = frame.shape[0], frame.shape[1]
    rows, columns = sums.shape[0], sums.shape[1]
    for row in range(rows):
        for y in range(row * height // rows, (row + 1) * height // rows):
            for column in range(columns):
                for x in range(column * width // columns, (column + 1) * width // columns):
                    for channel in range(3):
                        sums[row, column, channel] += linear[frame[y, x, channel]]


class _Luminance:
    """Which cells complete a change of relative luminance, upwards and downwards."""

    def __init__(self) -> None:
        self._low: Floats | None = None
        self._high = np.zeros(0, np.float32)

    def changes(self, linear: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        now = linear @ _XYZ[1]
        if self._low is None:
            self._low, self._high = now.copy(), now.copy()
        up = (now - self._low >= CHANGE) & (self._low < DARK)
        down = (self._high - now >= CHANGE) & (now < DARK)
        # after a change, the next one is measured from here
        self._low = np.where(up | down, now, np.minimum(self._low, now))
        self._high = np.where(up | down, now, np.maximum(self._high, now))
        return up, down


class _Red:
    """Which cells change towards and away from a saturated red."""

    def __init__(self) -> None:
        self._before: tuple[Floats, Floats, NDArray[np.bool_]] | None = None

    def changes(self, linear: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        total = linear.sum(axis=2)
        red = (linear[:, :, 0] >= RED_SHARE * total) & (total > 1e-4)
        x, y, z = np.moveaxis(linear @ _XYZ.T, 2, 0)
        scale = x + 15 * y + 3 * z
        dark = scale < 1e-4  # black has no hue: that of white stands for it
        u = np.where(dark, 0.1978, 4 * x / np.maximum(scale, 1e-6)).astype(np.float32)
        v = np.where(dark, 0.4683, 9 * y / np.maximum(scale, 1e-6)).astype(np.float32)
        if self._before is None:
            self._before = (u, v, red)
        u0, v0, red0 = self._before
        changed = (np.hypot(u - u0, v - v0) > RED_CHANGE) & (red | red0)
        # far from red, the hue may drift without being counted later
        taken = changed | (~red & ~red0)
        self._before = (np.where(taken, u, u0), np.where(taken, v, v0), np.where(taken, red, red0))
        return changed & red, changed & ~red


class _Counter:
    """Where the picture flashes: for every cell its changes of alternating direction, the transitions, in the last second."""

    def __init__(self, fps: float) -> None:
        self._fps = fps
        self._recent: deque[Floats] = deque(maxlen=max(1, round(RISE * fps)))
        self._second: deque[NDArray[np.bool_]] = deque()
        self._window: deque[NDArray[np.bool_]] = deque()
        self._last = np.zeros(0, np.int8)
        self._counts = self._often = np.zeros(0, np.int32)
        self._plain: list[tuple[int, float]] = []
        self._extended: list[tuple[int, float]] = []

    def frame(self, up: NDArray[np.bool_], down: NDArray[np.bool_]) -> None:
        """Take in the next frame's changes."""
        if not self._second:
            self._last = np.zeros(up.shape, np.int8)
            self._counts, self._often = np.zeros(up.shape, np.int32), np.zeros(up.shape, np.int32)
        rises, falls = self._together(up, down)
        turned_up, turned_down = up & rises & (self._last != 1), down & falls & (self._last != -1)
        turned = turned_up | turned_down
        self._last = np.where(turned_up, 1, np.where(turned_down, -1, self._last)).astype(np.int8)
        least, kept_up, window = EXTENDED
        self._counts = self._counts + _slide(self._second, turned, max(1, round(self._fps)))
        self._often = self._often + _slide(self._window, self._counts >= least, round(window * self._fps))
        for found, bad in ((self._plain, self._counts > MOST), (self._extended, self._often >= kept_up * self._fps)):
            area = _largest_share(bad) if bad.any() else 0.0
            found.append((int(self._counts[bad].max(initial=0)) if area > AREA else 0, area))

    def _together(self, up: NDArray[np.bool_], down: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Where a field rises, and where one falls, as a whole: more of it one way than the other, by the area that counts.

        A pattern that moves brightens as many places as it darkens; that is no flash, however fine its light and dark.
        """
        self._recent.append(up.astype(np.float32) - down)
        rises, falls = np.zeros(up.shape, bool), np.zeros(up.shape, bool)
        if up.any() or down.any():
            net = np.zeros(up.shape, np.float32)
            for change in reversed(self._recent):  # a flash may take a few frames to come up
                net = net + change
                share = uniform_filter(net, size=_field(up.shape), mode="constant")
                rises |= maximum_filter(share, size=_field(up.shape), mode="constant") > AREA
                falls |= minimum_filter(share, size=_field(up.shape), mode="constant") < -AREA
        return rises, falls

    def violations(self, plain: Kind, extended: Kind) -> Iterator[Violation]:
        """Stretches with too many transitions in a second, and those with nearly too many for too long."""
        for kind, frames, reach in ((plain, self._plain, 1.0), (extended, self._extended, EXTENDED[2])):
            bad = np.array([count > 0 for count, _ in frames], np.int8)
            edges = np.flatnonzero(np.diff(np.concatenate([[0], bad, [0]])))
            for first, after in zip(edges[::2], edges[1::2], strict=True):
                counts, areas = zip(*frames[first:after], strict=True)
                yield Violation(kind, max(0.0, (first + 1) / self._fps - reach), after / self._fps, max(counts), max(areas))


def _slide(window: deque[NDArray[np.bool_]], new: NDArray[np.bool_], length: int) -> NDArray[np.int32]:
    """What the sum over the last `length` frames changes by as a new one comes in."""
    window.append(new)
    change = new.astype(np.int32)
    if len(window) > length:
        change -= window.popleft()
    return change


def _field(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Rows and columns of a field."""
    return tuple(max(1, round(length / FIELD)) for length in shape)


def _largest_share(changed: NDArray[np.bool_]) -> float:
    """The largest share of any field that changed."""
    size = _field(changed.shape)
    shares = uniform_filter(changed.astype(np.float32), size=size, mode="constant")
    # only fields that lie wholly inside of the picture count
    inside = tuple(slice(width // 2, length - (width - 1) // 2) for width, length in zip(size, changed.shape, strict=True))
    return float(shares[inside].max())
