"""What has changed since a segment was drawn, in words: parts of its content by kind, measurements by what they are of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

NAMED = 3  # of a kind: so many are named, the others are counted
TRANSITION = "transition "
WORDS = {
    "schema": "how films are drawn", "row": "the scene's place in the film", "rungs shown before": "the steps shown before it",
    "timeline": "the music or its words", "encoder": "how the picture is coded", "fonts": "the fonts",
    "run": "the run", "device.name": "the GPU",
}  # fmt: skip
CONTAINERS = ("bound", "derived", "device", "extent", "ladders", "rungs", "series", "sweeps", "values")
SINGULAR = {"latencies": "latency", "roofs": "roof", "traces": "trace"}


def told(before: Mapping[str, str], now: Mapping[str, str], readings: Iterable[str]) -> str:
    """One line of what differs between two contents, and of these readings; empty where nothing does."""
    differ = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
    come_or_gone = any(name.startswith(TRANSITION) and not (name in before and name in now) for name in differ)
    code, rest = [], []
    for name in differ:
        if "." not in name:
            rest.append(_part(name, before.get(name), now.get(name)))
        elif not come_or_gone or (name in before and name in now):  # else it came or went with the transition
            code.append(f"{name.replace('.', '/')}.py")
    return "; ".join([*rest, *_kind("code", sorted(code, key=lambda name: (name.count("/"), name))),
                      *_kind("measurements", map(reading, readings))])  # fmt: skip


def reading(key: str) -> str:
    """A reading's key in words: "ladders.gemm_fp32.rungs.shared.rate" -> "gemm fp32 shared rate"."""
    base = key.partition("@")[0].rstrip("?#")  # marks of what was asked of it: of which GPU, whether it is there, how many
    kept = [SINGULAR.get(name, name) for name in base.split(".") if name not in CONTAINERS]
    return WORDS.get(base) or " ".join(kept or [base]).replace("_", " ")


def _part(name: str, before: str | None, now: str | None) -> str:
    if name.startswith(TRANSITION) and now is None:
        return f"drawn without the {name}"
    if name.startswith(TRANSITION):
        return f"drawn with the {name}" if before is None else f"the {name}"
    if before and now and len(now) < 20 and now[:1].isdigit():
        return f"{name} {before} -> {now}"
    return WORDS.get(name, name)


def _kind(what: str, names: Iterable[str]) -> Iterator[str]:
    """The names of one kind, as in `code (a.py, b.py and 3 more)`; nothing where there are none."""
    every = list(dict.fromkeys(names))
    if every:
        more = f" and {len(every) - NAMED} more" if len(every) > NAMED else ""
        yield f"{what} ({', '.join(every[:NAMED])}{more})"
