"""What a check of a finished film found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong; `at` is where in the film, in seconds, where it has a place."""

    what: str
    at: float | None = None

    def __str__(self) -> str:
        return self.what if self.at is None else f"{int(self.at // 60)}:{self.at % 60:05.2f}  {self.what}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One check: what was asked for, what was found, and every fault; `note` is what was not, or could not be, looked at."""

    name: str
    title: str
    found: str
    expected: str
    faults: tuple[Fault, ...] = ()
    note: str = ""

    @property
    def passed(self) -> bool:
        return not self.faults

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "passed": self.passed}
