"""Releases as JSON and as data frames of the caller's kind; and from JSON back."""

from __future__ import annotations

import datetime
import json
import math
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import ModuleType
from typing import Any, NoReturn

from shortlist._arrays import FRAMES, Engine, Frame
from shortlist._files import unnested
from shortlist._runtime import late
from shortlist._text import json_line
from shortlist.accounting.guarantees import (
    ZCDP,
    ApproxDP,
    BoundedRange,
    Composition,
    ExPost,
    GumbelDP,
    PureDP,
    RenyiDP,
    ThinnedRange,
)
from shortlist.estimates import BRANCHES, Answer, ChainedGaps, EndedGaps, GapLaw, Margin, ThresholdGaps
from shortlist.ledger.filter import Balance
from shortlist.ledger.ledger import Receipt

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


def parse_json(text: str | bytes) -> Any:
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


def list_of(codec: Codec, kind: type = list) -> Codec:
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


REFUSED = (
    "this release was pickled by another version of shortlist, whose pickles may hold private data: read it with that "
    "version, and keep releases with release.save() instead"
)


PICKLED = "shortlist release 2"
"""How a pickle's content is laid out: 1 had no `extras`, and 0.1.0 had no such mark."""


def mark_pickles(kind: Any) -> None:
    """Give a frozen dataclass a pickle of all its fields under our mark; what has another, or other fields, is refused.

    What is read is checked as what is made: by `__post_init__`.
    """
    names = [one.name for one in fields(kind)]

    def state(self: Any) -> tuple[str, dict[str, Any]]:
        return PICKLED, {name: getattr(self, name) for name in names}

    def set_state(self: Any, read: object) -> None:
        match read:
            case (str(form), dict(content)) if form == PICKLED and set(content) == set(names):
                for name, value in content.items():
                    object.__setattr__(self, name, value)
                self.__post_init__()
            case _:
                raise ValueError(REFUSED)

    kind.__getstate__, kind.__setstate__ = state, set_state


class OfAnotherVersion:
    """In place of a class that has moved: a pickle that asks for it is an old one."""

    def __new__(cls) -> NoReturn:
        raise ValueError(REFUSED)

    def __setstate__(self, state: object) -> NoReturn:
        raise ValueError(REFUSED)


def refuse_old_pickles() -> None:
    """Let a pickle find the guarantees of 0.1.0 where they were, or it would end before anybody could say why."""
    place = ModuleType("shortlist.privacy.guarantees", "Where guarantees stood in 0.1.0.")
    for name in ("ApproxDP", "Composition", "PureDP", "ZCDP"):
        setattr(place, name, OfAnotherVersion)
    sys.modules.setdefault(place.__name__, place)


FORMAT = "shortlist release"
VERSION = 1

REALS = list_of(REAL, tuple)
GUARANTEES: dict[type, dict[str, Codec]] = {
    PureDP: {"epsilon": REAL},
    ApproxDP: {"epsilon": REAL, "delta": REAL},
    ZCDP: {"rho": REAL, "delta": REAL},
    RenyiDP: {"orders": REALS, "epsilons": REALS},
    BoundedRange: {"epsilon": REAL},
    ThinnedRange: {"epsilon": REAL, "rounds": WHOLE, "delta": REAL},
    GumbelDP: {"mu": REAL, "k": WHOLE, "monotone": FLAG},
    ExPost: {"epsilon": REAL, "cost": REAL},
}
GUARANTEES[Composition] = {"parts": list_of(pair(one_of("a guarantee", dict(GUARANTEES)), WHOLE), tuple)}
"""Compositions are flat: `compose` counts parts, it does not nest them."""
_GUARANTEE = one_of("a guarantee", GUARANTEES)


def _codec_of(kind: object) -> Codec:
    """Return how this kind of guarantee is written; those of tuning stand with their classes, outside the core."""
    codec: Codec = late("shortlist.tuned", "GUARANTEE") if kind in ("Mixed", "Tuned") else _GUARANTEE
    return codec


GUARANTEE = Codec(
    lambda value: _codec_of(type(value).__name__).write(value),
    lambda value: _codec_of(value.get("kind") if isinstance(value, dict) else None).read(value),
)
LAW = record(
    GapLaw,
    {
        "noise": word("exponential", "laplace", "geometric"),
        "threshold": NUMBER,
        "query_rate": POSITIVE,
        "threshold_rate": POSITIVE,
        "centre": REAL,
    },
)
EVIDENCE = one_of(
    "evidence",
    {ChainedGaps: {"deviation": POSITIVE}, ThresholdGaps: {"laws": list_of(LAW, tuple)}, EndedGaps: {"law": LAW}},
)
ANSWER = record(
    Answer,
    {
        "above": FLAG,
        "gap": optional(REAL),
        "cost": REAL,
        "branch": word(*BRANCHES),
        "law": optional(LAW),
    },
    own={"law": "_law"},
)
BALANCE = record(Balance, {"epsilon": optional(REAL), "rho": optional(REAL), "renyi": optional(REAL), "delta": REAL})
RECEIPT = record(
    Receipt,
    {"ledger": TEXT, "entry": WHOLE, "budget": TEXT, "spent": BALANCE, "remaining": BALANCE, "head": TEXT,
     "purpose": TEXT},
)  # fmt: skip
FRAME = record(Frame, {"engine": TEXT, "types": list_of(TEXT, tuple)})

COMMON: dict[str, Codec] = {
    "items": optional(list_of(LABEL)),
    "ordered": FLAG,
    "guarantee": GUARANTEE,
    "charge": GUARANTEE,
    "mechanism": TEXT,
    "why": TEXT,
    "unit": TEXT,
    "neighbours": word("add-remove", "replace"),
    "secure": FLAG,
    "notes": list_of(TEXT, tuple),
    "indices": optional(list_of(WHOLE)),
    "item_columns": list_of(TEXT, tuple),
    "frame": optional(FRAME),
    "receipt": optional(RECEIPT),
}
"""What every release has."""

NUMBERS: dict[str, Codec] = {"values": list_of(REAL), "gaps": list_of(REAL)}
"""One number for each item, where the mechanism releases them."""

EXTRAS: dict[str, Codec] = {
    "margins": list_of(record(Margin, {"error": REAL, "half_width": REAL})),
    "used": TEXT,
    "k": WHOLE,
    "stopped": FLAG,
    "p_value": REAL,
    "soft_max": REAL,
    "soft_min": REAL,
    "kept": one_of("a cost", {ExPost: GUARANTEES[ExPost]}),
    "answers": list_of(ANSWER),
    "evidence": EVIDENCE,
    "largest": FLAG,
    "candidates": WHOLE,
    "asked": WHOLE,
    "q": list_of(REAL),
}
"""What only some mechanisms release."""


def release_content(release: Any) -> dict[str, Any]:
    """Return what JSON says of a release; raises ValueError for a label, or a guarantee, that has no form in JSON."""
    content: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    content |= {name: codec.write(getattr(release, name)) for name, codec in COMMON.items()}
    content |= _present(release.extras, NUMBERS)
    content["extras"] = _present(release.extras, EXTRAS)
    if release.receipt is not None and release.receipt.balance:
        content["extras"]["balance"] = release.receipt.balance
    return content


def groups_content(release: Any) -> dict[str, Any]:
    """The same of a grouped release."""
    content: dict[str, Any] = {"format": GROUPED_FORMAT, "version": VERSION}
    content |= {name: codec.write(getattr(release, name)) for name, codec in GROUPED_COMMON.items()}
    content["groups"] = [
        {"key": LABEL.write(key), "release": release_content(one)} for key, one in release.releases.items()
    ]
    return content


def write_json(content: dict[str, Any]) -> str:
    """A release as one line of JSON, by its content."""
    return json_line(content, strict=True)


def _present(extras: object, table: Mapping[str, Codec]) -> dict[str, Any]:
    values = {name: getattr(extras, name) for name in table}
    return {name: table[name].write(value) for name, value in values.items() if value is not None}


def read_release(text: object) -> dict[str, Any]:
    """The arguments of a release from its JSON; those of its `extras` in a dictionary of their own.

    Raises
    ------
    TypeError
        if it is no text.
    ValueError
        in one sentence, if it is no release, one of another version, or damaged.
    """
    return _read(text, _release_fields, "release", "release.to_json()")


def read_groups(text: object) -> dict[str, Any]:
    """The arguments of a grouped release; `releases` are pairs of a key and the arguments of its release."""
    return _read(text, _groups_fields, "grouped release", "to_json() of a grouped release")


def _read(text: object, fields: Callable[[Any], dict[str, Any]], what: str, writer: str) -> dict[str, Any]:
    if not isinstance(text, str | bytes):
        raise TypeError(f"text must be the JSON that {writer} gave")
    try:
        return fields(parse_json(text))
    except Damaged as damage:
        reason = str(damage)
    raise ValueError(f"this is no {what} that shortlist can read: {reason}")


def _check_version(content: Any, format: str) -> None:
    if not isinstance(content, dict) or content.get("format") != format:
        raise Damaged(f'it does not say "format": "{format}"')
    if type(content.get("version")) is not int or content["version"] != VERSION:
        raise Damaged(f"its version is not {VERSION}; a newer shortlist may know it")


def _release_fields(content: Any) -> dict[str, Any]:
    _check_version(content, FORMAT)
    _check_keys(content, ["format", "version", "extras", *COMMON], NUMBERS)
    if not isinstance(content["extras"], dict):
        raise Damaged("extras: an object is wanted")
    _check_keys(content["extras"], (), (*EXTRAS, "balance"))
    fields = {name: field(name, codec, content[name]) for name, codec in COMMON.items()}
    for table, part in ((NUMBERS, content), (EXTRAS, content["extras"])):
        fields |= {name: field(name, codec, part[name]) for name, codec in table.items() if name in part}
    if "balance" in content["extras"]:
        fields["receipt"] = _with_balance(fields["receipt"], content["extras"]["balance"])
    _check_agreement(fields)
    extras = {name: fields.pop(name) for name in [*NUMBERS, *EXTRAS] if name in fields}
    return fields | {"extras": extras}


def _with_balance(receipt: Receipt | None, balance: Any) -> Receipt:
    """A receipt with how the ledger stood in words, which version 1 has under `extras`: there new names may come."""
    if receipt is None:
        raise Damaged("balance: there is no receipt that it belongs to")
    return replace(receipt, balance=field("balance", TEXT, balance))


def _check_agreement(fields: Mapping[str, Any]) -> None:
    """One index, value, margin and gap for each item, one part for each column, one law for each gap.

    Margins are of values. Quantiles are values themselves, so nothing else is measured beside them.
    """
    items, columns, evidence = fields["items"] or (), fields["item_columns"], fields.get("evidence")
    for name in ("indices", "margins", "q", *NUMBERS):
        if fields.get(name) is not None and len(fields[name]) != len(items):
            raise Damaged(f"{name} are not as many as items")
    if "margins" in fields and "values" not in fields:
        raise Damaged("margins are there without the values they belong to")
    if "q" in fields:
        _check_quantiles(items, [name for name in (*NUMBERS, "margins") if name in fields], columns)
    if len(set(columns)) < len(columns):
        raise Damaged("one of item_columns stands there twice")
    if columns and not all(type(item) is tuple and len(item) == len(columns) for item in items):
        raise Damaged("items do not have a part for each of item_columns")
    if isinstance(evidence, ThresholdGaps) and len(evidence.laws) != len(items):
        raise Damaged("evidence does not have a law for each item")


def _check_quantiles(items: Sequence[Any], others: list[str], columns: Sequence[str]) -> None:
    """Items that are quantiles are numbers or dates."""
    if others or columns:
        raise Damaged(f"{others[0] if others else 'item_columns'} do not go with q: the items are the quantiles")
    kinds = set(map(type, items))
    if not (kinds <= {int, float} or kinds == {datetime.date}):
        raise Damaged("items that are quantiles must be numbers, or dates")


def _check_keys(content: Mapping[str, Any], required: Collection[str], possible: Collection[str]) -> None:
    missing = [name for name in required if name not in content]
    if missing:
        raise Damaged(f"{missing[0]} is missing")
    if not set(content) <= {*required, *possible}:
        raise Damaged("it holds something that this version does not know; a newer shortlist may know it")


GROUPED_FORMAT = "shortlist grouped release"


GROUPED_COMMON: dict[str, Codec] = {
    "by": list_of(TEXT, tuple), "groups_per_user": WHOLE, "guarantee": GUARANTEE, "charge": GUARANTEE,
    "per_group": GUARANTEE,
    **{name: COMMON[name] for name in ("unit", "neighbours", "secure", "mechanism", "why", "notes", "receipt", "frame",
                                       "item_columns")},
}  # fmt: skip


def _groups_fields(content: Any) -> dict[str, Any]:
    _check_version(content, GROUPED_FORMAT)
    if set(content) != {"format", "version", "groups", *GROUPED_COMMON}:
        raise Damaged("something is missing, or it holds something that this version does not know")
    words = {name: field(name, codec, content[name]) for name, codec in GROUPED_COMMON.items()}
    if not isinstance(content["groups"], list):
        raise Damaged("groups: a list is wanted")
    words["releases"] = [_group(one, len(words["by"])) for one in content["groups"]]
    if len({(type(key), key) for key, _ in words["releases"]}) < len(words["releases"]):
        raise Damaged("a group stands there twice")
    return words


def _group(content: Any, columns: int) -> tuple[Any, dict[str, Any]]:
    if not isinstance(content, dict) or set(content) != {"key", "release"}:
        raise Damaged("groups: each has a key and a release")
    key = field("key", LABEL, content["key"])
    if columns > 1 and not (type(key) is tuple and len(key) == columns):
        raise Damaged("a key does not have a part for each column of by")
    return key, _release_fields(content["release"])


NUMBER_COLUMNS = ("rank", "q", "value", "margin", "gap")
"""The columns that are no part of an item; item columns of these names are renamed (`Release.columns`)."""

ARROW = ("string", "large_string", "int64", "uint64", "bool", "date32[day]")
TYPES: dict[Engine, Collection[str]] = {
    "polars": ("String", "Int64", "UInt64", "Boolean", "Date"),
    "pandas": ("str", "string", "object", "int64", "uint64", "bool", "Int64", "UInt64", "boolean",
               *(f"{word}[pyarrow]" for word in ARROW)),
    "pyarrow": ARROW,
    "duckdb": ("VARCHAR", "BIGINT", "UBIGINT", "BOOLEAN", "DATE"),
    "ibis": ("string", "int64", "uint64", "boolean", "date"),
    "spark": ("string", "bigint", "boolean", "date"),
}  # fmt: skip
"""What an item column may be in each engine: a closed list, so that no name of a type can tell anything of the data."""

WIDTHS: dict[Engine, tuple[str, str, str]] = {
    "polars": ("Int64", "Float64", "Date"), "pandas": ("int64", "float64", "object"),
    "pyarrow": ("int64", "float64", "date32[day]"), "duckdb": ("BIGINT", "DOUBLE", "DATE"),
    "ibis": ("int64", "float64", "date"), "spark": ("bigint", "double", "date"),
}  # fmt: skip
"""The types of ranks, of values and gaps, and of quantiles that are dates."""

Columns = Mapping[str, list[Any]]
Types = Mapping[str, str]


def own_frame(engine: Engine, types: list[str]) -> Frame:
    """The words for a frame of these types; without the types if one of them is not on the list."""
    return Frame(engine, tuple(types) if set(types) <= set(TYPES[engine]) else ())


def make_frame(columns: Columns, frame: Frame, note: str = "") -> Any:
    """The columns as a frame of that kind, the items in their own types where those are known.

    The `note` goes into the metadata of those kinds that have such (`NOTED`).

    Otherwise in the types that the library tells them to be, and as text if it knows none.
    """
    parts = [name for name in columns if name not in NUMBER_COLUMNS]
    may_guess = frame.engine in FRAMES and not frame.types
    if not set(frame.types) <= set(TYPES[frame.engine]) or (len(frame.types) != len(parts) and not may_guess):
        raise ValueError("the frame of this release has a type that this version does not know; read .columns()")
    whole, real, day = WIDTHS[frame.engine]
    types = {name: whole if name == "rank" else real for name in columns if name in NUMBER_COLUMNS}
    types |= {name: day for name in types if any(isinstance(cell, datetime.date) for cell in columns[name])}
    types |= dict(zip(parts, frame.types, strict=True)) if frame.types else {}
    uniform = _uniform(columns, types)
    try:
        return attach_note(MAKERS[frame.engine](uniform, types), frame.engine, note)
    except ImportError:
        raise
    except Exception:  # each library has its own
        if frame.engine not in FRAMES:
            raise
    if not may_guess:  # only a file that was edited has such
        raise ValueError("the items of this release do not fit the types that it has for them; read .columns()")
    texts = {name: uniform[name] if name in types else list(map(str, uniform[name])) for name in uniform}
    return attach_note(MAKERS[frame.engine](texts, types), frame.engine, note)


def attach_note(table: Any, engine: Engine, note: str) -> Any:
    """The table with a note in its metadata, under our name; as it is where its kind has no place for one."""
    return NOTED[engine](table, note) if note and engine in NOTED else table


def item_columns(items: Sequence[Any], names: Sequence[str]) -> dict[str, list[Any]]:
    """The parts of each item under the names of their columns, which are none of ours."""
    columns: dict[str, list[Any]] = {}
    for n, column in enumerate(names):
        name = column
        while name in (*NUMBER_COLUMNS, *columns):
            name = f"item {name}"
        columns[name] = [item[n] for item in items]
    return columns


def _uniform(columns: Columns, types: Types) -> Columns:
    """A column has one type: labels of several become text."""
    mixed = [name for name in columns if name not in types and len(set(map(type, columns[name]))) > 1]
    return {name: list(map(str, cells)) if name in mixed else cells for name, cells in columns.items()}


def _polars(columns: Columns, types: Types) -> Any:
    import polars as pl

    return pl.DataFrame(columns, schema_overrides={name: getattr(pl, word) for name, word in types.items()})


def _pandas(columns: Columns, types: Types) -> Any:
    import pandas as pd

    series = {name: pd.Series(cells, dtype=_pandas_type(types.get(name))) for name, cells in columns.items()}
    return pd.DataFrame(series)


def _pandas_type(word: str | None) -> Any:
    import pandas as pd

    if word is None or not word.endswith("[pyarrow]"):
        return word
    return pd.ArrowDtype(_arrow_type(word.removesuffix("[pyarrow]")))


def _pyarrow(columns: Columns, types: Types) -> Any:
    import pyarrow as pa

    return pa.table(
        {name: pa.array(cells, _arrow_type(types[name]) if name in types else None) for name, cells in columns.items()}
    )


def _arrow_type(word: str) -> Any:
    import pyarrow as pa

    return pa.date32() if word == "date32[day]" else pa.type_for_alias(word)


def _duckdb(columns: Columns, types: Types) -> Any:
    import duckdb

    parts = (unnested(cells, types[name], name) for name, cells in columns.items())
    return duckdb.sql(f"SELECT {', '.join(parts)}")


def _ibis(columns: Columns, types: Types) -> Any:
    import ibis

    arrow = {"boolean": "bool", "date": "date32[day]"}
    return ibis.memtable(_pyarrow(columns, {name: arrow.get(word, word) for name, word in types.items()}))


def _spark(columns: Columns, types: Types) -> Any:
    from pyspark.sql import SparkSession
    from pyspark.sql import types as st

    session = SparkSession.getActiveSession()
    if session is None:
        raise RuntimeError(
            "a Spark DataFrame needs an active session, and a release keeps none: start one with "
            "SparkSession.builder.getOrCreate(), or read release.columns()"
        )
    kinds = {"string": st.StringType(), "bigint": st.LongType(), "boolean": st.BooleanType(), "date": st.DateType(),
             "double": st.DoubleType()}  # fmt: skip
    schema = st.StructType([st.StructField(name, kinds[types[name]]) for name in columns])
    return session.createDataFrame(list(zip(*columns.values(), strict=True)), schema)


MAKERS: dict[Engine, Callable[[Columns, Types], Any]] = {
    "polars": _polars, "pandas": _pandas, "pyarrow": _pyarrow, "duckdb": _duckdb, "ibis": _ibis, "spark": _spark,
}  # fmt: skip


def _in_pandas(table: Any, note: str) -> Any:
    table.attrs[NAME] = note
    return table


def _in_pyarrow(table: Any, note: str) -> Any:
    return table.replace_schema_metadata({**(table.schema.metadata or {}), NAME: note})


def _in_spark(table: Any, note: str) -> Any:
    """Of every column: a Spark DataFrame has no metadata of its own, and keeps those of its columns in parquet."""
    for name in table.columns:
        table = table.withMetadata(name, {NAME: note})
    return table


NAME = "shortlist"
"""Under which the note stands, as in parquet files of the command line."""
NOTED: dict[Engine, Callable[[Any, str], Any]] = {"pandas": _in_pandas, "pyarrow": _in_pyarrow, "spark": _in_spark}
"""Kinds of frames that have metadata. polars, DuckDB and Ibis have none: there `release.note` has the words."""
