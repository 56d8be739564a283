"""What the fastest rung of a tensor-core ladder is measured against: the roof of its own instruction, else a library.

A roof binds only what issues the instruction that it was measured with: on compute capability 9.0 wgmma goes past the roof of
mma.sync (https://arxiv.org/abs/2501.12084), so that such a rung has no share of that one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from measure.dataset import Dataset
from measure.records import Rung
from scenes.props.instruction import best_rung, data_type, instruction_of
from scenes.stage.claims import figure
from scenes.stage.hud import Ratio


@dataclass(frozen=True, slots=True)
class Peaks:
    """The fastest verified rung of a ladder, the roof of its units, and the vendor's line beside it ("" where there is none).

    `issued` is the instruction that the roof was measured with ("" where its record names none), `own` whether the rung's.
    `other` is a roof of other instructions that the ladder's rungs were measured under, "" where there is none.
    """

    ladder: str
    rung: Rung
    roof: str
    issued: str
    own: bool
    line: str
    other: str = ""

    @classmethod
    def of(cls, data: Dataset, ladder: str) -> Peaks | None:
        """None where no rung was measured, or no roof of its units."""
        owned, rung = data.ladder(ladder), best_rung(data, ladder)
        if owned is None or rung is None:
            return None
        name = next((roof for roof in (rung.math_roof, owned.value.math_roof) if roof and data.has(f"roofs.{roof}")), "")
        if not name:
            return None
        issued, lines = instruction_under(data, name), [line for line in owned.value.lines if line.name]
        own = issued in ("", instruction_of(rung).name)
        line = max(lines, key=lambda item: item.rate.value).name if lines else ""
        below = owned.value.math_roof if owned.value.math_roof != name else "" if own else name
        return cls(ladder, rung, name, issued, own, line, below if below and data.has(f"roofs.{below}") else "")

    def key(self, what: str) -> str:
        """The key of the rung's, such as its `rate`."""
        return f"ladders.{self.ladder}.rungs.{self.rung.name}.{what}"

    @property
    def line_rate(self) -> str:
        """The key of the vendor's rate; empty without one."""
        return f"ladders.{self.ladder}.lines.{self.line}.rate" if self.line else ""

    def title_of_line(self, data: Dataset) -> str:
        """Name of the vendor's library."""
        owned = data.ladder(self.ladder)
        return next((item.title for item in owned.value.lines if item.name == self.line), "") if owned else ""

    def beam(self, data: Dataset) -> str:
        """The key of the roof over the rung: the measured one, or the datasheet's where that one binds another instruction."""
        sheet = f"roofs.{self.roof}.datasheet"
        return sheet if not self.own and data.has(sheet) else f"roofs.{self.roof}"

    def ratio(self, data: Dataset) -> Ratio | None:
        """The rung's share of the roof of its own instruction; else its rate over the library's; None without either."""
        of = f"{self.rung.title}, {data_type(data, self.ladder)}"
        if self.own:
            share, roof = data.achieved(self.ladder, self.rung.name), data.get(f"roofs.{self.roof}")
            if share is None or roof is None:
                return None
            return Ratio(figure(share, 2, ""), of, f"of the {self.issued or 'tensor'} roof, {roof.quantity.source}")
        share = data.get(f"derived.of_line.{self.ladder}.{self.rung.name}.{self.line}") if self.line else None
        line = data.get(self.line_rate) if self.line else None
        if share is None or line is None:
            return None
        said = f"of {self.title_of_line(data)}, {line.quantity.source}"
        return Ratio(figure(share, 2, ""), of, said, "RATE / LIBRARY")


def instruction_under(data: Dataset, roof: str) -> str:
    """The instruction that a roof was measured with, as its title has it in brackets; empty where it names none."""
    owned = data.roof(roof)
    named = re.search(r"\((\S+)\)", owned.value.title) if owned else None
    return named[1] if named else ""
