"""How the film comes from one passage to the next, as data: which transition, how long before and after the cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal["dive", "whip", "shatter", "streak", "glitch", "iris"]
KINDS: tuple[Kind, ...] = get_args(Kind)
IN_PIECES: tuple[Kind, ...] = ("shatter", "glitch")  # what they show many times over must not be the one thread


@dataclass(frozen=True, slots=True)
class Cut:
    """A transition around a cut: `before` beats of the outgoing passage and `after` beats of the incoming one.

    `heading` is its direction in degrees, 0 to the right, 90 up (whip: left or right; streak: any; iris: how its blades turn).
    `travel` scales what it does to both cameras: 0 leaves them alone, 1 is a quick transition's, 2 a big one's.
    `focus` is its centre in shares of width and height; None finds the brightest spot of the outgoing passage's last picture.
    Raises ValueError for an unknown kind, a length that is not positive, or a focus outside of the picture.
    """

    kind: Kind
    before: float = 1.0
    after: float = 1.0
    heading: float = 0.0
    travel: float = 1.0
    focus: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"no transition {self.kind!r}: there are {', '.join(KINDS)}")
        if not (0.0 < self.before < 64.0 and 0.0 < self.after < 64.0):
            raise ValueError(f"{self.kind}: expected more than 0 beats before and after, found {self.before} and {self.after}")
        if self.focus is not None and not all(0.0 <= share <= 1.0 for share in self.focus):
            raise ValueError(f"{self.kind}: the focus {self.focus} is outside of the picture: expected shares of 0 to 1")

    @property
    def share(self) -> float:
        """Progress at the cut itself, 0..1."""
        return self.before / (self.before + self.after)
