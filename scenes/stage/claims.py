"""Claims: every measured figure or sourced constant that the film shows, with the frames it is on and where it comes from."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_EVEN, Decimal

from measure.dataset import Reading


@dataclass(frozen=True, slots=True)
class Figure:
    """A numeral made from a reading: `numeral` is value x scale, rounded to `digits` decimals."""

    numeral: str
    unit: str
    digits: int
    scale: float
    reading: Reading

    @property
    def text(self) -> str:
        return f"{self.numeral} {self.unit}".rstrip()

    @property
    def source(self) -> str:
        return self.reading.quantity.source


def numeral(value: float, digits: int) -> str:
    """Round half to even in decimal, so that a check can repeat it exactly: numeral(0.125, 2) == '0.12'."""
    return f"{Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_EVEN):,}".replace(",", " ")


def figure(reading: Reading, digits: int, unit: str | None = None, scale: float = 1.0) -> Figure:
    """A reading as a numeral for the screen; `scale` and `unit` go together, such as 1e-3 for GB/s shown in TB/s."""
    shown = reading.quantity.unit if unit is None else unit
    return Figure(numeral(reading.quantity.value * scale, digits), shown, digits, scale, reading)


def decimals(value: float, least: int) -> int:
    """Decimals to show a value with: `least`, or as many as its first digit takes; what is not zero is never shown as 0.00."""
    return max(least, -math.floor(math.log10(abs(value)))) if value else least


@dataclass(frozen=True, slots=True)
class Claim:
    """One figure on screen: frames `first_frame` to `last_frame` of the film, inclusive."""

    scene: str
    first_frame: int
    last_frame: int
    text: str
    numeral: str
    digits: int
    scale: float
    key: str
    value: float
    unit: str
    source: str
    device: str
    file: str
    reference: str


class ClaimLog:
    """Collects the claims of a passage as its frames are drawn."""

    def __init__(self, scene: str) -> None:
        self._scene = scene
        self._claims: dict[tuple[str, str], Claim] = {}

    def saw(self, shown: Figure, frame: int) -> None:
        """Note that a figure is visible on a frame."""
        key = (shown.text, shown.reading.key)
        claim = self._claims.get(key)
        if claim is None:
            quantity = shown.reading.quantity
            self._claims[key] = Claim(
                scene=self._scene, first_frame=frame, last_frame=frame, text=shown.text, numeral=shown.numeral,
                digits=shown.digits, scale=shown.scale, key=shown.reading.key, value=quantity.value, unit=quantity.unit,
                source=quantity.source, device=shown.reading.device.name, file=shown.reading.file, reference=quantity.reference,
            )  # fmt: skip
        else:
            self._claims[key] = replace(
                claim, first_frame=min(claim.first_frame, frame), last_frame=max(claim.last_frame, frame)
            )

    @property
    def claims(self) -> tuple[Claim, ...]:
        return tuple(sorted(self._claims.values(), key=lambda claim: (claim.first_frame, claim.key)))


def merge(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Join the claims of neighbouring segments of a scene, in order of their first frame."""
    merged: dict[tuple[str, str, str], Claim] = {}
    for claim in claims:
        key = (claim.scene, claim.text, claim.key)
        known = merged.get(key)
        if known is not None:
            claim = replace(
                known,
                first_frame=min(known.first_frame, claim.first_frame),
                last_frame=max(known.last_frame, claim.last_frame),
            )
        merged[key] = claim
    return tuple(sorted(merged.values(), key=lambda claim: (claim.first_frame, claim.scene, claim.key)))
