"""A transition's picture: a pure function of the outgoing picture, the incoming one and how far it has come."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from scenes.stage.jit import f4
from scenes.stage.keys import smooth
from scenes.stage.transitions import pieces, portal, smear
from scenes.stage.transitions.cut import Cut

Pixels = NDArray[np.uint32]
Focus = tuple[float, float]
WHITE = (0.86, 0.92, 1.0)  # light of edges
MIDDLE = (0.5, 0.5)


def hill(p: float, top: float) -> float:
    """0 at both ends, 1 at `top`, soft everywhere."""
    return smooth(p / top) if p < top else smooth((1.0 - p) / (1.0 - top))


def brightest(picture: Pixels) -> Focus:
    """Where a picture is brightest, in shares of width and height: of wide patches, those near the middle preferred."""
    rows, columns = 18, 32
    height, width = picture.shape
    ys, xs = np.linspace(0, height, rows + 1).astype(int), np.linspace(0, width, columns + 1).astype(int)
    peak = np.maximum(np.maximum(picture & 255, picture >> 8 & 255), picture >> 16 & 255)
    cells = np.add.reduceat(np.add.reduceat(peak, ys[:-1], axis=0, dtype=np.float64), xs[:-1], axis=1)
    y, x = (np.arange(rows) + 0.5) / rows, (np.arange(columns) + 0.5) / columns
    middle = np.exp(-(((x[None] - 0.5) / 0.22) ** 2 + ((y[:, None] - 0.5) / 0.22) ** 2))
    weight = (cells * middle) ** 4
    total = weight.sum()
    if total <= 0:
        return MIDDLE
    return float((weight * x[None]).sum() / total), float((weight * y[:, None]).sum() / total)


class Mixer:
    """Draws one transition; holds the room it needs.  `focus` is the transition's centre in shares of width and height."""

    def __init__(self, cut: Cut, focus: Focus) -> None:
        self.cut, self.focus = cut, focus
        self._room: dict[str, NDArray[np.generic]] = {}

    def draw(self, a: Pixels, b: Pixels, progress: float, out: Pixels) -> None:
        """Paint out (H, W) at progress 0..1 from pictures of the same size, none of them `out` itself."""
        draw: dict[str, Callable[[Pixels, Pixels, float, Pixels], None]] = {
            "dive": self._dive, "whip": self._whip, "shatter": self._shatter, "streak": self._streak, "glitch": self._glitch,
            "iris": self._iris,
        }  # fmt: skip
        draw[self.cut.kind](a, b, min(max(progress, 0.0), 1.0), out)

    # ---- the six ---------------------------------------------------------------------------------------------------------

    def _whip(self, a: Pixels, b: Pixels, p: float, out: Pixels) -> None:
        s, width = self.cut.share, out.shape[1]
        reach = round(0.11 * width * hill(p, s) ** 2)
        weight = smooth(min(max((p - s) / 0.16 + 0.5, 0.0), 1.0))
        if 0.0 < weight < 1.0:  # a mean of both is blurred: the same as both blurred and then mixed
            first = self._plane("first", out)
            smear.mixed(a, b, f4(weight), first)
            smear.pan_blur(first, reach, out)
        else:
            smear.pan_blur(a if weight <= 0.0 else b, reach, out)

    def _streak(self, a: Pixels, b: Pixels, p: float, out: Pixels) -> None:
        height, width = out.shape
        heading = math.radians(self.cut.heading)
        dx, dy = math.cos(heading), -math.sin(heading)
        strength = hill(p, self.cut.share)
        wide, tall = -(-width // 4), -(-height // 4)
        light, glow = self._planes("light", tall, wide), self._planes("glow", tall, wide)
        source = self._plane("first", out)
        smear.mixed(a, b, f4(smooth(p)), source)
        smear.gather_light(source[: height // 4 * 4, : width // 4 * 4], light[:, : height // 4, : width // 4])
        long = max(abs(dx), abs(dy))
        length = max(1.0, 0.6 * strength * tall)  # quarter pixels after which e^-1 is left
        smear.trail(light, f4(dx / long), f4(dy / long), f4(math.exp(-1.0 / length)), glow)
        # the front: behind it the next scene; uneven across, so that it arrives as streaks
        along = abs(dx) * width + abs(dy) * height
        start = min(0.0, dx) * width + min(0.0, dy) * height
        soft = 0.16 * along
        across = np.arange(width + height) / height
        rough = 0.5 + 0.5 * np.sin(across * 23.0) * np.sin(across * 61.0 + 1.3) * np.sin(across * 9.0 + 0.7)
        spread = 0.34 * along
        travel = start + (along + soft + spread) * smooth(p)
        front = (travel - spread * (1.0 - rough)).astype(np.float32)
        smear.wipe(a, b, glow, f4(strength), front, f4(soft), f4(dx), f4(dy), out)

    def _dive(self, a: Pixels, b: Pixels, p: float, out: Pixels) -> None:
        height, width = out.shape
        s = self.cut.share
        half, far = self._halves(out)
        x0, y0 = self.focus[0] * width, self.focus[1] * height
        beyond = max(0.0, p - s) / (1.0 - s)
        zoom = 1.0 + 2.4 * beyond * beyond + 1.2 * beyond  # the outgoing picture is held after the cut: it rushes on by itself
        blur = 0.34 * hill(min(p / max(s, 1e-6), 1.0) * 0.999, 0.999) ** 2 + 0.2 * beyond
        share = min(1.0, blur * 14.0)
        if share > 0.0:
            portal.halved(a, half)
            portal.rush(half, f4(x0 / 2), f4(y0 / 2), f4(zoom), f4(blur), far)
        reach = math.hypot(max(x0, width - x0), max(y0, height - y0))
        u = min(max((p - 0.5 * s) / (0.5 * s + 0.62 * (1.0 - s)), 0.0), 1.0)
        soft = max(4.0, 0.15 * height * u)
        radius = (reach + 1.2 * soft) * u**2.6 - soft * (1.0 - u)
        rim = np.array(WHITE, np.float32) * f4(90.0 * hill(min(u, 0.999), 0.5))
        portal.dive(a, far, f4(share), b, f4(x0), f4(y0), f4(radius), f4(soft), rim, out)

    def _iris(self, a: Pixels, b: Pixels, p: float, out: Pixels) -> None:
        height, width = out.shape
        x0, y0 = self.focus[0] * width, self.focus[1] * height
        reach = math.hypot(max(x0, width - x0), max(y0, height - y0))
        opening = smooth(min(p / 0.94, 1.0))
        radius = 1.12 * reach * opening**1.7 - 3.0 * (1.0 - opening)
        turn = math.radians(self.cut.heading) + (1.0 - opening) * 1.5
        angles = turn + 2.0 * math.pi * np.arange(7) / 7
        sides = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
        lit = hill(min(max(p, 0.0), 1.0), 0.4)
        rim = np.array(WHITE, np.float32) * f4(120.0 * lit)
        shade = 0.5 * smooth(min(p / 0.18, 1.0))
        portal.iris(a, b, f4(x0), f4(y0), f4(radius), sides, f4(shade), f4(max(1.5, 0.0035 * height)), rim, out)

    def _shatter(self, a: Pixels, b: Pixels, p: float, out: Pixels) -> None:
        height, width = out.shape
        size = height / 18.0
        columns, rows = math.ceil(width / size), 18
        j, i = (g.ravel() for g in np.mgrid[0:rows, 0:columns])
        x, y = (i + 0.5) * size, (j + 0.5) * size
        noise = _noise(len(x))
        x0, y0 = self.focus[0] * width, self.focus[1] * height
        away_x, away_y = x - x0, y - y0
        distance = np.hypot(away_x, away_y) / math.hypot(width, height)
        # a crack runs outwards from the focus; whatever it has passed comes loose
        delay = 0.62 * distance + 0.14 * noise[0]
        t = np.clip((p - 0.5 * delay - 0.02) / (0.94 - 0.5 * delay - 0.02), 0.0, 1.0)
        fall = t * t * (3.0 - 2.0 * t)
        length = np.maximum(np.hypot(away_x, away_y), 1.0)
        out_by = height * (0.10 + 0.42 * noise[1]) * fall
        cx = x + away_x / length * out_by
        cy = y + away_y / length * out_by + height * 0.34 * t * t * (noise[2] + 0.25) - height * 0.10 * t * (1.0 - t) * noise[0]
        scale = (1.0 - fall) * (1.0 + 0.6 * noise[1] * t) + 0.02
        angle = (noise[2] - 0.5) * 4.2 * fall
        flat = 0.75 * noise[0] * np.sin(np.pi * np.minimum(fall, 0.999)) ** 2
        light = 1.0 - 0.45 * fall
        beneath = np.minimum(1.0, 5.0 * t) * (1.0 - 0.4 * fall)
        opacity = np.clip((1.0 - t) * 5.0, 0.0, 1.0)
        order = np.argsort(noise[1] + t, kind="stable")
        table = np.stack([x, y, cx, cy, scale, angle, flat, light, beneath, opacity], axis=1)[order]
        still = t[order] <= 0.0
        table[still, 4], table[still, 5] = 1.0, 0.0
        out[:] = b
        pieces.tiles(a, pieces.pairs_of(a), np.ascontiguousarray(table, np.float32), f4(size), out)

    def _glitch(self, a: Pixels, b: Pixels, p: float, out: Pixels) -> None:
        height, width = out.shape
        size = max(8, round(height / 24))
        rows, columns = -(-height // size), -(-width // size)
        step = min(int(p * 8.0), 7)  # eight states, each held
        group = np.arange(rows) // 2
        noise = _noise(rows * columns).reshape(3, rows, columns)
        band = _noise(rows + 8 * 64)[:, group + 64 * (step % 8)]
        wide = noise[0][:, np.arange(columns) // 3 * 3]
        turn = 0.08 + 0.84 * (0.65 * wide + 0.35 * noise[1])
        second = turn < smooth((step + 0.5) / 8.0) if 0 < step < 7 else np.full((rows, columns), step == 7)
        amount = math.sin(math.pi * (step + 0.5) / 8.0)
        moved = band[0] > 0.55
        slip = np.where(moved, (band[1] - 0.5) * 0.22 * width * amount, 0.0)
        slip = slip[:, None] + np.where(noise[2] > 0.9, (noise[1] - 0.5) * 0.16 * width * amount, 0.0)
        part = np.where(band[2] > 0.35, 0.012 * height * amount, 0.003 * height * amount)
        pieces.blocks(
            a, b, second, np.round(slip).astype(np.int64),
            np.broadcast_to(np.round(part)[:, None], (rows, columns)).astype(np.int64), size, out,
        )  # fmt: skip

    # ---- room ------------------------------------------------------------------------------------------------------------

    def _plane(self, name: str, like: Pixels) -> Pixels:
        return self._made(name, like.shape, np.uint32)  # type: ignore[return-value]

    def _planes(self, name: str, tall: int, wide: int) -> NDArray[np.float32]:
        return self._made(name, (3, tall, wide), np.float32)  # type: ignore[return-value]

    def _halves(self, like: Pixels) -> tuple[Pixels, Pixels]:
        shape = (like.shape[0] // 2, like.shape[1] // 2)
        return self._made("half", shape, np.uint32), self._made("far", shape, np.uint32)  # type: ignore[return-value]

    def _made(self, name: str, shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[np.generic]:
        found = self._room.get(name)
        if found is None or found.shape != shape:
            found = self._room[name] = np.zeros(shape, dtype)
        return found


def _noise(count: int) -> NDArray[np.float64]:
    """(3, count) numbers in 0..1 without a pattern, always the same ones."""
    k = np.arange(1, count + 1)[None] * np.array([[0.7548776662466927], [0.5698402909980532], [0.8191725133961645]])
    mixed = np.sin(k * 437.585453 + np.array([[1.0], [2.0], [3.0]])) * 43758.5453
    return np.asarray(mixed - np.floor(mixed))
