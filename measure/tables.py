"""Tables of text: with colours where a terminal and rich are there, as plain columns elsewhere."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

WIDTH = 126


@dataclass(frozen=True, slots=True)
class Table:
    """A title, columns (the first to the left, the others to the right) and notes; each part may be empty.

    `styles` are rich's names of a style for each row, such as `dim` or `red`; plain text has none."""

    title: str
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    styles: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to tell."""
        return not self.rows and not self.notes


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows of text as columns: the first to the left, the others to the right."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if index == 0 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def plain(tables: Iterable[Table]) -> str:
    """Tables as text without colours, an empty line between them; empty ones are left out."""
    parts = []
    for table in tables:
        if table.empty:
            continue
        lines = [table.title] if table.title else []
        if table.rows:
            lines.append(columns([table.header, *table.rows] if table.header else table.rows))
        lines.extend(line for note in table.notes for line in textwrap.wrap(note, WIDTH, subsequent_indent="  "))
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def emit(tables: Iterable[Table]) -> None:
    """Print tables to stdout."""
    found = [table for table in tables if not table.empty]
    if sys.stdout.isatty():
        try:
            return _in_colour(found)
        except ImportError:
            pass
    print(plain(found))


def _in_colour(tables: Iterable[Table]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for table in tables:
        if table.title:
            console.print(Text(table.title, "bold bright_cyan"))
        if table.rows:
            lines = columns([table.header, *table.rows] if table.header else table.rows).split("\n")
            if table.header:
                console.print(Text(lines[0], "bold"))
                console.print(Text("─" * max(len(line) for line in lines), "dim"))
            for index, line in enumerate(lines[1:] if table.header else lines):
                console.print(Text(line, table.styles[index] if index < len(table.styles) else ""))
        for note in table.notes:
            console.print(Text(note, "bold yellow" if "THROTTLED" in note or "WRONG" in note else "dim"))
        console.print()
