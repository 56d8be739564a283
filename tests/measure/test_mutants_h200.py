"""The mutants' table of an NVIDIA H200, as `python -m measure.mutants` wrote it there: nothing broken passed verification."""

import json
from collections import Counter
from pathlib import Path

import pytest

from measure.mutants import cases

TABLE = json.loads(Path(__file__).with_name("mutants-h200.json").read_text(encoding="utf-8"))
BROKEN = [row for row in TABLE if row["kind"] != "unbroken"]


def test_every_mutant_was_run_on_the_device() -> None:
    wanted = Counter((case.family, case.mutant.rung, case.mutant.kind) for case in cases() if case.mutant is not None)
    assert Counter((row["family"], row["rung"], row["kind"]) for row in BROKEN) == wanted


@pytest.mark.parametrize("row", BROKEN, ids=lambda row: f"{row['family']}-{row['rung']}-{row['kind']}")
def test_a_mutant_was_caught(row: dict[str, object]) -> None:
    assert row["caught"] is True and not row["skipped"] and row["words"]


def test_what_was_not_broken_passed() -> None:
    whole = [row for row in TABLE if row["kind"] == "unbroken"]
    assert whole and all(row["caught"] is False and row["words"] == "right" for row in whole)
    assert {row["rung"] for row in whole} == {case.subject.name for case in cases() if case.mutant is None}
