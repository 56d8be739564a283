"""The colours of the film, each with one meaning.  sRGB, 0..1.  Meaning is never carried by colour alone."""

from __future__ import annotations

from typing import TypeAlias

Colour: TypeAlias = tuple[float, float, float]


def rgb(hex_code: str) -> Colour:
    """'#FFB000' -> (1.0, 0.69, 0.0)."""
    code = hex_code.lstrip("#")
    return int(code[0:2], 16) / 255, int(code[2:4], 16) / 255, int(code[4:6], 16) / 255


def mix(a: Colour, b: Colour, amount: float) -> Colour:
    """Linear blend of two colours: a at 0, b at 1."""
    return (a[0] + (b[0] - a[0]) * amount, a[1] + (b[1] - a[1]) * amount, a[2] + (b[2] - a[2]) * amount)


GROUND = rgb("#05070D")
MEMORY = rgb("#00E5FF")  # memory and only memory
COMPUTE = rgb("#FFB000")  # compute at work
THREAD = rgb("#FF2BD6")  # the one thread that the film follows
TEXT = rgb("#F2F7FF")
QUIET = rgb("#9AA6B8")  # secondary text: 8:1 on the ground
STEEL = (0.17, 0.20, 0.27)  # idle hardware
PLATE = (0.055, 0.070, 0.105)  # substrates and slabs
