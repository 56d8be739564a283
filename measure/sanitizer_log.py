"""What compute-sanitizer printed, read: its reports with the kernel that each is about, and its own count of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MARK = "========="
_SUMMARY = re.compile(r"ERROR SUMMARY: (\d+) errors?|RACECHECK SUMMARY: (\d+) hazards? displayed")
_WHERE = re.compile(r"\bat (?:0x[0-9a-f]+ in )?(?!__(?:shared|global|local)__)([A-Za-z_]\w*)(?=[+(\s]|$)")
_NO_REPORT = ("COMPUTE-SANITIZER", "SUMMARY", "Target application returned", "Internal Sanitizer", "Error: process didn't")
_REFUSALS = ("Device not supported", "Unable to find injection library", "requires a newer driver", "Insufficient privileges")


@dataclass(frozen=True, slots=True)
class Report:
    """One finding: what it is, and the kernel it is about (empty where none is named: the host's own calls)."""

    what: str
    kernel: str


@dataclass(frozen=True, slots=True)
class Log:
    """All of one run: `counted` is the tool's own number of findings, None where it did not come to its summary."""

    reports: tuple[Report, ...]
    counted: int | None
    refusal: str = ""


def read(text: str) -> Log:
    """Read what a run printed, the program's own output among it."""
    lines = [line.removeprefix(MARK) for line in text.splitlines() if line.startswith(MARK)]
    counts = [int(found[1] or found[2]) for line in lines if (found := _SUMMARY.search(line))]
    refusal = next((line.strip() for line in text.splitlines() if any(words in line for words in _REFUSALS)), "")
    return Log(tuple(_reports(lines)), counts[-1] if counts else None, refusal.removeprefix(MARK).strip())


def _reports(lines: list[str]) -> Iterator[Report]:
    """A report begins one space in; what belongs to it stands further in and names the kernel first."""
    what, kernel = "", ""
    for line in lines:
        if re.match(r" \S", line) and not any(words in line for words in _NO_REPORT):
            if what:
                yield Report(what, kernel)
            found = _WHERE.search(line)
            what, kernel = re.sub(r"\s+at .*", "", line.strip()), found[1] if found else ""
        elif what and not kernel and (found := _WHERE.search(line)):
            kernel = found[1]
    if what:
        yield Report(what, kernel)
