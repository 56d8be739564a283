"""Colour vision: are the film's colours of meaning still told apart by viewers who lack one kind of cone?

The colours are taken from the film's frames: the mean of what is near memory's cyan, compute's amber, the thread's magenta.
Dichromacy is simulated after Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision
Deficiency", IEEE TVCG 15 (2009), table 1, severity 1.0; distance is CIE 1976 L*a*b* for D65.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from scenes.render.check.film import Film
from scenes.render.check.outcome import Fault, Outcome
from scenes.stage.palette import COMPUTE, MEMORY, THREAD, Colour

Floats = NDArray[np.float64]

MEANINGS: Mapping[str, Colour] = MappingProxyType({"memory": MEMORY, "compute": COMPUTE, "the thread": THREAD})
APART = 20.0  # units of L*a*b*: some ten times what is just seen side by side
NEAR = 45.0  # units of L*a*b* from a palette colour within which a pixel is counted as it
FEWEST = 400  # pixels over all frames looked at, of a colour that is in the film
EVERY = 37  # frames from one that is looked at to the next: no multiple of a beat

# Linear RGB to linear RGB, rows to sum 1.
MACHADO: Mapping[str, Floats] = MappingProxyType({
    "protanopia": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    "deuteranopia": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]),
    "tritanopia": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
})  # fmt: skip
_XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]])
_WHITE = _XYZ.sum(axis=1)


def check(film: Film) -> Outcome:
    """Every two colours of meaning that the film shows, as each kind of dichromat sees them."""
    shown = mean_colours(film)
    faults, least, where = [], float("inf"), ""
    for (a, one), (b, other) in combinations(shown.items(), 2):
        for name, matrix in MACHADO.items():
            apart = float(np.linalg.norm(lab(seen(one, matrix)) - lab(seen(other, matrix))))
            if apart < least:
                least, where = apart, f"{a} and {b} with {name}"
            if apart < APART:
                faults.append(Fault(f"{a} and {b} are {apart:.0f} apart with {name}"))
    absent = [name for name in MEANINGS if name not in shown]
    note = f"not in these frames: {', '.join(absent)}" if absent else ""
    found = f"least distance {least:.0f} ({where})" if where else "fewer than two of the colours of meaning are shown"
    return Outcome("colour", "Colour vision", found, f"{APART:g} or more in L*a*b* for each dichromacy", tuple(faults), note)


def mean_colours(film: Film) -> dict[str, Floats]:
    """Linear RGB (3,) of each meaning's pixels, over frames of the whole film; a colour that is hardly there is left out."""
    sums = {name: np.zeros(4) for name in MEANINGS}
    targets = {name: lab(linear(np.array(colour))) for name, colour in MEANINGS.items()}
    for _, pixels in film.pictures(range(0, film.frames, EVERY)):
        light = linear(pixels[::2, ::2].reshape(-1, 3) / 255.0)
        places = lab(light)
        for name, target in targets.items():
            near = np.linalg.norm(places - target, axis=1) < NEAR
            sums[name] += [*light[near].sum(axis=0), near.sum()]
    return {name: total[:3] / total[3] for name, total in sums.items() if total[3] >= FEWEST}


def seen(colour: Floats, matrix: Floats) -> Floats:
    """A linear colour (3,) as a dichromat sees it."""
    return np.asarray(np.clip(matrix @ colour, 0.0, 1.0))


def linear(srgb: Floats) -> Floats:
    """Linear light 0..1 of sRGB 0..1 (IEC 61966-2-1)."""
    return np.asarray(np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4))


def lab(light: Floats) -> Floats:
    """CIE 1976 L*a*b* for D65 of linear RGB (..., 3)."""
    t = light @ _XYZ.T / _WHITE
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t * (29 / 6) ** 2 / 3 + 4 / 29)
    x, y, z = np.moveaxis(f, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)
