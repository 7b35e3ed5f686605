"""Releases as JSON, and back."""

from __future__ import annotations

import datetime
import json
import math
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import ModuleType
from typing import Any, NoReturn

from shortlist._arrays import Frame
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
from shortlist.accounting.tuned import Binomial, Capped, Mixed, NegativeBinomial, Poisson, Tuned
from shortlist.estimates import BRANCHES, Answer, ChainedGaps, EndedGaps, GapLaw, ThresholdGaps
from shortlist.exact.margins import Margin
from shortlist.extras import Extras
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

REALS = listed(REAL, tuple)
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
GUARANTEES[Composition] = {"parts": listed(pair(one_of("a guarantee", dict(GUARANTEES)), WHOLE), tuple)}
"""Compositions are flat: `compose` counts parts, it does not nest them."""
RUNS: dict[type, dict[str, Codec]] = {
    NegativeBinomial: {"gamma": REAL, "eta": REAL},
    Poisson: {"mean": REAL},
    Binomial: {"n": WHOLE, "p": REAL},
}
RUNS[Capped] = {"runs": one_of("a number of runs", dict(RUNS)), "cap": WHOLE}
GUARANTEES[Mixed] = {"parts": listed(pair(one_of("a guarantee", dict(GUARANTEES)), WHOLE), tuple)}
GUARANTEES[Tuned] = {"base": one_of("a guarantee", dict(GUARANTEES)), "runs": one_of("a number of runs", RUNS)}
GUARANTEE = one_of("a guarantee", GUARANTEES)
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
    {ChainedGaps: {"deviation": POSITIVE}, ThresholdGaps: {"laws": listed(LAW, tuple)}, EndedGaps: {"law": LAW}},
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
FRAME = record(Frame, {"engine": TEXT, "types": listed(TEXT, tuple)})

COMMON: dict[str, Codec] = {
    "items": optional(listed(LABEL)),
    "ordered": FLAG,
    "guarantee": GUARANTEE,
    "charge": GUARANTEE,
    "mechanism": TEXT,
    "why": TEXT,
    "unit": TEXT,
    "neighbours": word("add-remove", "replace"),
    "secure": FLAG,
    "notes": listed(TEXT, tuple),
    "indices": optional(listed(WHOLE)),
    "item_columns": listed(TEXT, tuple),
    "frame": optional(FRAME),
    "receipt": optional(RECEIPT),
}
"""What every release has."""

NUMBERS: dict[str, Codec] = {"values": listed(REAL), "gaps": listed(REAL)}
"""One number for each item, where the mechanism releases them."""

EXTRAS: dict[str, Codec] = {
    "margins": listed(record(Margin, {"error": REAL, "half_width": REAL})),
    "used": TEXT,
    "k": WHOLE,
    "stopped": FLAG,
    "p_value": REAL,
    "soft_max": REAL,
    "soft_min": REAL,
    "kept": one_of("a cost", {ExPost: GUARANTEES[ExPost]}),
    "answers": listed(ANSWER),
    "evidence": EVIDENCE,
    "largest": FLAG,
    "candidates": WHOLE,
    "asked": WHOLE,
    "q": listed(REAL),
}
"""What only some mechanisms release."""


def written(release: object) -> str:
    """The release as one line of JSON.

    Raises
    ------
    ValueError
        if a label, or a guarantee of somebody's own, has no form in JSON.
    """
    content: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    content |= {name: codec.write(getattr(release, name)) for name, codec in COMMON.items()}
    extras: object = getattr(release, "extras", None)
    content |= _present(extras, NUMBERS)
    content["extras"] = _present(extras, EXTRAS)
    receipt: Receipt | None = getattr(release, "receipt", None)
    if receipt is not None and receipt.balance:
        content["extras"]["balance"] = receipt.balance
    return json_line(content, strict=True)


def _present(extras: object, table: Mapping[str, Codec]) -> dict[str, Any]:
    values = {name: getattr(extras, name) for name in table}
    return {name: table[name].write(value) for name, value in values.items() if value is not None}


def read(text: object) -> dict[str, Any]:
    """The words of a release from what `written` gave.

    Raises
    ------
    TypeError
        if it is no text.
    ValueError
        in one sentence, if it is no release, one of another version, or damaged.
    """
    if not isinstance(text, str | bytes):
        raise TypeError("text must be the JSON that release.to_json() gave")
    try:
        return fields_of(parsed(text))
    except Damaged as damage:
        reason = str(damage)
    raise ValueError(f"this is no release that shortlist can read: {reason}")


def fields_of(content: Any) -> dict[str, Any]:
    """The same from what the JSON says; raises `Damaged`."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise Damaged(f'it does not say "format": "{FORMAT}"')
    if type(content.get("version")) is not int or content["version"] != VERSION:
        raise Damaged(f"its version is not {VERSION}; a newer shortlist may know it")
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
    extras = Extras(**{name: fields.pop(name) for name in [*NUMBERS, *EXTRAS] if name in fields})
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
    "by": listed(TEXT, tuple),
    "groups_per_user": WHOLE,
    "guarantee": GUARANTEE,
    "charge": GUARANTEE,
    "per_group": GUARANTEE,
    "unit": TEXT,
    "neighbours": word("add-remove", "replace"),
    "secure": FLAG,
    "mechanism": TEXT,
    "why": TEXT,
    "notes": listed(TEXT, tuple),
    "receipt": optional(RECEIPT),
    "frame": optional(FRAME),
    "item_columns": listed(TEXT, tuple),
}


def written_groups(release: Any) -> str:
    """The grouped release as one line of JSON."""
    content: dict[str, Any] = {"format": GROUPED_FORMAT, "version": VERSION}
    content |= {name: codec.write(getattr(release, name)) for name, codec in GROUPED_COMMON.items()}
    content["groups"] = [
        {"key": LABEL.write(key), "release": json.loads(written(one))} for key, one in release.releases.items()
    ]
    return json_line(content, strict=True)


def read_groups(text: object) -> dict[str, Any]:
    """The words of a grouped release; `releases` are pairs of a key and the words of its release.

    Raises
    ------
    TypeError
        if it is no text.
    ValueError
        in one sentence, if it is no grouped release, one of another version, or damaged.
    """
    if not isinstance(text, str | bytes):
        raise TypeError("text must be the JSON that to_json() of a grouped release gave")
    try:
        return _fields(parsed(text))
    except Damaged as damage:
        reason = str(damage)
    raise ValueError(f"this is no grouped release that shortlist can read: {reason}")


def _fields(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict) or content.get("format") != GROUPED_FORMAT:
        raise Damaged(f'it does not say "format": "{GROUPED_FORMAT}"')
    if type(content.get("version")) is not int or content["version"] != VERSION:
        raise Damaged(f"its version is not {VERSION}; a newer shortlist may know it")
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
    return key, fields_of(content["release"])
