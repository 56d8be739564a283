"""The film's thumbnail: the hall with its measured towers, the thread on the highest, a figure that can be read at an eighth.

What is written keeps to the left, clear of the lower right corner, where players put the film's length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from measure.dataset import Dataset
from scenes import film
from scenes.props.cube import Cube
from scenes.props.roofline import CUBE, Chart, Hall, Tower, light_the_hall, towers
from scenes.render.master import whole_file
from scenes.stage.camera import Camera
from scenes.stage.claims import ClaimLog, Figure, figure
from scenes.stage.overlay import Canvas
from scenes.stage.palette import COMPUTE, QUIET, TEXT, Colour
from scenes.stage.raster import Raster
from scenes.stage.type import DESIGN_WIDTH, LABEL, Style, measure_text
from scenes.stage.world import Light, World

WIDTH, HEIGHT = 1280, 720
FINER = 2  # drawn so many times larger each way
LADDER = "gemm_fp32"
LEFT, WIDE = 84.0, 960.0  # of the lettering, design pixels
FIGURE, UNIT, NAME = 420.0, 176.0, 150.0  # letter sizes, design pixels: the unit's capitals are 11 px high at 160 x 90
LEANS = (-5.1, -1.45, -1.35)  # where the camera looks, from the top of the highest tower
Frame = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Headline:
    """The one figure of the thumbnail and how it was come by; `rung` is the tower that the thread stands on."""

    figure: Figure
    note: str
    rung: str = ""


def write(data: Dataset, target: Path) -> Path:
    """Draw the thumbnail as a PNG of 1280 x 720, whole or not at all.  Raises RequestError where it cannot be written."""
    picture = draw(data)
    with whole_file(target) as part:
        picture.save(part, "PNG", optimize=True)
    return target


def draw(data: Dataset) -> Image.Image:
    """The thumbnail as an RGB picture of 1280 x 720."""
    pixels = np.zeros((HEIGHT * FINER, WIDTH * FINER), np.uint32)
    told = headline(data)
    world, camera = _hall(data, told.rung if told else "")
    Raster(WIDTH * FINER, HEIGHT * FINER).render(world, camera, pixels)
    canvas = Canvas(pixels, 0, 0.0, lambda points: camera.project(points, WIDTH, HEIGHT), ClaimLog("thumbnail"))
    _letter(canvas, data, told)
    rgb = pixels.view(np.uint8).reshape(*pixels.shape, 4)[..., :3]
    return Image.fromarray(np.ascontiguousarray(rgb)).resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)


def headline(data: Dataset) -> Headline | None:
    """The fastest rung of the fp32 ladder; failing that the fp32 roof; None where neither is in the files."""
    owned = data.ladder(LADDER)
    rated = [rung for rung in owned.value.rungs if rung.rate is not None] if owned else []
    rated = [rung for rung in rated if rung.verification is None or rung.verification.passed]
    if owned and rated:
        best = max(rated, key=lambda rung: rung.rate.value if rung.rate else 0.0)
        reading = data.get(f"ladders.{LADDER}.rungs.{best.name}.rate")
        if reading is not None:
            note = f"{owned.value.dtype.split(' in')[0]} GEMM, {reading.quantity.source}"
            return Headline(figure(reading, 1), note, best.name)
    roof = data.get("roofs.fp32")
    return Headline(figure(roof, 1), f"fp32 peak, {roof.quantity.source}") if roof is not None else None


def _hall(data: Dataset, best: str) -> tuple[World, Camera]:
    """The hall with every rung's tower, seen from below; a thread alone on the ground where no hall can be drawn."""
    world, chart = World(), Chart.of(data)
    light_the_hall(world, 0.0)
    if chart is None:
        Cube((0.0, 0.0, 0.0), 1.6, emission=0.7).draw(world, 0.0)
        return world, Camera.orbit((-1.6, 0.0, 1.6), 8.0, 34.0, 9.0, 42.0)
    owned = data.ladder(LADDER)
    rises: dict[str, Callable[[float], float]] = {rung.name: _one for rung in owned.value.rungs} if owned else {}
    built = towers(data, chart, rises)
    slope, across = (_one, _nothing) if chart.placed else (_nothing, _one)
    Hall(chart, slope, _one, _nothing, across).draw(world, 0.0)
    x, y, z = _thread(world, built.get(best))
    for tower in built.values():
        tower.draw(world, 0.0)
    world.light = Light(focus=(x, y), radius=9.0, ambient=0.44, bloom=1.15)
    return world, Camera.orbit((x + LEANS[0], y + LEANS[1], z + LEANS[2]), 9.2, 56.0, -6.0, 54.0)


def _thread(world: World, tower: Tower | None) -> tuple[float, float, float]:
    """Put the thread on a tower, whose last floor it is, as in the film; returns the tower's top."""
    if tower is None:
        return 6.0, 0.0, 7.0
    tower.carries = _one
    lot = tower.lot
    Cube((lot.x, lot.y, lot.top - CUBE), CUBE, emission=0.8).draw(world, 0.0)
    return lot.x, lot.y, lot.top


def _letter(canvas: Canvas, data: Dataset, told: Headline | None) -> None:
    heavy = "InterDisplay-Bold"
    if told is None:
        for k, word in enumerate(film.FILM[0].load().title.split()):
            _line(canvas, word, Style(heavy, 230.0), 300.0 + 250.0 * k, TEXT)
        return
    _line(canvas, told.figure.numeral, Style(heavy, FIGURE), 398.0, TEXT)
    _line(canvas, told.figure.unit, Style(heavy, UNIT), 584.0, COMPUTE)
    _line(canvas, data.device.name.replace("GeForce ", ""), Style(heavy, NAME), 908.0, TEXT)
    _line(canvas, told.note, LABEL.sized(52.0), 992.0, QUIET)


def _line(canvas: Canvas, text: str, style: Style, y: float, colour: Colour) -> None:
    """A line of text at the left, made smaller where it would be too wide."""
    width = measure_text(text, style, canvas.scale)[0] / canvas.scale
    limit = min(WIDE, DESIGN_WIDTH - LEFT)
    canvas.write(text, style.sized(style.size * min(1.0, limit / width)).coloured(colour), LEFT, y)


def _one(beat: float) -> float:
    return 1.0


def _nothing(beat: float) -> float:
    return 0.0
