"""What a check found, with its cure, and how findings are shown."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "note", "absent", "FAILS"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    `FAILS`: the film cannot be rendered.  `absent`: nothing can be measured.  `note`: it works, but some figure suffers.
    """

    what: str
    state: State
    found: str
    cure: str = ""


MARKS: dict[State, tuple[str, str]] = {
    "ok": ("✓", "green"),
    "note": ("·", "yellow"),
    "absent": ("○", "yellow"),
    "FAILS": ("✗", "bold red"),
}


def show(title: str, found: Iterable[Finding]) -> None:
    """Print findings: with colours in a terminal, as plain lines elsewhere, each with its cure unless all is well."""
    if sys.stdout.isatty():
        try:
            return _in_colour(title, found)
        except ImportError:
            pass
    print(title)
    for finding in found:
        print(
            f"{finding.state:6} {finding.what}: {finding.found}" + (f"; {finding.cure}" if _told(finding) else ""), flush=True
        )


def _told(finding: Finding) -> bool:
    return finding.state != "ok" and bool(finding.cure)


def _in_colour(title: str, found: Iterable[Finding]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", title_style="bold", box=None, show_header=False, padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    for finding in found:
        mark, style = MARKS[finding.state]
        words = Text(finding.found)
        if _told(finding):
            words.append(f"\n→ {finding.cure}", "cyan")
        table.add_row(Text(mark, style), Text(finding.what, "bold" if finding.state != "ok" else ""), words)
    Console().print(table)
