"""Records that note which of their fields are read, so that a picture depends on what it shows and on nothing else.

`noted(record, key, note)` looks like the record; every figure, text or array that is taken out of it calls `note` with its
dotted key.  A walk over a list or a mapping notes its key with a `#`: the picture then depends on which members there are.
That something is there is noted with a `?` (`present`, and `in` for a mapping): its value may then change.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, cast

from measure.records import Quantity

T = TypeVar("T")
Note = Callable[[str], None]
MEMBERS, PRESENCE = "#", "?"


def noted(value: T, key: str, note: Note) -> T:
    """The value behind a key; records, mappings and lists of records note what is read of them later, all else notes now."""
    if dataclasses.is_dataclass(value) and not isinstance(value, Quantity | type):
        return cast(T, _Record(value, key, note))
    if isinstance(value, Mapping):
        return cast(T, _Mapping(value, key, note))
    if isinstance(value, tuple) and value and dataclasses.is_dataclass(value[0]):
        note(key + MEMBERS)
        return cast(T, tuple(noted(one, f"{key}.{name}", note) for name, one in zip(member_names(value), value, strict=True)))
    note(key)
    return value


def member_names(members: tuple[Any, ...]) -> list[str]:
    """How the members of a list are called in keys: by their names, by their places where they have none."""
    return [str(getattr(member, "name", index)) for index, member in enumerate(members)]


def present(record: object, name: str) -> bool:
    """Whether a field of a record, noted or plain, is not None: `present(rung, "rate")` notes no rate."""
    if type(record) is not _Record:
        return getattr(record, name) is not None
    return record.has(name)


class _Record:
    """Stands for a frozen dataclass; `isinstance` takes it for one."""

    __slots__ = ("_key", "_note", "_value")

    def __init__(self, value: Any, key: str, note: Note) -> None:
        self._value, self._key, self._note = value, key, note

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._value)

    def __getattr__(self, name: str) -> Any:
        computed = getattr(type(self._value), name, None)
        if isinstance(computed, property) and computed.fget is not None:
            return computed.fget(self)  # so that it notes the fields that it looks at, not itself
        return noted(getattr(self._value, name), f"{self._key}.{name}", self._note)

    def has(self, name: str) -> bool:
        self._note(f"{self._key}.{name}{PRESENCE}")
        return getattr(self._value, name) is not None

    def __eq__(self, other: object) -> bool:
        self._note(self._key)
        return bool(self._value == (other._value if type(other) is _Record else other))

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return repr(self._value)


class _Mapping(Mapping[str, Any]):
    """Stands for a mapping of a record."""

    def __init__(self, value: Mapping[str, Any], key: str, note: Note) -> None:
        self._value, self._key, self._note = value, key, note

    def __getitem__(self, name: str) -> Any:
        if name not in self._value:
            self._note(f"{self._key}.{name}{PRESENCE}")
            raise KeyError(name)
        return noted(self._value[name], f"{self._key}.{name}", self._note)

    def __iter__(self) -> Iterator[str]:
        self._note(self._key + MEMBERS)
        return iter(self._value)

    def __len__(self) -> int:
        self._note(self._key + MEMBERS)
        return len(self._value)

    def __contains__(self, name: object) -> bool:
        self._note(f"{self._key}.{name}{PRESENCE}")
        return name in self._value
