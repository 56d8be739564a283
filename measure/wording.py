"""Numbers as text: significant digits without an exponent, and units of a fitting size."""

from __future__ import annotations

import math

from measure.records import Quantity

PREFIXES = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T"}


def number(quantity: Quantity | None, digits: int = 3) -> str:
    """A value to so many significant digits, or a dash."""
    return "-" if quantity is None else figure(quantity.value, digits)


def figure(value: float, digits: int = 3) -> str:
    """A number to so many significant digits, without an exponent where it is not tiny: 0.0151, 40.5, 132, 1976."""
    text = f"{value:.{digits}g}"
    return f"{float(text):.0f}" if "e" in text and abs(value) >= 1 else text


def scaled(value: float, unit: str, digits: int = 3) -> str:
    """A value with the prefix that leaves one to three digits before the point: 0.0027 s is 2.7 ms, 2.1e9 B is 2.1 GB."""
    if value == 0 or not math.isfinite(value):
        return f"{figure(value)} {unit}".strip()
    power = min(max(3 * math.floor(math.log10(abs(value) * (1 + 1e-9)) / 3), -9), 12)
    return f"{figure(value / 10.0**power, digits)} {PREFIXES[power]}{unit}"


def size_words(size: int) -> str:
    """Bytes to three digits in binary units: 512 B, 16 KiB, 1.5 GiB."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} B"


def spread(quantity: Quantity | None) -> str:
    """Half the distance between the quartiles, in percent of the value; a dash where they are not known."""
    if quantity is None or quantity.low is None or quantity.high is None or not quantity.value:
        return "-"
    return f"{50 * (quantity.high - quantity.low) / abs(quantity.value):.2g}"


def sized(digits: str) -> str:
    """A size in bytes, given as its digits, in binary units where it is a multiple of them: 16384 is 16 KiB."""
    if not digits.isdigit() or int(digits) == 0:
        return f"{digits} B"
    size, unit = int(digits), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if size % 1024:
            break
        size, unit = size // 1024, larger
    return f"{size} {unit}"
