"""Load, save and validate measurement files: the one place where a document becomes records.

Every error is a `SchemaError` of one line: the file, the place inside of it (`$.ladders.gemm_fp32.rungs[3].rate.value`), what
was expected there and what was found.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import cattrs
from cattrs.cols import homogenous_tuple_structure_factory, mapping_structure_factory
from cattrs.errors import ForbiddenExtraKeysError
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn

from measure.errors import SchemaError
from measure.files import write_text
from measure.records import SCHEMA_VERSION, Measurements, Quantity

T = TypeVar("T")

_KEY = re.compile(r"\['([^']*)'\]")
_NUMBERS = re.compile(r"\[\s+(-?\d[^\[\]{}\"]*?)\s+\]")


def _from_1(document: dict[str, Any]) -> dict[str, Any]:
    """Version 2: a latency has cycles and time, a rung a list of builds.  What is no object is left to be refused."""

    def rung(old: Any) -> Any:
        if not isinstance(old, dict):
            return old
        build = old.get("build")
        return {**{key: value for key, value in old.items() if key != "build"}, **({"builds": [build]} if build else {})}

    def ladder(old: Any) -> Any:
        if not isinstance(old, dict) or not isinstance(old.get("rungs"), list):
            return old
        return {**old, "rungs": [rung(one) for one in old["rungs"]]}

    new = {**document, "schema": 2}
    if isinstance(document.get("latencies"), dict):
        new["latencies"] = {name: {"cycles": value} for name, value in document["latencies"].items()}
    if isinstance(document.get("ladders"), dict):
        new["ladders"] = {name: ladder(value) for name, value in document["ladders"].items()}
    return new


UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {1: _from_1}
"""One function a version: what turns a document of that version into one of the next."""


class _FieldError(Exception):
    """What was expected and what was found, before its place is known."""


def _found(value: object) -> str:
    """A value in a reader's words."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return f"the text {value[:40]!r}"
        case list():
            return f"a list of {len(value)}"
        case dict():
            return "an object"
    return repr(value)


def _float(value: object, _: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _FieldError(f"expected a number, found {_found(value)}")
    if not math.isfinite(value):
        raise _FieldError(f"expected a finite number, found {value!r}")
    return float(value)


def _int(value: object, _: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _FieldError(f"expected a whole number, found {_found(value)}")
    return value


def _bool(value: object, _: object) -> bool:
    if not isinstance(value, bool):
        raise _FieldError(f"expected true or false, found {_found(value)}")
    return value


def _str(value: object, _: object) -> str:
    if not isinstance(value, str):
        raise _FieldError(f"expected text, found {_found(value)}")
    return value


def _literal(value: object, kind: Any) -> Any:
    allowed = typing.get_args(kind)
    if not isinstance(value, str) or value not in allowed:
        raise _FieldError(f"expected one of {', '.join(allowed)}, found {_found(value)}")
    return value


def _guarded(structure: Callable[[Any, Any], Any], shape: type, words: str) -> Callable[[Any, Any], Any]:
    """Refuse anything but `shape` before cattrs iterates over it: it would take a text for a list of letters."""

    def guarded(value: Any, kind: Any) -> Any:
        if not isinstance(value, shape):
            raise _FieldError(f"expected {words}, found {_found(value)}")
        return structure(value, kind)

    return guarded


def _origin_is(origin: object) -> Callable[[Any], bool]:
    return lambda kind: typing.get_origin(kind) is origin


def _converter() -> cattrs.Converter:
    converter = cattrs.Converter()
    for scalar, hook in ((float, _float), (int, _int), (bool, _bool), (str, _str)):
        converter.register_structure_hook(scalar, hook)
    converter.register_structure_hook_func(_origin_is(typing.Literal), _literal)

    def record(kind: Any, conv: cattrs.Converter) -> Callable[[Any, Any], Any]:
        return _guarded(make_dict_structure_fn(kind, conv, _cattrs_forbid_extra_keys=True), dict, "an object")

    def array(kind: Any, conv: cattrs.Converter) -> Callable[[Any, Any], Any]:
        items = typing.get_args(kind)
        structure = homogenous_tuple_structure_factory(tuple[items[0], ...], conv)  # type: ignore[valid-type]
        if items[-1] is Ellipsis:
            return _guarded(structure, list, "a list")

        def fixed(value: list[Any], kind: Any) -> Any:
            if len(value) != len(items):
                raise _FieldError(f"expected a list of {len(items)}, found {_found(value)}")
            return structure(value, kind)

        return _guarded(fixed, list, f"a list of {len(items)}")

    def mapping(kind: Any, conv: cattrs.Converter) -> Callable[[Any, Any], Any]:
        return _guarded(mapping_structure_factory(kind, conv, structure_to=dict), dict, "an object")

    converter.register_structure_hook_factory(dataclasses.is_dataclass, record)
    converter.register_structure_hook_factory(_origin_is(tuple), array)
    converter.register_structure_hook_factory(_origin_is(Mapping), mapping)
    converter.register_unstructure_hook_factory(
        dataclasses.is_dataclass,
        lambda kind: make_dict_unstructure_fn(kind, converter, _cattrs_omit_if_default=True),
    )
    return converter


_CONVERTER = _converter()


def _words(error: BaseException, _: type | None) -> str:
    """cattrs' exceptions in a reader's words."""
    if isinstance(error, _FieldError):
        return str(error)
    if isinstance(error, KeyError):
        return "expected this field, found none"
    if isinstance(error, ForbiddenExtraKeysError):
        return f"unknown field {', '.join(sorted(error.extra_fields))}"
    return f"cannot be read ({type(error).__name__}: {error})"


def from_document(document: object, where: str = "measurements") -> Measurements:
    """Turn a parsed JSON document into records; `where` names it in errors.  Raises SchemaError."""
    if not isinstance(document, dict):
        raise SchemaError(f"{where}: $: expected an object, found {_found(document)}")
    version = document.get("schema")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        shown = "none" if "schema" not in document else _found(version)
        raise SchemaError(f"{where}: $.schema: expected a schema version from 1 to {SCHEMA_VERSION}, found {shown}", "$.schema")
    if version > SCHEMA_VERSION:
        raise SchemaError(
            f"{where}: $.schema: expected a schema version up to {SCHEMA_VERSION}, found {version}: it needs a newer release",
            "$.schema",
        )
    while version < SCHEMA_VERSION:
        document = UPGRADES[version](document)
        version += 1
    try:
        result = _CONVERTER.structure(document, Measurements)
    except Exception as error:
        problems = []
        for line in cattrs.transform_error(error, format_exception=_words):
            what, _, path = line.rpartition(" @ ")
            problems.append((_KEY.sub(r".\1", path), what))
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise SchemaError(f"{where}: {problems[0][0]}: {problems[0][1]}{more}", problems[0][0]) from None
    for path, what in _problems(result):
        raise SchemaError(f"{where}: {path}: {what}", path)
    return result


def load(path: Path) -> Measurements:
    """Read and validate one file.  Raises SchemaError for a missing, unreadable, truncated or invalid one."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SchemaError(f"{path}: no such measurement file") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise SchemaError(f"{path}: cannot be read: {reason}") from None
    try:
        document = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        if not isinstance(error, json.JSONDecodeError):
            raise SchemaError(f"{path}: not a JSON document: nested too deeply") from None
        cut = "ends too early (truncated?)" if error.pos >= len(text.rstrip()) - 1 else f"not JSON: {error.msg}"
        raise SchemaError(f"{path}: line {error.lineno} column {error.colno}: {cut}") from None
    return from_document(document, str(path))


def structure(value: object, kind: type[T], where: str) -> T:
    """Plain JSON values as a record of one type.  Raises SchemaError of one line."""
    try:
        return _CONVERTER.structure(value, kind)
    except Exception as error:
        lines = cattrs.transform_error(error, format_exception=_words)
        what, _, path = lines[0].rpartition(" @ ")
        place = _KEY.sub(r".\1", path).removeprefix("$")
        raise SchemaError(f"{where}{place}: {what}") from None


def unstructure(record: object) -> Any:
    """Plain JSON values of any record; fields that hold their default are left out."""
    return _CONVERTER.unstructure(record)


def dumps(measurements: Measurements) -> str:
    """The text of a file: one field a line, a list of numbers on one line.  Raises SchemaError if it breaks the schema."""
    document = json.loads(json.dumps(unstructure(measurements)))
    from_document(document, "measurements to save")
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    return _NUMBERS.sub(lambda found: "[" + re.sub(r"\s+", " ", found[1]) + "]", text) + "\n"


def save(measurements: Measurements, path: Path) -> Path:
    """Write a file whole or not at all.  Raises OutputError where it cannot be written, SchemaError for invalid records."""
    return write_text(path, dumps(measurements))


def _quantities(record: object, path: str) -> Iterator[tuple[str, Quantity]]:
    """Every quantity of a record with its place."""
    if isinstance(record, Quantity):
        yield path, record
    elif dataclasses.is_dataclass(record):
        for field in dataclasses.fields(record):
            yield from _quantities(getattr(record, field.name), f"{path}.{field.name}")
    elif isinstance(record, Mapping):
        for key, value in record.items():
            yield from _quantities(value, f"{path}.{key}")
    elif isinstance(record, tuple) and record and not isinstance(record[0], int | float | str):
        for index, value in enumerate(record):
            yield from _quantities(value, f"{path}[{index}]")


def _problems(found: Measurements) -> Iterator[tuple[str, str]]:
    """What types cannot say: lengths that must agree, order of quartiles, names that must differ."""
    for path, quantity in _quantities(found, "$"):
        if quantity.low is not None and quantity.high is not None and not quantity.low <= quantity.value <= quantity.high:
            yield path, f"expected low <= value <= high, found {quantity.low} {quantity.value} {quantity.high}"
        if quantity.n is not None and quantity.n < 1:
            yield f"{path}.n", f"expected at least 1 sample, found {quantity.n}"
        if quantity.source in ("datasheet", "published") and not quantity.reference:
            yield f"{path}.reference", f"expected the citation of a {quantity.source} figure, found none"
    for name, ladder in found.ladders.items():
        names = [rung.name for rung in ladder.rungs]
        for index, rung in enumerate(ladder.rungs):
            if rung.name in names[:index]:
                yield f"$.ladders.{name}.rungs[{index}].name", f"expected a new name, found {rung.name!r} again"
            if rung.rate is not None and rung.rate.value <= 0:
                yield f"$.ladders.{name}.rungs[{index}].rate.value", f"expected more than 0, found {rung.rate.value}"
            if rung.rate is not None and rung.rate.source == "measured" and not rung.verified:
                yield f"$.ladders.{name}.rungs[{index}].rate", "expected no measured rate that was not verified, found one"
    for name, sweep in found.sweeps.items():
        series_names = [series.name for series in sweep.series]
        for index, series in enumerate(sweep.series):
            if series.name in series_names[:index]:
                yield f"$.sweeps.{name}.series[{index}].name", f"expected a new name, found {series.name!r} again"
            if not series.values:
                yield f"$.sweeps.{name}.series[{index}].values", "expected at least one value, found none"
    for name, roof in found.roofs.items():
        for field in ("measured", "computed", "datasheet", "published"):
            roof_quantity = getattr(roof, field)
            if roof_quantity is not None and roof_quantity.value <= 0:
                yield f"$.roofs.{name}.{field}.value", f"expected more than 0, found {roof_quantity.value}"
    index_trace, launch, divergence = found.traces.index, found.traces.launch, found.traces.divergence
    if index_trace is not None and len(index_trace.values) != index_trace.blocks * index_trace.threads:
        expected = index_trace.blocks * index_trace.threads
        yield "$.traces.index.values", f"expected {expected} values (blocks x threads), found {len(index_trace.values)}"
    if launch is not None:
        for field in ("sm", "start_ns", "end_ns"):
            values = getattr(launch, field)
            if len(values) != launch.blocks:
                yield f"$.traces.launch.{field}", f"expected {launch.blocks} values (blocks), found {len(values)}"
        for index, (start, end) in enumerate(zip(launch.start_ns, launch.end_ns, strict=False)):
            if end < start:
                yield f"$.traces.launch.end_ns[{index}]", f"expected {start} or later (its start), found {end}"
    if divergence is not None and len(divergence.start) != len(divergence.end):
        yield "$.traces.divergence.end", f"expected {len(divergence.start)} values (lanes), found {len(divergence.end)}"
