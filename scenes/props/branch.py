"""The code of an `if` with two sides: typed to the words of the song, then each side lit or dim as it runs or waits."""

from __future__ import annotations

from collections.abc import Callable

from scenes.stage.keys import ramp
from scenes.stage.overlay import Run
from scenes.stage.palette import COMPUTE, GROUND, QUIET, mix
from scenes.stage.type import CODE, measure_text

LEFT, LINE_1, LINE_2 = 96, 236, 290  # places of the two lines, design pixels
STYLES = {"typed": CODE, "run": CODE.coloured(COMPUTE), "wait": CODE.coloured(mix(GROUND, QUIET, 0.6))}


def code(
    condition: str,
    moments: tuple[float, float, float],
    state: Callable[[int, float], str],
    gone: Callable[[float], float],
) -> list[Run]:
    """Both lines in each of `STYLES`, of which the one that `state(side, beat)` names is seen.

    `moments` are the beats on which the gate stands, the first side is taken and the other one; the condition is typed by a
    beat before the first side, a word on a half beat.
    """
    gate, split, other = moments
    words = condition.split()
    ends = [split - 1.0 - (len(words) - 1 - k) / 2 for k in range(len(words))]
    first = [("if (", gate - 1.0), *((word + " ", beat) for word, beat in zip(words[:-1], ends[:-1], strict=True))]
    first += [(words[-1] + ")", ends[-1]), ("  A();", split)]
    second = [("else", other), ("  B();", other + 0.5)]
    runs = []
    for side, (line, y) in enumerate(((first, LINE_1), (second, LINE_2))):
        for name, style in STYLES.items():

            def seen(beat: float, side: int = side, name: str = name) -> float:
                return gone(beat) * float(state(side, beat) == name)

            runs.append(Run([(word, style, typed(beat)) for word, beat in line], LEFT, y, seen))
    return runs


def beside(condition: str) -> tuple[float, float]:
    """Where a comment begins that stands behind each of the two lines, design pixels."""
    lines = (f"if ({' '.join(condition.split())})  A();  ", "else  B();  ")
    one, other = (LEFT + measure_text(line, CODE, 1.0)[0] for line in lines)
    return one, other


def typed(beat: float) -> Callable[[float], float]:
    """Opacity of a word that snaps in on a beat."""
    return lambda now: ramp(now, beat - 0.08, 0.08)
