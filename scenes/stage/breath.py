"""How a camera breathes: a passage's keyed flight made smooth, its speed swelling with the music, and never quite at rest.

A passage keys where its camera is in bars and beats; how it moves between is made here, as a pure function of the beat:

- *Smooth*: the keyed values are samples of a curve whose acceleration and jerk are continuous (a quintic spline through
  Gaussian means), so that no key is felt.
- *Breath*: the flight's own time runs faster on the strong beats and slower on the weak ones, by as much as the section of the
  song has energy; on each whole beat it is exact, so that arrivals stay on their beats.
- *Drift*: a slow circle of a fraction of a degree around what the camera looks at, so that a held view lives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline, make_interp_spline

from audio.timeline import Timeline
from scenes.stage.camera import Camera
from scenes.stage.keys import smooth

ENERGY = {"intro": 0.35, "verse": 0.5, "build": 0.75, "chorus": 1.0, "bridge": 0.7, "outro": 0.4}
USUAL = 0.6  # energy of a song without sections
DEPTH = 0.34  # share of its speed that a flight gains and loses at full energy
SAMPLES = 8  # a beat
SIGMA = 0.28  # beats over which keyed values are averaged
REACH = 1.0  # beats on each side that the average takes in
MARGIN = 4.0  # beats beyond the passage that the curve knows
DRIFT = (0.42, 0.26)  # degrees around and up
DRIFT_BEATS = 14.0  # a whole circle


def energy(timeline: Timeline, beat: float) -> float:
    """0..1 at a beat of the track, counted from its first: its section's, with a bar's change around each boundary."""
    if not timeline.sections:
        return USUAL
    marks = [(timeline.downbeats[s.first_bar - 1], ENERGY.get(s.kind, USUAL)) for s in timeline.sections]
    value = marks[0][1]
    for at, level in marks[1:]:
        value += (level - value) * smooth(min(max((beat - at) / 4.0 + 0.5, 0.0), 1.0))
    return value


@dataclass(slots=True)
class Breath:
    """Flies a keyed camera.

    `origin` is the passage's first beat in the track, `beats` its length, `place` where its own beats fall among the track's.

    Called with a moment in beats from the passage's start.  The keyed camera is asked `SAMPLES` times a beat, once.
    """

    keyed: Callable[[float], Camera]
    timeline: Timeline
    origin: int
    beats: float
    place: Callable[[float], float] = float
    _curve: BSpline | None = field(default=None, init=False)
    _near: float = field(default=0.3, init=False)

    def __call__(self, beat: float) -> Camera:
        if self._curve is None:
            self._curve = self._fit()
        at = min(max(self.time(beat), -MARGIN + REACH), self.beats + MARGIN - REACH)
        v = self._curve(at)
        camera = Camera((float(v[0]), float(v[1]), float(v[2])), (float(v[3]), float(v[4]), float(v[5])), float(v[6]),
                        self._near, float(v[7]))  # fmt: skip
        turn = 2.0 * math.pi * (self.origin + beat) / DRIFT_BEATS
        return orbited(camera, DRIFT[0] * math.sin(turn), DRIFT[1] * math.cos(turn))

    def time(self, beat: float) -> float:
        """The flight's own time: equal to the beat on every whole one, fastest on the first and the third of a bar."""
        depth = DEPTH * energy(self.timeline, self.origin + self.place(beat))
        return beat + depth * math.sin(math.pi * beat) / math.pi

    def _fit(self) -> BSpline:
        pad = round((MARGIN + REACH) * SAMPLES)
        count = round(self.beats * SAMPLES)
        self._near = self.keyed(0.0).near
        index = np.arange(-pad, count + pad + 1)
        values = np.array([self._sample(k / SAMPLES) for k in index])
        reach = round(REACH * SAMPLES)
        weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / (SIGMA * SAMPLES)) ** 2)
        weights /= weights.sum()
        means = np.stack([np.convolve(column, weights, "valid") for column in values.T], axis=1)
        return make_interp_spline(index[reach:-reach] / SAMPLES, means, k=5)

    def _sample(self, beat: float) -> NDArray[np.float64]:
        """Keyed values at a beat; beyond the ends of keys that stop there, the flight goes on as it came."""
        held = min(max(beat, 0.0), self.beats)
        here = _values(self.keyed(beat))
        if held == beat:
            return here
        end = _values(self.keyed(held))
        if not np.array_equal(here, end):
            return here  # keyed beyond the cut, to meet the next passage
        back = min(max(2.0 * held - beat, 0.0), self.beats)
        return np.asarray(2.0 * end - _values(self.keyed(back)))


def _values(camera: Camera) -> NDArray[np.float64]:
    return np.array([*camera.eye, *camera.target, camera.fov, camera.roll], float)


def orbited(camera: Camera, around: float, up: float) -> Camera:
    """The eye moved about the target, to the right and up by degrees."""
    x, y, z = np.subtract(camera.eye, camera.target)
    flat, far = math.hypot(x, y), math.hypot(x, y, z)
    azimuth = math.atan2(x, -y) + math.radians(around)
    elevation = min(max(math.atan2(z, flat) + math.radians(up), -1.55), 1.55)
    tx, ty, tz = camera.target
    reach = far * math.cos(elevation)
    return replace(camera, eye=(tx + reach * math.sin(azimuth), ty - reach * math.cos(azimuth), tz + far * math.sin(elevation)))
