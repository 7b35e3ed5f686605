"""How values are written as strict JSON and read back with their types: small codecs, and ways to put them together.

Writing refuses with a ValueError what JSON has no form for. Reading believes nothing: whatever a text holds, it ends in
a value of the right type or in `Damaged`, which says in a few words what is wrong.
"""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

DEEPEST = 8
"""Tuples in tuples in a label."""
LONGEST = 4096
"""Bits of a whole number."""
INFINITE = ("-inf", "inf")


class Damaged(Exception):  # noqa: N818 - it never reaches a user
    """What is wrong with a text, in a few words."""


@dataclass(frozen=True, slots=True)
class Codec:
    """How one thing is written as what JSON knows, and read back."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def parsed(text: str | bytes) -> Any:
    """What the JSON says: no key twice, no NaN, no number beyond a float."""
    try:
        return json.loads(text, object_pairs_hook=_distinct, parse_constant=_no_constant, parse_float=_finite,
                          parse_int=_short)  # fmt: skip
    except ValueError:  # not JSON, or not Unicode
        raise Damaged("it is not JSON, or was cut off") from None
    except RecursionError:
        raise Damaged("it is nested too deeply") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise Damaged("a key stands there twice")
    return content


def _no_constant(_word: str) -> NoReturn:
    raise Damaged("NaN and Infinity are no JSON")


def _finite(digits: str) -> float:
    if math.isinf(value := float(digits)):
        raise Damaged("a number is too large")
    return value


def _short(digits: str) -> int:
    """Python's own limit on digits may be switched off, and the time grows with the square of their number."""
    if len(digits) > LONGEST:
        raise Damaged("a number is too long")
    return int(digits)


def _exactly(kind: type, what: str) -> Codec:
    def checked(value: Any) -> Any:
        if type(value) is not kind:
            raise Damaged(f"{what} is wanted")
        return value

    return Codec(kind, checked)


def _write_real(value: float) -> float | str:
    if math.isnan(value):
        raise ValueError("a number of this release is NaN, which JSON does not have; use pickle")
    return float(value) if math.isfinite(value) else INFINITE[value > 0]


def _read_real(value: Any) -> float:
    if type(value) is float:
        return value
    if type(value) is str and value in INFINITE:
        return float(value)
    if type(value) is int and value.bit_length() <= 1023:  # other tools write 1.0 as 1
        return float(value)
    raise Damaged("a number is wanted")


def _read_positive(value: Any) -> float:
    number = _read_real(value)
    if not 0 < number < math.inf:
        raise Damaged("a number above 0 is wanted")
    return number


def _write_whole(value: int) -> int:
    if value.bit_length() > LONGEST:
        raise ValueError(f"a whole number has more than {LONGEST} bits, too many for JSON; write it as text, or pickle")
    return int(value)


def _read_whole(value: Any) -> int:
    if type(value) is not int or value.bit_length() > LONGEST:
        raise Damaged("a whole number is wanted")
    return value


TEXT, FLAG = _exactly(str, "text"), _exactly(bool, "true or false")
WHOLE, REAL = Codec(_write_whole, _read_whole), Codec(_write_real, _read_real)
POSITIVE = Codec(_write_real, _read_positive)
NUMBER = Codec(
    lambda value: (WHOLE if type(value) is int else REAL).write(value),
    lambda value: (WHOLE if type(value) is int else REAL).read(value),
)
"""A number that stays whole if it is."""


def word(*words: str) -> Codec:
    """One of these words."""

    def read(value: Any) -> Any:
        if value not in words:
            raise Damaged(f"one of {', '.join(words)} is wanted")
        return value

    return Codec(str, read)


def _write_label(label: Any, depth: int = 0) -> Any:
    if type(label) is tuple and depth < DEEPEST:
        return [_write_label(part, depth + 1) for part in label]
    write = PLAIN.get(type(label))
    if write is None:
        raise ValueError(
            f"a label of the type {type(label).__name__} has no form in JSON, which keeps text, whole numbers, floats, "
            "truth values, dates and tuples of these: make it text, or use pickle"
        )
    return write(label)


def _write_float(label: float) -> Any:
    return label if math.isfinite(label) else {"float": _write_real(label)}


def _write_time(label: datetime.datetime) -> dict[str, str]:
    zone, offset = label.tzinfo, label.utcoffset()
    unnamed = type(zone) is datetime.timezone and offset is not None and repr(zone) == repr(datetime.timezone(offset))
    if label.fold or not (zone is None or unnamed):
        raise ValueError(
            "a label is a time in a zone by name, which JSON would lose: make it text or UTC, or use pickle"
        )
    return {"datetime": label.isoformat()}


PLAIN: dict[type, Callable[[Any], Any]] = {
    str: str, bool: bool, type(None): lambda label: label, int: _write_whole, float: _write_float,
    datetime.date: lambda label: {"date": label.isoformat()}, datetime.datetime: _write_time,
}  # fmt: skip


def _read_label(value: Any, depth: int = 0) -> Any:
    if type(value) is list:
        if depth >= DEEPEST:
            raise Damaged("a label is nested too deeply")
        return tuple(_read_label(part, depth + 1) for part in value)
    if type(value) is dict:
        return _read_tagged(value)
    return _read_whole(value) if type(value) is int else value


def _read_tagged(value: dict[str, Any]) -> Any:
    if len(value) == 1:
        ((tag, text),) = value.items()
        if tag in TAGS and type(text) is str:
            try:
                label = TAGS[tag](text)
                if PLAIN[type(label)](label) == value:  # the one way to write it
                    return label
            except ValueError:
                pass
    raise Damaged("a label is wanted")


TAGS: dict[str, Callable[[str], Any]] = {
    "date": datetime.date.fromisoformat, "datetime": datetime.datetime.fromisoformat, "float": float,
}  # fmt: skip
LABEL = Codec(_write_label, _read_label)


def optional(codec: Codec) -> Codec:
    """null, or that."""
    return Codec(
        lambda value: None if value is None else codec.write(value),
        lambda value: None if value is None else codec.read(value),
    )


def listed(codec: Codec, kind: type = list) -> Codec:
    """A list of them; of that kind in Python."""

    def read(value: Any) -> Any:
        if type(value) is not list:
            raise Damaged("a list is wanted")
        return kind(map(codec.read, value))

    return Codec(lambda values: list(map(codec.write, values)), read)


def pair(first: Codec, second: Codec) -> Codec:
    """A tuple of two."""

    def read(value: Any) -> Any:
        if type(value) is not list or len(value) != 2:
            raise Damaged("a pair is wanted")
        return first.read(value[0]), second.read(value[1])

    return Codec(lambda both: [first.write(both[0]), second.write(both[1])], read)


def field(name: str, codec: Codec, value: Any) -> Any:
    """Read one, and say which if it is damaged."""
    try:
        return codec.read(value)
    except Damaged as damage:
        raise Damaged(f"{name}: {damage}") from None


def record(kind: type, fields: dict[str, Codec], own: dict[str, str] | None = None) -> Codec:
    """An object with these very keys; what it means is checked by the class. `own` are fields it calls otherwise."""
    attribute = {name: (own or {}).get(name, name) for name in fields}

    def write(value: Any) -> dict[str, Any]:
        return {name: codec.write(getattr(value, attribute[name])) for name, codec in fields.items()}

    def read(value: Any) -> Any:
        if not isinstance(value, dict) or set(value) != set(fields):
            raise Damaged(f"an object of {', '.join(fields)} is wanted")
        arguments = {attribute[name]: field(name, codec, value[name]) for name, codec in fields.items()}
        try:
            return kind(**arguments)
        except (ValueError, TypeError, OverflowError):
            raise Damaged(f"this is no {kind.__name__}") from None

    return Codec(write, read)


def one_of(what: str, kinds: dict[type, dict[str, Codec]]) -> Codec:
    """One of several records, told by its `kind`."""
    records = {kind: record(kind, fields) for kind, fields in kinds.items()}
    codecs = {kind.__name__: codec for kind, codec in records.items()}

    def write(value: Any) -> dict[str, Any]:
        if type(value) not in records:
            raise ValueError(f"{what} of the type {type(value).__name__} has no form in JSON; use pickle")
        return {"kind": type(value).__name__, **records[type(value)].write(value)}

    def read(value: Any) -> Any:
        kind = value.get("kind") if isinstance(value, dict) else None
        if not isinstance(kind, str) or kind not in codecs:
            raise Damaged(f"{what} of a known kind is wanted")
        return codecs[kind].read({name: part for name, part in value.items() if name != "kind"})

    return Codec(write, read)
