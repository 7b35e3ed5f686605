"""A release as JSON and back, unchanged: the format of docs/release-format.md, as tables.

What a release has is three tables of codecs. A later kind of release adds a line to `EXTRAS` and changes none, so that
files that were written stay readable.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shortlist._codecs import (
    FLAG,
    LABEL,
    NUMBER,
    POSITIVE,
    REAL,
    TEXT,
    WHOLE,
    Codec,
    Damaged,
    field,
    listed,
    one_of,
    optional,
    pair,
    parsed,
    record,
    word,
)
from shortlist._reading import Frame
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
from shortlist.accounting.run_numbers import Binomial, Capped, NegativeBinomial, Poisson
from shortlist.accounting.tuned import Mixed, Tuned
from shortlist.estimates import BRANCHES, Answer, ChainedGaps, EndedGaps, GapLaw, ThresholdGaps
from shortlist.exact.margins import Margin
from shortlist.extras import Extras
from shortlist.ledger.filter import Balance
from shortlist.ledger.ledger import Receipt

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
