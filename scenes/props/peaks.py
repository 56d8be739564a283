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
    """

    ladder: str
    rung: Rung
    roof: str
    issued: str
    own: bool
    line: str

    @classmethod
    def of(cls, data: Dataset, ladder: str) -> Peaks | None:
        """None where no rung was measured, or no roof of its units."""
        owned, rung = data.ladder(ladder), best_rung(data, ladder)
        if owned is None or rung is None:
            return None
        name = rung.math_roof or owned.value.math_roof
        roof = data.roof(name)
        if roof is None or not data.has(f"roofs.{name}"):
            return None
        named = re.search(r"\((\S+)\)", roof.value.title)
        issued = named[1] if named else ""
        lines = [line for line in owned.value.lines if line.name]
        line = max(lines, key=lambda item: item.rate.value).name if lines else ""
        return cls(ladder, rung, name, issued, issued in ("", instruction_of(rung).name), line)

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
