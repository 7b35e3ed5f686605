"""What tuning releases: the winner's candidate, output and score, and what was paid for it."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from shortlist._codecs import FLAG, LABEL, REAL, TEXT, WHOLE, Codec, Damaged, listed, optional, parsed, word
from shortlist._codecs import field as read_field
from shortlist._files import checked_path, write_text
from shortlist._text import html_table, json_line, terminal_safe, text_table
from shortlist.accounting.tuned import Tuned
from shortlist.release_format import GUARANTEE, RECEIPT

if TYPE_CHECKING:
    from shortlist.ledger.ledger import Receipt
    from shortlist.privacy import Guarantee

FORMAT = "shortlist tuned"
VERSION = 1


@dataclass(frozen=True, slots=True, repr=False)
class Best:
    """The best of a random number of private runs. How many there were is not in it, and is never told.

    Parameters
    ----------
    candidate, index
        The winner, and its place in the grid; None where nothing was run at all.
    output
        What `train` gave beside its score; None where it failed. It is not part of equality and of JSON: a model is
        saved by its own means.
    score
        The winner's score; -inf where it failed or was no number, None where nothing was run.
    failed
        Whether the winner's run raised an exception: then every run did, or scored -inf.
    guarantee, charge
        The promise to one `unit`, and what a ledger books for it.
    mechanism, why, notes
        How it was made, why so, and what it all means, in words.
    unit, neighbours
        What one person is, and which tables are compared: `"add-remove"` or `"replace"`.
    secure
        False for seeded randomness, which is for tests and not private.
    receipt
        Where the charge was booked, and how the ledger stood then; None without a ledger.

    Examples
    --------
    >>> import shortlist as sl
    >>> best = sl.tune(lambda c: (None, c), [1, 2], guarantee=sl.PureDP(0.1), runs=sl.Binomial(8, 1.0))
    >>> sl.tuning.Best.from_json(best.to_json()) == best
    True
    """

    candidate: Any
    index: int | None
    output: Any = field(compare=False)
    score: float | None
    failed: bool
    guarantee: Tuned
    charge: Guarantee
    mechanism: str
    why: str
    notes: tuple[str, ...]
    unit: str
    neighbours: str
    secure: bool
    receipt: Receipt | None = None

    def columns(self) -> dict[str, list[Any]]:
        """The released table: a row for the winner, or none."""
        there = self.index is not None
        return {"candidate": [self.candidate] * there, "score": [self.score] * there, "failed": [self.failed] * there}

    def texts(self) -> dict[str, list[str]]:
        """The same as a person reads it: the score to six digits, all fit for a terminal."""

        def text(name: str, cell: Any) -> str:
            return f"{cell:.6g}" if name == "score" else terminal_safe(str(cell))

        return {name: [text(name, cell) for cell in cells] for name, cells in self.columns().items()}

    def line(self) -> str:
        """Guarantee, mechanism, unit of privacy, in one line."""
        warning = "" if self.secure else "  [seeded randomness: for tests, not private]"
        promised = self.guarantee.as_pure() or self.guarantee
        return terminal_safe(f"{promised} for one {self.unit} ({self.neighbours}) by {self.mechanism}{warning}")

    def __str__(self) -> str:
        said = text_table(self.texts()) if self.index is not None else "nothing was run"
        return "\n".join([said, "", self.line(), *map(terminal_safe, self.notes)])

    def __repr__(self) -> str:
        said = "nothing was run" if self.index is None else f"candidate {self.index}"
        return f"<Best: {said}: {self.line()}>"

    def _repr_html_(self) -> str:
        return html_table(self.texts(), [self.line(), *self.notes])

    def to_json(self) -> str:
        """Everything in it but `output` as one line of JSON, for `from_json`.

        Raises
        ------
        ValueError
            for a candidate that is no text, number, truth value, date, tuple of these, or mapping from text to these.
        """
        content = {name: codec.write(getattr(self, name)) for name, codec in FIELDS.items()}
        return json_line({"format": FORMAT, "version": VERSION, **content}, strict=True)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The value whose `text` `to_json` wrote; its `output` is None.

        Raises
        ------
        ValueError
            in one sentence, for a text that is none, is damaged, or is of a version that is not known here.
        """
        if not isinstance(text, str | bytes):
            raise TypeError("text must be the JSON that best.to_json() gave")
        try:
            return cls(output=None, **_fields(parsed(text)))
        except Damaged as damage:
            reason = str(damage)
        raise ValueError(f"this is no result of tuning that shortlist can read: {reason}")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_json()` to a file: whole or not at all, and a new one for its owner alone."""
        write_text(checked_path(path, "best.json"), self.to_json() + "\n")


def _write_candidate(candidate: Any) -> Any:
    """A label, or the parameters of a model by name."""
    if isinstance(candidate, Mapping):
        if not all(type(name) is str for name in candidate):
            raise ValueError("a candidate has names that are no text, which JSON would lose; use pickle")
        return {"parameters": {name: _write_candidate(value) for name, value in candidate.items()}}
    return LABEL.write(candidate)


def _read_candidate(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"parameters"} and isinstance(value["parameters"], dict):
        return {name: _read_candidate(one) for name, one in value["parameters"].items()}
    return LABEL.read(value)


def _read_score(value: Any) -> float:
    score: float = REAL.read(value)
    if math.isnan(score):
        raise Damaged("a number is wanted")
    return score


FIELDS: dict[str, Codec] = {
    "candidate": Codec(_write_candidate, _read_candidate),
    "index": optional(WHOLE),
    "score": optional(Codec(REAL.write, _read_score)),
    "failed": FLAG,
    "guarantee": GUARANTEE,
    "charge": GUARANTEE,
    "mechanism": TEXT,
    "why": TEXT,
    "notes": listed(TEXT, tuple),
    "unit": TEXT,
    "neighbours": word("add-remove", "replace"),
    "secure": FLAG,
    "receipt": optional(RECEIPT),
}
"""What stands in JSON: all but the output."""


def _fields(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise Damaged(f'it does not say "format": "{FORMAT}"')
    if type(content.get("version")) is not int or content["version"] != VERSION:
        raise Damaged(f"its version is not {VERSION}; a newer shortlist may know it")
    if set(content) != {"format", "version", *FIELDS}:
        raise Damaged("something is missing, or of a newer shortlist")
    try:
        fields = {name: read_field(name, codec, content[name]) for name, codec in FIELDS.items()}
    except RecursionError:
        raise Damaged("it is nested too deeply") from None
    if not isinstance(fields["guarantee"], Tuned):
        raise Damaged("guarantee: that of tuning is wanted")
    if (fields["index"] is None) != (fields["score"] is None):
        raise Damaged("score and index do not agree")
    return fields
