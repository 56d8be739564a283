"""Every figure on screen is the file's, as rounded, and no scene holds one of its own."""

from __future__ import annotations

import ast
import functools
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from manim import tempconfig

from audio.timeline_file import load
from audio.tracks import DEFAULT, HERE
from measure.dataset import MEASUREMENTS, Dataset, known_names
from scenes.film import FILM, Row
from scenes.render import claims_file
from scenes.render.claims_file import Span
from scenes.render.errors import RequestError
from scenes.stage.claims import Claim, ClaimLog, figure, numeral
from scenes.stage.passage import Context, Passage, Window

SONG = load(HERE / f"{DEFAULT}.timeline.json")
ROOT = Path(__file__).resolve().parents[2]
SCENES = sorted([*(ROOT / "scenes").glob("*.py"), *(ROOT / "scenes" / "props").glob("*.py")])
DATASETS = {"measured": (), "published": ("rtx-3090-published",)}

# What a numeral counts when it is of the measured kinds; axis ticks and running clocks have kinds of their own.
UNIT = r"(?:[TG]?FLOP/s|FLOP/B|[TGM]B/s|[TGM]?B\b|cycles|[µnm]s\b|s\b|%|×(?! \d)|SMs|M?Hz|W\b)"
MEASURED = re.compile(rf"(?<![\w.])\d[\d ,.]*\s?{UNIT}")
# Numerals of code and structure, and references, that scenes may write into their texts.
STRUCTURE = (
    r"Ch\. \d+", r"\b(?:thread|lane|warp|block) \d+", r"threadIdx\.x < 16", r"offset = lane \* 4", r"times 4 bytes",
    r"zero = clock64\(\)", r"1 beat = ", r"float64", r"[\d.]*f",
    r"2\(N − 1\)",
)  # fmt: skip


# ---- the figures that the film shows ---------------------------------------------------------------------------------


@functools.cache
def drawn(kind: str, row: Row) -> tuple[tuple[Claim, ...], frozenset[tuple[str, str]]]:
    """Claims and (kind, text) of a scene drawn small on every beat."""
    with tempconfig({"pixel_width": 96, "pixel_height": 54, "frame_rate": 30}):
        context = Context(Dataset.open(DATASETS[kind]), SONG, row.first_bar, row.bars)
        passage: Passage = row.load()(context, Window(0, 0))
        passage.setup()
        passage.construct()
        pixels, texts = np.zeros((54, 96), np.uint32), set()
        for beat in range(int(passage.clock.beats)):
            passage.paint(passage.clock.frame(beat + 0.5), pixels)
            texts |= {(placed.kind, placed.text) for placed in passage.placed}
    return passage.log.claims, frozenset(texts)


def raw(document: Any, key: str) -> Any:
    """A quantity straight from the JSON of a measurement file, members of lists by their name."""
    for step in key.split("."):
        document = next(item for item in document if item["name"] == step) if isinstance(document, list) else document[step]
    return document


@pytest.mark.parametrize("row", FILM, ids=lambda row: row.name)
@pytest.mark.parametrize("kind", DATASETS)
def test_every_claim_is_the_files_value_as_rounded(kind: str, row: Row) -> None:
    for claim in drawn(kind, row)[0]:
        reading = Dataset.open(DATASETS[kind]).get(claim.key)
        assert reading is not None, claim
        if not claim.key.startswith("derived."):
            document = json.loads((MEASUREMENTS / f"{claim.file}.json").read_text())
            found = raw(document, claim.key)
            assert (claim.value, claim.unit, claim.source) == (found["value"], found["unit"], found["source"])
            assert claim.device == document["device"]["name"]
        exact = Decimal(repr(reading.quantity.value * claim.scale))
        rounded = exact.quantize(Decimal(1).scaleb(-claim.digits), rounding=ROUND_HALF_EVEN)
        assert Decimal(claim.numeral.replace(" ", "")) == rounded, claim
        assert claim.text.startswith(claim.numeral)


@pytest.mark.parametrize("row", FILM, ids=lambda row: row.name)
@pytest.mark.parametrize("kind", DATASETS)
def test_no_numeral_of_the_measured_kinds_is_shown_without_a_claim(kind: str, row: Row) -> None:
    claims, texts = drawn(kind, row)
    assert {text for placed, text in texts if placed == "figure"} <= {claim.text for claim in claims}
    loose = [text for placed, text in texts if placed not in ("figure", "axis", "clock") and MEASURED.search(text)]
    assert not loose


def test_the_film_does_make_claims() -> None:
    keys = {claim.key for row in FILM for claim in drawn("measured", row)[0]}
    assert {"roofs.fp32.measured", "traces.launch.duration", "derived.achieved.gemm_fp32.uncoalesced"} <= keys
    sources = {claim.source for row in FILM for claim in drawn("published", row)[0]}
    assert "published" in sources and "measured" not in sources


# ---- the check of a finished film's claims ---------------------------------------------------------------------------


def body(**changes: Any) -> dict[str, Any]:
    """A claims document with one claim of the published file, changed."""
    reading = Dataset.open(["rtx-3090-published"]).get("ladders.gemm_fp32.rungs.tile_1d.rate")
    assert reading is not None
    log = ClaimLog("roof-2")
    log.saw(figure(reading, 1), 40)
    claim = replace(log.claims[0], **changes)
    return {"frames": 100, "spans": [asdict(Span("roof-2", 30, 130, 0))], "claims": [asdict(claim)],
            "measurements": [{"file": "rtx-3090-published"}]}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"numeral": "9.4", "text": "9.4 TFLOP/s"}, "which rounds to 9.3"),
        ({"text": "93 TFLOP/s"}, "which rounds to 9.3"),
        ({"digits": 0}, "which rounds to 9"),
        ({"scale": 1000.0}, "which rounds to 9300.0"),
        ({"key": "ladders.gemm_fp32.rungs.tile_2d.rate"}, "which rounds to 25.1"),
        ({"key": "ladders.gemm_fp32.rungs.none.rate"}, "no such figure"),
        ({"source": "measured"}, "its source is 'published'"),
        ({"device": "NVIDIA H200"}, "its device is 'NVIDIA GeForce RTX 3090'"),
        ({"unit": "TB/s"}, "its unit in the file is 'TFLOP/s'"),
        ({"last_frame": 130}, "outside of its scene"),
    ],
)
def test_a_claim_that_is_not_the_files_is_found(changes: dict[str, Any], told: str) -> None:
    problems = list(claims_file.check(body(**changes), Dataset.open(["rtx-3090-published"])))
    assert problems and told in problems[0], problems


def test_a_claim_that_holds_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "film.claims.json").write_text(json.dumps(body()))
    assert claims_file.main([str(tmp_path / "film.claims.json")]) == 0
    (tmp_path / "film.claims.json").write_text(json.dumps(body(numeral="9.2", text="9.2 TFLOP/s")))
    assert claims_file.main([str(tmp_path / "film.claims.json")]) == 1
    assert "1 claims, 1 wrong" in capsys.readouterr().out
    (tmp_path / "film.claims.json").write_text("{")
    with pytest.raises(RequestError, match="expected the claims of a film"):
        claims_file.read(tmp_path / "film.claims.json")


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (0.125, 2, "0.12"),
        (0.375, 2, "0.38"),
        (2.5, 0, "2"),
        (3.5, 0, "4"),
        (9.95, 1, "10.0"),
        (1234567.0, 0, "1 234 567"),
        (1.005, 2, "1.00"),
    ],
)
def test_numerals_round_half_to_even_in_decimal(value: float, digits: int, shown: str) -> None:
    assert numeral(value, digits) == shown


# ---- no figure is typed into a scene ---------------------------------------------------------------------------------


def texts_of(source: str) -> Iterator[tuple[int, str]]:
    """Strings of a module that are no docstrings, with their lines."""
    tree = ast.parse(source)
    places = (ast.Module, ast.ClassDef, ast.FunctionDef)
    first = [node.body[0] for node in ast.walk(tree) if isinstance(node, places) and node.body]
    documents = {id(node.value) for node in first if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            yield node.lineno, node.value


def numbers_of(source: str) -> Iterator[tuple[int, Decimal, str, int]]:
    """Numbers of a module as they are written without trailing noughts, with their lines, what they are named, and their list.

    The name is that of the variable, argument, parameter or key that the number stands for; a list is a tuple or list of three
    or more (a point, a colour, a ladder), 0 where there is none.
    """
    tree, lists, named = ast.parse(source), dict[int, int](), dict[int, str]()

    def name(value: ast.AST | None, told: str) -> None:
        named.update(
            {id(part): told for part in (ast.walk(value) if value is not None else ())}
        )  # inner ones come later and win

    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple | ast.List) and len(node.elts) >= 3:
            lists |= {id(part): id(node) for part in ast.walk(node)}
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Tuple):
            if isinstance(node.value, ast.Tuple):
                for target, value in zip(node.targets[0].elts, node.value.elts, strict=False):
                    name(value, ast.unparse(target))
        elif isinstance(node, ast.Assign):
            name(node.value, ast.unparse(node.targets[0]))
        elif isinstance(node, ast.AnnAssign | ast.AugAssign):
            name(node.value, ast.unparse(node.target))
        elif isinstance(node, ast.keyword):
            name(node.value, node.arg or "")
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                name(value, ast.unparse(key) if key is not None else "")
        elif isinstance(node, ast.arguments):
            optional = [*node.posonlyargs, *node.args][-len(node.defaults) :] if node.defaults else []
            for given, default in zip([*optional, *node.kwonlyargs], [*node.defaults, *node.kw_defaults], strict=True):
                name(default, given.arg)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            written = (ast.get_source_segment(source, node) or "0").replace("_", "")
            number = Decimal(int(written, 0) if written[:2].lower() in ("0x", "0b", "0o") else written)
            yield node.lineno, number.normalize(), named.get(id(node), ""), lists.get(id(node), 0)


def typed_texts(source: str) -> list[str]:
    """Free-standing numerals in a module's texts, other than those of code, structure and references."""
    found = []
    for line, text in texts_of(source):
        left = re.sub("|".join(STRUCTURE), "", text)
        if re.search(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w])", left):
            found.append(f"line {line}: {text!r}")
    return found


def leading(value: float | Decimal, digits: int) -> str:
    return f"{value:.{digits - 1}e}"


@functools.cache
def measured_values() -> tuple[tuple[str, float], ...]:
    """Every quantity of the files that come with the project, by its place."""

    def walk(node: Any, place: str) -> Iterator[tuple[str, float]]:
        if isinstance(node, dict) and "value" in node and "source" in node:
            yield place, node["value"]
        elif isinstance(node, dict | list):
            for key, item in node.items() if isinstance(node, dict) else enumerate(node):
                yield from walk(item, f"{place}.{key}")

    return tuple(
        found for name in known_names() for found in walk(json.loads((MEASUREMENTS / f"{name}.json").read_text()), name)
    )


# What a figure that was typed in would be named.
TOLD = re.compile(
    r"(?i)speed|rate|bandwidth|throughput|latenc|cycles|clock_?m?hz|flops?\b|ridge|slowdown|measured|achieved|sm_?count"
)
SHOWN = re.compile(r"\.(roofs|latencies|traces)\.|\.rate$|\.sm_count$|\.bandwidth$|\.bus_bandwidth\.")
SURE = 5  # digits, from which on a number is no coordinate that meets a value by chance
SEVERAL = 3  # numbers of one list


def typed_numbers(source: str) -> list[str]:
    """Numbers of a module that are a measured value to all of their digits.

    The files hold some thousand values and the scenes as many coordinates, so a number of three digits meets a value by chance
    whenever a GPU is measured anew.  It counts where chance does not explain it: it has five digits or more (at the value's own
    scale or that of a prefix of its unit); or it has three and is named as what it would be (`speed`, `cycles`); or three
    different ones, and the better part of their list, are what the film shows: a ladder that was typed in.
    """
    found: list[tuple[int, str]] = []
    members: dict[int, set[Decimal]] = {}
    met: dict[int, set[Decimal]] = {}
    for line, number, name, place in numbers_of(source):
        members.setdefault(place, set()).add(number)
        digits = len(number.as_tuple().digits)
        if digits < 3:
            continue
        for key, value in values_of(leading(number, digits).split("e")[0], digits):
            power, own = int(leading(value, digits).split("e")[1]), int(leading(number, digits).split("e")[1])
            told = f"line {line}: {number} is {key} = {value}"
            if (digits >= SURE and (power - own) % 3 == 0) or (power == own and TOLD.search(name)):
                found.append((0, told))
            elif power == own and SHOWN.search(key):
                met.setdefault(place, set()).add(number)
                found.append((place or -1, told))
    ladders = {place for place, some in met.items() if place and len(some) >= SEVERAL and 2 * len(some) > len(members[place])}
    return [told for place, told in found if place == 0 or place in ladders]


@functools.cache
def values_by_digits(digits: int) -> dict[str, list[tuple[str, float]]]:
    """The measured values by their first digits, rounded."""
    found: dict[str, list[tuple[str, float]]] = {}
    for key, value in measured_values():
        found.setdefault(leading(value, digits).split("e")[0], []).append((key, value))
    return found


def values_of(mantissa: str, digits: int) -> list[tuple[str, float]]:
    return values_by_digits(digits).get(mantissa, [])


@pytest.mark.parametrize("path", SCENES, ids=lambda path: path.stem)
def test_no_scene_holds_a_measured_figure(path: Path) -> None:
    assert path.stat().st_size == 0 or not typed_numbers(path.read_text()), "read it from the measurements: self.data.get(...)"
    assert not typed_texts(path.read_text()), "show it with figure() and Number, or add a numeral of code to STRUCTURE"


def test_a_typed_figure_would_be_found() -> None:
    for number in ("64.9", "33.2", "8.78", "1978.7", "0.4981", "132", "35.6", "936.2"):
        values = [value for _, value in measured_values()]
        known = any(leading(value, 3) == leading(Decimal(number), 3) for value in values)
        assert bool(typed_numbers(f"SPEED = {number}\n")) or not known, number
    assert typed_numbers("SPEED = 35.6\n") and not typed_numbers("X, Y = 96, 1080.0\n")
    rates = [value for key, value in measured_values() if key.startswith("nvidia-h200.ladders") and key.endswith(".rate")]
    assert typed_numbers(f"LADDER = [{', '.join(f'{rate:.3g}' for rate in rates)}]\n")
    assert not typed_numbers(f"KEYS = [(0, (1.5, 35.6, 2.0)), (4, (2.5, {rates[0]:.3g}, 1.0))]\n")
    for text in ("64.9 TFLOP/s", "{name}: 27", "96 % idle", "about 30"):
        assert typed_texts(f"LABEL = {text!r}\n"), text
    for text in ("Ch. 6", "roof-1", "fp32 GEMM", "tile_2d", "offset = lane * 4", "L2"):
        assert not typed_texts(f"LABEL = {text!r}\n"), text
