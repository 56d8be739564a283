"""What the checks found, for people (text, HTML) and for machines (JSON)."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from pathlib import Path

from scenes.render.check.film import Film
from scenes.render.check.outcome import Outcome
from scenes.render.master import whole_file

SHOWN = 12  # faults of one check that are listed in a terminal

STYLE = """
:root{color-scheme:light dark;--ground:#fff;--text:#10141c;--quiet:#5b6675;--line:#d5dbe4;--good:#08703f;--bad:#b3261e}
@media(prefers-color-scheme:dark){
:root{--ground:#05070d;--text:#f2f7ff;--quiet:#9aa6b8;--line:#252c3a;--good:#5fd39b;--bad:#ff8a80}}
body{background:var(--ground);color:var(--text);font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto}
body{padding:0 1rem}
h1{font-size:1.6rem;margin:0}h2{font-size:1.1rem;margin:0}p{margin:.2rem 0}small,dt{color:var(--quiet)}
section{border-top:1px solid var(--line);padding:1rem 0}.passed{color:var(--good)}.failed{color:var(--bad)}
li{font-variant-numeric:tabular-nums}
"""


def lines(outcome: Outcome) -> list[str]:
    """A check as lines of a terminal."""
    out = [f"{'ok  ' if outcome.passed else 'FAIL'}  {outcome.title}: {outcome.found}"]
    if outcome.note:
        out.append(f"      {outcome.note}")
    out += [f"      {fault}" for fault in outcome.faults[:SHOWN]]
    if len(outcome.faults) > SHOWN:
        out.append(f"      and {len(outcome.faults) - SHOWN} more")
    if not outcome.passed:
        out.append(f"      expected: {outcome.expected}")
    return out


def verdict(outcomes: Sequence[Outcome]) -> str:
    """One line over all."""
    failed = [outcome.title for outcome in outcomes if not outcome.passed]
    return (
        f"{len(outcomes)} checks, all passed"
        if not failed
        else f"{len(failed)} of {len(outcomes)} checks failed: {', '.join(failed)}"
    )


def write_json(film: Film, outcomes: Sequence[Outcome], path: Path) -> None:
    """The outcomes for machines, whole or not at all."""
    body = {
        "film": film.path.name, "size": list(film.size), "fps": film.fps, "frames": film.frames,
        "track": film.body["track"], "measurements": film.body["measurements"],
        "passed": all(outcome.passed for outcome in outcomes), "checks": [outcome.as_dict() for outcome in outcomes],
    }  # fmt: skip
    with whole_file(path) as part:
        part.write_text(json.dumps(body, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def write_html(film: Film, outcomes: Sequence[Outcome], path: Path) -> None:
    """The outcomes as one page that needs nothing else, whole or not at all."""
    parts = []
    for outcome in outcomes:
        state = "passed" if outcome.passed else "failed"
        faults = "".join(f"<li>{html.escape(str(fault))}</li>" for fault in outcome.faults)
        note = f"<p><small>{html.escape(outcome.note)}</small></p>" if outcome.note else ""
        parts.append(
            f'<section id="{outcome.name}"><h2>{html.escape(outcome.title)} <span class="{state}">{state}</span></h2>'
            f"<p>{html.escape(outcome.found)}</p><p><small>expected: {html.escape(outcome.expected)}</small></p>{note}"
            f"{f'<ul>{faults}</ul>' if faults else ''}</section>"
        )
    page = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Checks of {html.escape(film.path.name)}</title><style>{STYLE}</style>"
        f"<h1>{html.escape(film.path.name)}</h1><p>{html.escape(verdict(outcomes))}</p>{''.join(parts)}</html>\n"
    )
    with whole_file(path) as part:
        part.write_text(page, encoding="utf-8")
