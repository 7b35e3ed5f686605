"""Releases as JSON, as data frames of the caller's kind and as files, and from JSON back; files are written whole."""

from __future__ import annotations

import contextlib
import csv
import datetime
import io
import json
import math
import os
import re
import secrets
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from shortlist._arrays import FRAME_TYPES, FRAMES, Engine, Frame
from shortlist._files import literal, note_temporary, remove, unnest
from shortlist._runtime import lazy_import
from shortlist._text import JOINERS, is_shown, terminal_safe
from shortlist.accounting import guarantees
from shortlist.accounting.guarantees import Composition, ExPost
from shortlist.errors import bad_type
from shortlist.ledger.filter import Balance
from shortlist.ledger.ledger import Receipt
from shortlist.pages.texts import NUMBER_COLUMNS
from shortlist.release import Extras, Release
from shortlist.utility.estimates import BRANCHES, Answer, ChainedGaps, EndedGaps, GapLaw, Margin, ThresholdGaps

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
        read: Any = dict.fromkeys(("parse_constant", "parse_float", "parse_int"), _read_digits)
        return json.loads(text, object_pairs_hook=_read_distinct, **read)
    except ValueError:  # not JSON, or not Unicode
        raise Damaged("it is not JSON, or was cut off") from None
    except RecursionError:
        raise Damaged("it is nested too deeply") from None


def _read_distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise Damaged("a key stands there twice")
    return content


def _read_digits(digits: str) -> float | int:
    """Python's own limit on digits may be switched off, and the time grows with the square of their number."""
    if digits in ("NaN", "Infinity", "-Infinity"):
        raise Damaged("NaN and Infinity are no JSON")
    whole = digits.lstrip("-").isdigit()
    if whole and len(digits) > LONGEST:
        raise Damaged("a number is too long")
    if not whole and math.isinf(float(digits)):
        raise Damaged("a number is too large")
    return int(digits) if whole else float(digits)


def _guard(write: Callable[[Any], Any], read: Callable[[Any], Any], fits: Callable[[Any], bool], what: str) -> Codec:
    """Return a codec that refuses to read what does not fit: `what` is wanted."""

    def check(value: Any) -> Any:
        if not fits(value):
            raise Damaged(f"{what} is wanted")
        return read(value)

    return Codec(write, check)


def _write_real(value: float) -> float | str:
    if math.isnan(value):
        raise ValueError("a number of this release is NaN, which JSON does not have; use pickle")
    return float(value) if math.isfinite(value) else INFINITE[value > 0]


def _is_real(value: Any) -> bool:
    whole = type(value) is int and value.bit_length() <= 1023  # other tools write 1.0 as 1
    return whole or type(value) is float or (type(value) is str and value in INFINITE)


def _write_whole(value: int) -> int:
    if value.bit_length() > LONGEST:
        raise ValueError(f"a whole number has more than {LONGEST} bits, too many for JSON; write it as text, or pickle")
    return int(value)


TEXT = _guard(str, str, lambda value: type(value) is str, "text")
FLAG = _guard(bool, bool, lambda value: type(value) is bool, "true or false")
WHOLE = _guard(_write_whole, int, lambda value: type(value) is int and value.bit_length() <= LONGEST, "a whole number")
REAL = _guard(_write_real, float, _is_real, "a number")
POSITIVE = _guard(_write_real, float, lambda value: _is_real(value) and 0 < float(value) < math.inf, "a number above 0")
NUMBER = Codec(
    lambda value: (WHOLE if type(value) is int else REAL).write(value),
    lambda value: (WHOLE if type(value) is int else REAL).read(value),
)
"""A number that stays whole if it is."""


def word(*words: str) -> Codec:
    """One of these words."""

    return _guard(str, lambda value: value, lambda value: value in words, f"one of {', '.join(words)}")


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


def _write_time(label: datetime.datetime) -> dict[str, str]:
    zone, offset = label.tzinfo, label.utcoffset()
    unnamed = type(zone) is datetime.timezone and offset is not None and repr(zone) == repr(datetime.timezone(offset))
    if label.fold or not (zone is None or unnamed):
        raise ValueError("a label is a time in a zone by name, which JSON loses: make it text or UTC, or use pickle")
    return {"datetime": label.isoformat()}


PLAIN: dict[type, Callable[[Any], Any]] = {
    str: str, bool: bool, type(None): lambda label: label, int: _write_whole,
    float: lambda label: label if math.isfinite(label) else {"float": _write_real(label)},
    datetime.date: lambda label: {"date": label.isoformat()}, datetime.datetime: _write_time,
}  # fmt: skip


def _read_label(value: Any, depth: int = 0) -> Any:
    if type(value) is list:
        if depth >= DEEPEST:
            raise Damaged("a label is nested too deeply")
        return tuple(_read_label(part, depth + 1) for part in value)
    if type(value) is dict:
        return _read_tagged(value)
    return WHOLE.read(value) if type(value) is int else value


def _read_tagged(value: dict[str, Any]) -> Any:
    for tag, text in value.items():
        with contextlib.suppress(ValueError):
            label = TAGS[tag](text) if tag in TAGS and type(text) is str else None
            if PLAIN[type(label)](label) == value:  # the one way to write it
                return label
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


def part(fields: Mapping[str, Codec], optional: Collection[str] = ()) -> Codec:
    """An object with these very keys, as a dictionary; those of `optional` are left out where they are None."""

    def write(values: Mapping[str, Any]) -> dict[str, Any]:
        there = [name for name in fields if name not in optional or values.get(name) is not None]
        return {name: fields[name].write(values[name]) for name in there}

    def read(content: Any) -> dict[str, Any]:
        if not isinstance(content, dict):
            raise Damaged("an object is wanted")
        if missing := [name for name in fields if name not in optional and name not in content]:
            raise Damaged(f"{missing[0]} is missing")
        if not content.keys() <= fields.keys():
            raise Damaged("it holds something that this version does not know; a newer shortlist may know it")
        return {name: field(name, codec, content[name]) for name, codec in fields.items() if name in content}

    return Codec(write, read)


BY_TYPE = {
    "float": REAL, "int": WHOLE, "bool": FLAG, "str": TEXT, "int | float": NUMBER, "float | None": optional(REAL),
    "tuple[float, ...]": list_of(REAL, tuple), "tuple[str, ...]": list_of(TEXT, tuple),
}  # fmt: skip
"""How a field of a dataclass is written, by its annotation."""


def record(kind: type, **others: Codec | None) -> Codec:
    """A dataclass as an object of its fields, by their names without "_"; what it means is checked by the class.

    `others` has the fields that are not of a plain type, and None for those that are not written.
    """
    kinds = {one.name: str(one.type) for one in fields(kind) if others.get(one.name, one) is not None}
    own = {name.lstrip("_"): name for name in kinds}
    inner = part({short: others.get(name) or BY_TYPE[kinds[name]] for short, name in own.items()})

    def read(content: Any) -> Any:
        arguments = {own[name]: value for name, value in inner.read(content).items()}
        try:
            return kind(**arguments)
        except (ValueError, TypeError, OverflowError):
            raise Damaged(f"this is no {kind.__name__}") from None

    return Codec(lambda value: inner.write({name: getattr(value, own[name]) for name in own}), read)


def one_of(what: str, records: Mapping[type, Codec]) -> Codec:
    """One of several records, told by its `kind`."""
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


VERSION = 1


@dataclass(frozen=True, slots=True)
class Document:
    """One kind of file: what it says it is, what it is called in errors, what wrote it, and what stands in it."""

    format: str
    name: str
    writer: str
    content: Codec

    def write(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the object, which says what it is first."""
        return {"format": self.format, "version": VERSION, **self.content.write(values)}

    def read(self, content: Any) -> Any:
        """Return the fields of the object."""
        if not isinstance(content, dict) or content.get("format") != self.format:
            raise Damaged(f'it does not say "format": "{self.format}"')
        if type(content.get("version")) is not int or content["version"] != VERSION:
            raise Damaged(f"its version is not {VERSION}; a newer shortlist may know it")
        return self.content.read({name: one for name, one in content.items() if name not in ("format", "version")})

    def read_text(self, text: object, check: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
        """Return what `check` makes of the fields in a text.

        Raises
        ------
        TypeError
            if it is no text.
        ValueError
            in one sentence, if it is of another kind or version, or damaged.
        """
        if not isinstance(text, str | bytes):
            raise TypeError(f"text must be the JSON that {self.writer} gave")
        try:
            return check(self.read(parse_json(text)))
        except Damaged as damage:
            reason = str(damage)
        except RecursionError:
            reason = "it is nested too deeply"
        raise ValueError(f"this is no {self.name} that shortlist can read: {reason}")


PLAIN_GUARANTEES = ["PureDP", "ApproxDP", "ZCDP", "RenyiDP", "BoundedRange", "ThinnedRange", "GumbelDP", "ExPost"]
GUARANTEES = {kind: record(kind) for kind in (getattr(guarantees, name) for name in PLAIN_GUARANTEES)}
PART = pair(one_of("a guarantee", dict(GUARANTEES)), WHOLE)
GUARANTEES[Composition] = record(Composition, parts=list_of(PART, tuple))
"""Compositions are flat: `compose` counts parts, it does not nest them."""
_GUARANTEE = one_of("a guarantee", GUARANTEES)


def _codec_of(kind: object) -> Codec:
    """Return how this kind of guarantee is written; those of tuning stand with their classes, outside the core."""
    return lazy_import("shortlist.tuned", "GUARANTEE") if kind in ("Mixed", "Tuned") else _GUARANTEE


GUARANTEE = Codec(
    lambda value: _codec_of(type(value).__name__).write(value),
    lambda value: _codec_of(value.get("kind") if isinstance(value, dict) else None).read(value),
)
NOISE = word("exponential", "laplace", "geometric")
LAW = record(GapLaw, noise=NOISE, query_rate=POSITIVE, threshold_rate=POSITIVE)
EVIDENCE = one_of("evidence", {
    ChainedGaps: record(ChainedGaps, deviation=POSITIVE),
    ThresholdGaps: record(ThresholdGaps, laws=list_of(LAW, tuple)),
    EndedGaps: record(EndedGaps, law=LAW),
})  # fmt: skip
ANSWER = record(Answer, branch=word(*BRANCHES), _law=optional(LAW))
BALANCE = record(Balance)
RECEIPT = record(Receipt, spent=BALANCE, remaining=BALANCE, balance=None)
FRAME = record(Frame, engine=TEXT)

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
    "margins": list_of(record(Margin)),
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

BALANCE_IN_WORDS = {"balance": TEXT}
"""How the ledger stood, in the receipt: version 1 has it under `extras`, for there new names may come."""

RELEASE = Document(
    "shortlist release", "release", "release.to_json()",
    part({**COMMON, **NUMBERS, "extras": part(EXTRAS | BALANCE_IN_WORDS, {*EXTRAS, *BALANCE_IN_WORDS})}, NUMBERS),
)  # fmt: skip
GROUP = part({"key": LABEL, "release": Codec(lambda release: RELEASE.write(_values_of(release)), RELEASE.read)})
GROUPED_RELEASE = Document(
    "shortlist grouped release", "grouped release", "to_json() of a grouped release",
    part({
        "by": list_of(TEXT, tuple), "groups_per_user": WHOLE, "guarantee": GUARANTEE, "charge": GUARANTEE,
        "per_group": GUARANTEE,
        **{name: COMMON[name] for name in ("unit", "neighbours", "secure", "mechanism", "why", "notes", "receipt",
                                           "frame", "item_columns")},
        "groups": list_of(GROUP),
    }),
)  # fmt: skip


def _values_of(release: Any) -> dict[str, Any]:
    extras = {one.name: getattr(release.extras, one.name) for one in fields(release.extras)}
    balance = None if release.receipt is None else release.receipt.balance or None
    numbers = {name: extras[name] for name in NUMBERS}
    return {name: getattr(release, name) for name in COMMON} | numbers | {"extras": extras | {"balance": balance}}


def write_release(release: Any) -> str:
    """Return a release, or a grouped one, as one line of JSON.

    Raises
    ------
    ValueError
        for a label, or a guarantee, that has no form in JSON.
    """
    if not hasattr(release, "releases"):
        return json_line(RELEASE.write(_values_of(release)), strict=True)
    groups = [{"key": key, "release": one} for key, one in release.releases.items()]
    values = {one.name: getattr(release, one.name) for one in fields(release)} | {"groups": groups}
    return json_line(GROUPED_RELEASE.write(values), strict=True)


def read_release(kind: Any, text: object) -> Any:
    """Return a release, or a grouped one, of this class from its JSON."""
    if issubclass(kind, Mapping):
        content = GROUPED_RELEASE.read_text(text, _arguments_of_groups)
        return kind(**content | {"releases": {key: Release(**one) for key, one in content["releases"]}})
    return kind(**RELEASE.read_text(text, _arguments_of))


def _arguments_of(content: dict[str, Any]) -> dict[str, Any]:
    extras = content["extras"] | {name: content.pop(name) for name in NUMBERS if name in content}
    if (balance := extras.pop("balance", None)) is not None:
        if content["receipt"] is None:
            raise Damaged("balance: there is no receipt that it belongs to")
        content["receipt"] = replace(content["receipt"], balance=balance)
    _check_agreement(content | extras)
    return content | {"extras": Extras(**extras)}


def _arguments_of_groups(content: dict[str, Any]) -> dict[str, Any]:
    pairs, columns = [(one["key"], _arguments_of(one["release"])) for one in content.pop("groups")], len(content["by"])
    if columns > 1 and not all(type(key) is tuple and len(key) == columns for key, _ in pairs):
        raise Damaged("a key does not have a part for each column of by")
    if len({(type(key), key) for key, _ in pairs}) < len(pairs):
        raise Damaged("a group stands there twice")
    return content | {"releases": pairs}


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
        others = [name for name in (*NUMBERS, "margins") if name in fields] + ["item_columns"] * bool(columns)
        if others:
            raise Damaged(f"{others[0]} do not go with q: the items are the quantiles")
        kinds = set(map(type, items))
        if not (kinds <= {int, float} or kinds == {datetime.date}):
            raise Damaged("items that are quantiles must be numbers, or dates")
    if len(set(columns)) < len(columns):
        raise Damaged("one of item_columns stands there twice")
    if columns and not all(type(item) is tuple and len(item) == len(columns) for item in items):
        raise Damaged("items do not have a part for each of item_columns")
    if isinstance(evidence, ThresholdGaps) and len(evidence.laws) != len(items):
        raise Damaged("evidence does not have a law for each item")


WIDTHS: dict[Engine, tuple[str, str, str]] = {
    "polars": ("Int64", "Float64", "Date"), "pandas": ("int64", "float64", "object"),
    "pyarrow": ("int64", "float64", "date32[day]"), "duckdb": ("BIGINT", "DOUBLE", "DATE"),
    "ibis": ("int64", "float64", "date"), "spark": ("bigint", "double", "date"),
}  # fmt: skip
"""The types of ranks, of values and gaps, and of quantiles that are dates."""

Columns = Mapping[str, list[Any]]
Types = Mapping[str, str]


def make_frame(columns: Columns, frame: Frame, note: str = "") -> Any:
    """The columns as a frame of that kind, the items in their own types where those are known.

    The `note` goes into the metadata of those kinds that have such (`attach_note`).

    Otherwise in the types that the library tells them to be, and as text if it knows none or several.
    """
    parts = [name for name in columns if name not in NUMBER_COLUMNS]
    may_guess = frame.engine in FRAMES and not frame.types
    if not set(frame.types) <= set(FRAME_TYPES[frame.engine]) or (len(frame.types) != len(parts) and not may_guess):
        raise ValueError("the frame of this release has a type that this version does not know; read .columns()")
    whole, real, day = WIDTHS[frame.engine]
    types = {name: whole if name == "rank" else real for name in columns if name in NUMBER_COLUMNS}
    types |= {name: day for name in types if any(isinstance(cell, datetime.date) for cell in columns[name])}
    types |= dict(zip(parts, frame.types, strict=True)) if frame.types else {}
    mixed = [name for name in columns if name not in types and len(set(map(type, columns[name]))) > 1]
    uniform = {name: list(map(str, cells)) if name in mixed else cells for name, cells in columns.items()}
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
    """The table with a note in its metadata, under our name.

    polars, DuckDB and Ibis have no place for it: there `release.note` has the words. A Spark DataFrame has no metadata
    of its own: each column has it, which parquet keeps.
    """
    if note and engine == "pandas":
        table.attrs[NAME] = note
    if note and engine == "pyarrow":
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), NAME: note})
    for name in table.columns if note and engine == "spark" else ():
        table = table.withMetadata(name, {NAME: note})
    return table


def _polars(columns: Columns, types: Types) -> Any:
    import polars as pl

    return pl.DataFrame(columns, schema_overrides={name: getattr(pl, word) for name, word in types.items()})


def _pandas(columns: Columns, types: Types) -> Any:
    import pandas as pd

    arrow = {name: word.removesuffix("[pyarrow]") for name, word in types.items() if word.endswith("[pyarrow]")}
    kinds: Types = {**types, **{name: pd.ArrowDtype(_arrow_type(word)) for name, word in arrow.items()}}
    return pd.DataFrame({name: pd.Series(cells, dtype=kinds.get(name)) for name, cells in columns.items()})


def _pyarrow(columns: Columns, types: Types) -> Any:
    import pyarrow as pa

    kinds = {name: _arrow_type(word) for name, word in types.items()}
    return pa.table({name: pa.array(cells, kinds.get(name)) for name, cells in columns.items()})


def _arrow_type(word: str) -> Any:
    import pyarrow as pa

    return pa.date32() if word == "date32[day]" else pa.type_for_alias(word)


def _duckdb(columns: Columns, types: Types) -> Any:
    import duckdb

    parts = (unnest(cells, types[name], name) for name, cells in columns.items())
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


NAME = "shortlist"
"""Under which the note stands, as in parquet files of the command line."""


FORMULA = re.compile(rf"[\s\"{JOINERS}]*[=+\-@＝＋－＠]")
"""So begins what a spreadsheet computes, and which may call other programs; what stands in front may go away."""


DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def label_text(label: object) -> str:
    """A label as people read it: the columns of one that has several stand side by side."""
    return " · ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def json_line(content: object, *, strict: bool = False) -> str:
    """JSON on one line: letters of every script as they are, escapes for what steers a terminal instead of showing.

    >>> json_line({"item": "映画 \u202e\x1b"})
    '{"item": "映画 \\\\u202e\\\\u001b"}'
    """
    text = json.dumps(content, allow_nan=not strict, ensure_ascii=False)
    if text.isprintable():
        return text
    return "".join(letter if is_shown(letter) else json.dumps(letter)[1:-1] for letter in text)


def spreadsheet_safe(cell: object) -> object:
    """A cell of a CSV file that no spreadsheet takes for a formula: numbers and truth values stay what they are.

    Text is made `terminal_safe`; if it then begins like a formula, an apostrophe goes in front, which spreadsheets read
    as "this is text". Where a semicolon separates cells (as in many countries), so does a part after one. Text that is
    a number is left alone.

    >>> [spreadsheet_safe(cell) for cell in ("=1+1", "-5", -5, "@home", "tea")]
    ["'=1+1", '-5', -5, "'@home", 'tea']
    >>> spreadsheet_safe("tea; =1+1")
    "tea;' =1+1"
    """
    if type(cell) in (int, float, bool, type(None)):
        return cell
    text = terminal_safe(str(cell))
    return ";".join(f"'{one}" if FORMULA.match(one) and not DECIMAL.fullmatch(one) else one for one in text.split(";"))


def csv_table(columns: Mapping[str, Sequence[object]]) -> str:
    """A table as CSV, every cell `spreadsheet_safe`."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(map(spreadsheet_safe, columns))
    writer.writerows(map(spreadsheet_safe, row) for row in zip(*columns.values(), strict=True))
    return text.getvalue()


OTHERS = (".csv", ".tsv", ".parquet", ".xlsx", ".html", ".png", ".svg", ".pdf")
"""Endings of what is no JSON."""


def write_whole(path: str, write: Callable[[str], object], *, private: bool = True) -> None:
    """Write a file as a whole: whoever looks finds what was there before or all of the new one, and nothing beside it.

    A file that is there keeps its mode, and a link is followed: the file it leads to is replaced. In a folder in which
    anybody may make files, such as /tmp, links and files of other users are refused. The name is on the disk when this
    returns.

    Parameters
    ----------
    path
        Where the file belongs.
    write
        Writes it, given the path of a draft in the same folder that ends as `path` does; the draft is there and empty.
    private
        Whether only its owner may read a new file (0600); otherwise its mode is the ordinary one.

    Raises
    ------
    OSError
        If the path is not a regular file, or another user planted it; whatever `write` raises. The old
        file is then as it was.
    """
    target = resolve_target(path)
    mode = stat.S_IMODE(os.stat(target).st_mode) if os.path.exists(target) else None
    folder, name = os.path.split(target)
    draft = os.path.join(folder, f".shortlist-{secrets.token_hex(8)}-{name[-32:]}")
    note_temporary(draft)
    try:
        hidden = private or mode is not None
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if hidden else 0o666))
        write(draft)
        _sync(draft, os.O_RDWR)
        if mode is not None:
            os.chmod(draft, mode)
        os.replace(draft, target)
        with contextlib.suppress(OSError):  # not every system syncs folders
            _sync(folder, os.O_RDONLY)
    finally:
        remove(draft)  # it has its name by now, or must go


def write_text(path: str, text: str, *, private: bool = True) -> None:
    """`write_whole` for a text in UTF-8."""
    write_whole(path, lambda draft: Path(draft).write_text(text, encoding="utf-8", newline=""), private=private)


def path_text(path: str | os.PathLike[str], example: str) -> str:
    """A path as text; `example` is what to write instead of something else."""
    if not isinstance(name := os.fspath(path), str):
        raise bad_type(f'$path must be text, for example "{example}"')
    return name


def resolve_target(path: str) -> str:
    """The regular file to be replaced or made, links followed.

    Raises
    ------
    OSError
        If such a file cannot be made.
    """
    _check_planted(path)
    target = os.path.realpath(path)
    if os.path.islink(target):
        raise OSError(f"{path} is a link that leads back to itself; name the file that is meant")
    if not os.path.isdir(os.path.dirname(target)):
        raise FileNotFoundError(f"{path} cannot be written: its folder is not there; make that first")
    if os.path.lexists(target) and not os.path.isfile(target):
        raise OSError(f"{path} is no regular file; name one, or a new one")
    return target


MOST_LINKS = 40
"""Links on the way to one file; Linux follows as many."""


def _check_planted(path: str) -> None:
    """Refuse a path that leads over a link, or to a file, that another user made where anybody may make files.

    Such a link could lead to a file of ours, which would be replaced. Linux itself does not follow them in /tmp
    (`fs.protected_symlinks`), but it follows what `realpath` makes of them.
    """
    if not hasattr(os, "geteuid"):
        return
    here, rest, links = os.sep, os.path.join(os.getcwd(), path).split(os.sep)[::-1], 0
    while rest:
        part = rest.pop()
        if part == os.pardir:
            here = os.path.dirname(here)
        if part in ("", os.curdir, os.pardir):
            continue
        place = os.path.join(here, part)
        try:
            facts = os.lstat(place)
        except OSError:
            return  # it is not there, or not for us to see
        link = stat.S_ISLNK(facts.st_mode)
        over = os.stat(here)
        shared = over.st_mode & stat.S_ISVTX and over.st_mode & stat.S_IWOTH  # as /tmp is
        if (link or not rest) and shared and facts.st_uid not in (os.geteuid(), 0, over.st_uid):
            what = "a link" if link else "a file"
            raise PermissionError(
                f"{path} leads to {what} that another user made in {here}, where anybody may make files; name a file "
                "in a folder of your own"
            )
        if not link:
            here = place
        elif (links := links + 1) > MOST_LINKS:
            return  # `realpath` finds out where it ends, if it does
        else:
            target = os.readlink(place)
            here = os.sep if os.path.isabs(target) else here
            rest += target.split(os.sep)[::-1]


def _sync(path: str, how: int) -> None:
    handle = os.open(path, how)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def save_release(release: Any, path: str | os.PathLike[str]) -> None:
    """Write a release to a file that `load` reads; a path whose ending says that it is something else is refused."""
    name, example = path_text(path, release.EXAMPLE), release.EXAMPLE
    if name.lower().endswith(OTHERS):
        raise ValueError(f"save writes JSON, which load reads: write save({example!r}), or see to_frame() and report()")
    write_text(name, write_release(release) + "\n")


def write_table(path: str, columns: dict[str, list[Any]], *, private: bool = True, note: str = "") -> None:
    """A table as CSV or parquet, for its owner alone if the file is new and `private`.

    The `note` goes into the metadata of parquet. CSV has no place for it, and a comment would be a row to most who read
    it: it goes into a file beside (`metadata_path`).
    """
    if not path.lower().endswith(".csv"):
        write_whole(path, lambda draft: _write_parquet(draft, columns, note), private=private)
        return
    write_text(path, csv_table(columns), private=private)
    titles = [{"titles": str(spreadsheet_safe(name))} for name in columns]
    facts = {"@context": "http://www.w3.org/ns/csvw", "url": os.path.basename(path), "dc:description": note}
    if note:
        described = json_line({**facts, "tableSchema": {"columns": titles}})
        write_text(metadata_path(path), f"{described}\n", private=private)


def metadata_path(path: str) -> str:
    """Where readers of "CSV on the Web" look for what belongs to a CSV file.

    >>> metadata_path("list.csv")
    'list.csv-metadata.json'
    """
    return f"{path}-metadata.json"


KINDS = {int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN", datetime.date: "DATE"}


def _kind(cells: list[Any]) -> str:
    """The type of a column, as the table had it that was counted."""
    types = {type(cell) for cell in cells}
    kind = KINDS.get(types.pop(), "VARCHAR") if len(types) == 1 else "VARCHAR"
    return "UBIGINT" if kind == "BIGINT" and max(cells) >= 2**63 else kind


def _write_parquet(path: str, columns: dict[str, list[Any]], note: str) -> None:
    import duckdb

    parts = [unnest(cells, _kind(cells), column) for column, cells in columns.items()]
    with duckdb.connect(":memory:") as connection:
        connection.execute(
            f"COPY (SELECT {', '.join(parts)}) TO {literal(path)} (FORMAT parquet, USE_TMP_FILE false"
            f"{f', KV_METADATA {{shortlist: {literal(note)}}}' if note else ''})"
        )
