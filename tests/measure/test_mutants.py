"""The mutants: each is one change that compiles, and the harness reports one that passes for right."""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from kernels.catalogue import KernelError, Mutant
from kernels.families import FAMILIES, Family, Unit
from measure import mutants
from measure.mutants import Case, Outcome, Row, judge, run
from measure.records import Device, Ladder, Measurements, Quantity, Run, Rung, SubjectRun, Verification
from measure.subject import Subject

KINDS = {"off_by_one", "skipped_tile", "zeros", "nan", "stale"}
TOLERANCE = 1e-6
SOURCE = Path("one.cu")
SUBJECT = Subject("one", "One", "ladders.one", (SOURCE,), lambda bench: {}, lambda found, raw, context: found)
LISTED = [(family, mutant) for family in FAMILIES for mutant in family.mutants]


def document(error: float, tolerance: float = TOLERANCE) -> Measurements:
    """A file with one ladder of one rung, which was found to have this error."""
    passed = math.isfinite(error) and error <= tolerance
    rate = Quantity(1.0, "TFLOP/s", "measured") if passed else None
    one = Rung("first", "First", "-", rate=rate, verification=Verification(passed, error, error, tolerance, "float64"))
    ladder = Ladder("One", "1 x 1 x 1", "fp32", None, "fp32", None, (one,))
    return Measurements(2, Device("GPU", "gpu"), None, ladders={"one": ladder})


def raw(error: float | None, odd_sizes: bool = True, refusal: str = "") -> dict[str, object]:
    one = {"error": error, "error_after": error, "tolerance": TOLERANCE, "odd_sizes": odd_sizes, "refusal": refusal}
    return {"contenders": {"first": one}}


def case(kind: str = "zeros") -> Case:
    return Case("one", SUBJECT, Mutant(kind, "first", "a", "b"), SOURCE)  # type: ignore[arg-type]


WHOLE = Case("one", SUBJECT)
RIGHT = Outcome(document(1e-7), raw(1e-7))
WRONG = Outcome(document(1.0), raw(1.0))


# ---- the substitutions ----------------------------------------------------------------------------------------------


def broken_builds(family: Family, mutant: Mutant) -> Iterator[str]:
    """What is wrong with a mutant as a change: it has to compile, and to change the machine code of its rung."""
    for unit in family.of(mutant.rung):
        try:
            if unit.build("sm_90a", mutant=mutant).code != unit.build("sm_90a").code:
                return
        except KernelError as error:
            yield f"{family.name} {mutant.kind} of {mutant.rung}: {error}"
            return
    yield f"{family.name} {mutant.kind} of {mutant.rung}: the machine code is the same as before"


def test_every_mutant_applies_once_compiles_and_changes_the_code() -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="the CUDA compiler comes with the extra dev")
    with ThreadPoolExecutor(2) as pool:
        assert [fault for one in pool.map(lambda pair: list(broken_builds(*pair)), LISTED) for fault in one] == []


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_family_has_every_kind(family: Family) -> None:
    assert {mutant.kind for mutant in family.mutants} == KINDS


def test_a_mutant_must_fit_in_one_place() -> None:
    mutant = Mutant("zeros", "first", "x", "y")
    assert mutant.apply("a x b") == "a y b"
    for text in ("a b", "x x"):
        with pytest.raises(KernelError, match="not once"):
            mutant.apply(text)


def test_every_mutant_has_a_subject_that_verifies_it() -> None:
    listed = mutants.cases()
    assert len([one for one in listed if one.mutant is not None]) == len(LISTED)
    measured = {one.subject.name for one in listed if one.mutant is None}
    assert measured == {one.subject.name for one in listed if one.mutant is not None}
    for one in listed:
        assert one.source is None or one.source in one.subject.sources


def test_a_mutant_that_nobody_verifies_is_a_mistake() -> None:
    unit = Unit("lost", "first", Path("lost.cu"), ("f",))
    with pytest.raises(KernelError, match="lost first: expected one subject that verifies it, found none"):
        mutants.cases((Family("lost", (unit,), (Mutant("nan", "first", "a", "b"),)),), (SUBJECT,))
    with pytest.raises(KernelError, match="has no 'second'; it has first"):
        mutants.cases((Family("lost", (unit,), (Mutant("nan", "second", "a", "b"),)),), (SUBJECT,))


# ---- the judgement --------------------------------------------------------------------------------------------------


def test_a_refused_mutant_is_caught_and_one_that_passes_is_not() -> None:
    assert judge(case(), WRONG) == Row("one", "first", "zeros", 1.0, TOLERANCE, True, "error over tolerance")
    survivor = judge(case(), RIGHT)
    assert survivor.caught is False and not survivor.right and survivor.words == "passed as right"


def test_why_a_mutant_was_refused_is_said() -> None:
    assert judge(case("nan"), Outcome(document(math.inf), raw(None))).words == "not finite"
    odd = Outcome(
        replace(
            document(1.0),
            ladders={
                "one": replace(
                    document(1.0).ladders["one"],
                    rungs=(Rung("first", "First", "-", verification=Verification(False, 1e-7, 1e-7, TOLERANCE, "float64")),),
                )
            },
        ),
        raw(1e-7, odd_sizes=False),
    )
    assert judge(case("off_by_one"), odd).words == "wrong at an odd size" and judge(case(), odd).caught


@pytest.mark.parametrize(
    ("outcome", "caught"),
    [
        (Outcome(failure="did not end within 120 s", timed_out=True), True),
        (Outcome(failure="CUDARuntimeError: cudaErrorIllegalAddress: an illegal memory access was encountered"), True),
        (Outcome(failure="measure: no GPU can be measured: CuPy is not installed"), None),
        (Outcome(failure="ImportError: something is missing"), None),
        (Outcome(replace(document(0.0), absent={"ladders.one": "the chain does not end where it must"})), True),
        (Outcome(replace(document(0.0), absent={"ladders.one": "first.cu does not compile: error"})), None),
        (Outcome(replace(document(0.0), absent={"ladders.one": "OutOfMemoryError: Out of memory"})), None),
        (Outcome(document(1.0), raw(None, refusal="first.cu does not compile: error")), None),
        (Outcome(Measurements(2, Device("GPU", "gpu"), None)), None),
    ],
    ids=["endless", "fault", "no gpu", "broken harness", "absent", "absent uncompiled", "memory", "uncompiled", "nothing"],
)
def test_only_what_the_kernel_did_counts_as_caught(outcome: Outcome, caught: bool | None) -> None:
    """A mutant that never ran, for whatever reason, says nothing about verification."""
    assert judge(case(), outcome).caught is caught


def test_a_probe_that_is_measured_although_broken_is_a_survivor() -> None:
    """Probes have no verification in the file: they are absent if wrong, and in it if they passed."""
    there = Measurements(2, Device("GPU", "gpu"), Run("2026-12-02", subjects={"one": SubjectRun("2026-12-02", 1.0)}))
    row = judge(case("stale"), Outcome(there))
    assert row.caught is False and row.words == "measured as if it were right"


def test_unbroken_kernels_have_to_pass_before_a_mutant_means_anything() -> None:
    asked: list[Case] = []

    def runner(one: Case) -> Outcome:
        asked.append(one)
        return WRONG

    rows = run((WHOLE, case()), runner, jobs=1)
    assert [row.right for row in rows] == [False, False] and rows[0].words == "wrong: first"
    assert asked == [WHOLE] and rows[1].caught is None


def test_a_rung_that_this_gpu_cannot_run_is_skipped() -> None:
    found = document(0.0)
    refused = Rung("first", "First", "-", absent="needs compute capability 9.0")
    ladder = replace(found.ladders["one"], rungs=(refused, replace(found.ladders["one"].rungs[0], name="second")))
    rows = run((WHOLE, case()), lambda one: Outcome(replace(found, ladders={"one": ladder})), jobs=1)
    assert rows[1].skipped and rows[1].right and rows[1].words == "needs compute capability 9.0"


# ---- the command ----------------------------------------------------------------------------------------------------


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutants, "cases", lambda families: (WHOLE, case("zeros"), case("stale")))


def only_broken(outcome: Callable[[Mutant], Outcome]) -> Callable[[Case], Outcome]:
    return lambda one: RIGHT if one.mutant is None else outcome(one.mutant)


def test_a_survivor_fails_the_command_and_stands_in_the_table(
    listed: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mutants.json"
    runner = only_broken(lambda mutant: RIGHT if mutant.kind == "stale" else WRONG)
    assert mutants.main(["-o", str(path)], runner) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1] == "1 of 2 mutants caught"
    assert [line.split()[:3] + line.split()[5:6] for line in printed[1:4]] == [
        ["one", "one", "unbroken", "-"],
        ["one", "first", "zeros", "yes"],
        ["one", "first", "stale", "NO"],
    ]
    rows = json.loads(path.read_text())
    assert [(row["kind"], row["caught"]) for row in rows] == [("unbroken", False), ("zeros", True), ("stale", False)]


def test_the_command_succeeds_when_all_are_caught(listed: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert mutants.main([], only_broken(lambda mutant: WRONG)) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "2 of 2 mutants caught"


def test_an_output_that_cannot_be_written_costs_no_minutes(
    listed: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert mutants.main(["-o", str(tmp_path / "file" / "t.json")], only_broken(lambda mutant: pytest.fail("it ran"))) == 2
    error = capsys.readouterr().err
    assert error.startswith("mutants: ") and "cannot be written" in error and error.count("\n") == 1


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="there may be a GPU here")
def test_without_a_gpu_the_command_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert mutants.main([]) == 2
    assert capsys.readouterr().err.startswith("mutants: no GPU can be measured")


# ---- the broken copy ------------------------------------------------------------------------------------------------


def test_what_is_measured_is_the_broken_copy(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    """The source that the child would build has the change; the project's own has not; nothing else differs."""
    family = next(family for family in FAMILIES if family.mutants)
    mutant = family.mutants[0]
    source = family.of(mutant.rung)[0].source
    seen: dict[str, str] = {}

    def look(tree: Path, subject: str, seconds: float) -> Outcome:
        seen.update({path.relative_to(tree).as_posix(): path.read_text() for path in (tree / "kernels").rglob("*.cu")})
        assert (tree / "measure" / "brief.py").exists() and subject == "one"
        return RIGHT

    monkeypatch.setattr(mutants, "_measure", look)
    before = source.read_text()
    mutants.measure_broken(Case(family.name, SUBJECT, mutant, source))
    assert source.read_text() == before
    differing = {name for name, text in seen.items() if text != (root / name).read_text()}
    assert differing == {source.relative_to(root).as_posix()}
    assert seen[differing.pop()] == mutant.apply(before)


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="there may be a GPU here")
def test_the_copy_is_measured_by_the_suite() -> None:
    """Without a GPU it ends in the suite's own words, and in no verdict."""
    family = next(family for family in FAMILIES if family.mutants)
    real = next(one for one in mutants.cases((family,)) if one.mutant is not None)
    outcome = mutants.measure_broken(real)
    assert outcome.failure.startswith("measure: no GPU can be measured: CuPy is not installed")
    assert judge(real, outcome).caught is None
