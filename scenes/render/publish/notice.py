"""Whom a film has to credit, as NOTICE says: what the repository carries and a film shows or plays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from scenes.render.content import ROOT

SHOWN = ("Inter Display", "JetBrains Mono")
SUNG = ("Kokoro-82M voices",)
HEARD = ("BeatNet's networks",)  # found the beats of a song that came without a timeline


@dataclass(frozen=True, slots=True)
class Credit:
    """A work, its licence, and who made it where NOTICE says so."""

    what: str
    licence: str
    by: str = ""

    @property
    def text(self) -> str:
        return f"{self.what}{f' by {self.by}' if self.by else ''} ({self.licence})"


def credits(names: Sequence[str]) -> list[Credit]:
    """The entries of NOTICE by these names.  Raises KeyError for a name that is not there: nothing is left without its credit.

    An entry reads "NAME (FILES; MAKERS, from WHERE) LICENCE, see FILE", over one line or several.
    """
    text = " ".join((ROOT / "NOTICE").read_text(encoding="utf-8").split())
    found = []
    for name in names:
        entry = re.search(rf"{re.escape(name)} \((?P<how>[^)]*)\) (?P<licence>[^()]+?), see ", text)
        if entry is None:
            raise KeyError(f"NOTICE has no entry {name!r}")
        _, _, makers = entry["how"].partition("; ")
        found.append(Credit(name, entry["licence"], makers.partition(", from")[0]))
    return found
