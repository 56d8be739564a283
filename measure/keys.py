"""Dotted keys into measurement records: `ladders.gemm_fp32.rungs.coalesced.rate` names one quantity of one file.

A step is a field of a record, a key of a mapping, or the `name` of a member of a list (its place where it has none).  A key
that ends at a roof or at a traffic record goes on to the field that its `best` property picks, so that the resolved key always
names a quantity.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping, Sequence

from measure.errors import DatasetKeyError
from measure.records import Quantity, Roof, Traffic


def subject_of(key: str) -> str:
    """The part of a file that is overlaid as a whole: `roofs`, `latencies`, `ladders.NAME`, `sweeps.NAME`, `traces.NAME`,
    `all_reduce`, `virtual_all_reduce`, `device` or `run`.

    Roofs go together, because a ridge between the roofs of two GPUs means nothing.
    """
    steps = key.split(".")
    if steps[0] in ("ladders", "sweeps", "traces"):
        return ".".join(steps[:2])
    return steps[0]


def step_into(value: object, steps: Sequence[str], key: str) -> object:
    """Follow steps from a record; None where something on the way is absent.

    Raises DatasetKeyError for a field that no record of that type has, the sign of a misspelt key.
    """
    for step in steps:
        if value is None:
            return None
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, tuple):
            value = next((one for index, one in enumerate(value) if getattr(one, "name", str(index)) == step), None)
        elif dataclasses.is_dataclass(value):
            names = [field.name for field in dataclasses.fields(value)]
            if step == "best" and isinstance(value, Roof | Traffic):
                value = value.best
            elif step in names:
                value = getattr(value, step)
            else:
                near = difflib.get_close_matches(step, names, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else f"; it has {', '.join(names)}"
                raise DatasetKeyError(f"key {key!r}: {type(value).__name__} has no field {step!r}{hint}")
        else:
            raise DatasetKeyError(f"key {key!r}: nothing lies below a {type(value).__name__}, so {step!r} cannot be read")
    return value


def resolve(value: object, key: str) -> tuple[str, Quantity] | None:
    """Follow a whole key from a file's records to its quantity; the key comes back with `best` replaced by the field it picks.

    None where it is absent.  Raises DatasetKeyError where the key is misspelt or names something that is no quantity.
    """
    steps = key.split(".")
    if steps[-1] == "best":
        steps = steps[:-1]
    found = step_into(value, steps, key)
    if isinstance(found, Roof | Traffic):
        best = found.best
        if best is None:
            return None
        field = next(field.name for field in dataclasses.fields(found) if getattr(found, field.name) is best)
        return ".".join([*steps, field]), best
    if found is not None and not isinstance(found, Quantity):
        raise DatasetKeyError(f"key {key!r}: names a {type(found).__name__}, not a quantity")
    return None if found is None else (".".join(steps), found)
