"""The light of a chorus in the roofline hall: full on the drop, up again on each landing, and a band of it up the slope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from scenes.props.ghosts import Shine
from scenes.props.roofline import Chart, light_the_hall
from scenes.stage.keys import ramp
from scenes.stage.palette import MEMORY, TEXT, Colour, mix
from scenes.stage.world import Fog, Ground, World

FADES = 9.0  # beats in which the drop's light goes: one slow fall, never a flash
LANDED = 0.55  # how bright a landing is, of the drop
RUNS = 3.0  # beats in which a band of light runs up the slope


def chorus(landings: Sequence[float]) -> Callable[[World, float], None]:
    """The hall's light for rungs that land on some beats."""

    def arrange(world: World, beat: float) -> None:
        light_the_hall(world, beat)
        lit = shine(landings, beat)
        brighten(world, 0.6 * lit, 0.8 * lit, (MEMORY, 0.3 * lit))

    return arrange


def brighten(world: World, ambient: float, bloom: float, *glows: tuple[Colour, float]) -> None:
    """More light and more bloom than the hall has; its horizon, and the fog with it, takes so much of each colour."""
    world.light = replace(world.light, ambient=world.light.ambient + ambient, bloom=1.0 + bloom)
    ground = world.ground or Ground()
    horizon = ground.horizon
    for colour, share in glows:
        horizon = mix(horizon, mix(colour, TEXT, 0.2), share)
    world.ground, world.fog = replace(ground, horizon=horizon), replace(world.fog or Fog(), color=horizon)


def shine(landings: Sequence[float], beat: float) -> float:
    """How much of the drop's light there is, 0..1."""
    landed = (ramp(beat, moment - 0.3, 0.6) * (1.0 - ramp(beat, moment + 0.5, 5.0)) for moment in landings)
    return max(1.0 - ramp(beat, 0.5, FADES), LANDED * max(landed, default=0.0))


def bands(chart: Chart, moments: Sequence[float]) -> list[Shine]:
    """A band of light up the slope from each of some beats on; none where there is no slope."""
    return [Shine(chart, moment, RUNS, 0.0) for moment in moments] if chart.placed else []
