"""Every call is one `Query`. An option of the calls is declared once: as a field of it, with its help and its check."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict

from shortlist._arrays import check_flag
from shortlist._runtime import lazy_import, set_fields
from shortlist.accounting.guarantees import number
from shortlist.errors import bad_type, bad_value
from shortlist.scores import ScoresOptions

if TYPE_CHECKING:
    from fractions import Fraction

    from shortlist.ledger.ledger import Ledger
    from shortlist.privacy import Guarantee
    from shortlist.sampling.entropy import Source
    from shortlist.scores import Bound, Neighbours, Number, PerUser

Part = Literal["scores", "table", "plan", "outcome", "charge"]
"""What an option is about: plain values, a table, what may run, what is shown of it, or who pays and how."""
Check = Callable[[str, Any], Any]
"""From the name of an option and its value to the value that is meant; it refuses others."""


class Option(NamedTuple):
    """An argument of the calls, as its field of `Query` declares it."""

    name: str
    type: str
    """As Python writes it."""
    default: Any
    help: str
    """One line."""
    part: Part
    calls: tuple[str, ...]
    """The functions that take it."""
    check: Check | None
    own: Mapping[str, Any]
    """The default in a function that has another one."""
    lasting: bool
    """Whether `shortlist.toml` may say it: where things are, never what is asked of them or spent."""


def _option(part: Part, calls: str, help: str, default: Any = None, check: Check | None = None, **own: Any) -> Any:
    said = {"part": part, "calls": tuple(calls.split()), "help": help, "check": check}
    return field(default=default, metadata={**said, "lasting": own.pop("lasting", False), "own": own})


def check_progress(name: str, progress: Any) -> Any:
    """Refuse what is not a function of one number."""
    if not callable(progress):
        raise TypeError(f"{name} must be a function of one number, the share of the rows that were read")
    return progress


LISTS = "top_k select"
ALL = "top_k select keys quantile"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Query:
    """What a call asks for: which source, which columns and rows, what of them, and at what price."""

    call: str
    source: Any
    written: Mapping[str, Any]
    """The options that were written, of those that say what the source is."""
    is_table: bool
    """Whether the source is a table, or values that are asked for quantiles: then it is read after the charge."""

    k: Any = _option("plan", "top_k", "How many items; None lets the data choose, which needs a delta.")
    q: float | Fraction | Iterable[float | Fraction] = _option("plan", "quantile", "Which quantiles, from 0 to 1.", 0.5)
    parallel: bool = _option("plan", "top_k", "Whether no user is in two of several lists.", False, check_flag)

    user: str | None = _option("table", ALL, "The column of users.", lasting=True)
    item: str | Iterable[str] | None = _option(
        "table", f"{LISTS} keys", "The column of items; several make one candidate.", lasting=True
    )
    candidates: object = _option("table", LISTS, "The public list of items; None takes them from the data.")
    value: str | None = _option("table", f"{LISTS} quantile", "The column of numbers or dates.", lasting=True)
    clip: tuple[float, float] | None = _option("table", LISTS, "The least and the most one user adds to one item.")
    most: int | None = _option("table", f"{LISTS} keys", "For how many items each user counts, at most.")
    where: str | None = _option("table", f"{LISTS} keys", "Which rows count, as text.")
    by: str | Iterable[str] | None = _option("table", f"{LISTS} quantile", "Columns whose values make groups.")
    groups: Iterable[Any] | None = _option("table", f"{LISTS} quantile", "The public keys of the groups.")
    groups_per_user: int | None = _option("table", f"{LISTS} quantile", "In how many groups one user counts, at most.")
    lower: Bound | None = _option("table", "quantile", "The lower end of the range: a public number, or a date.")
    upper: Bound | None = _option("table", "quantile", "The upper end of the range.")
    step: Any = _option("table", "quantile", "How fine an answer is, a public number.")
    per_user: PerUser = _option("table", "quantile", "What several rows of one user count for.", "share")
    memory: str | None = _option("table", ALL, "How much memory to use for files before going to disk.")
    multiline: bool = _option("table", ALL, "Whether quoted fields of a CSV file may hold line breaks.", False)
    separator: str | None = _option("table", ALL, "What stands between the fields of a CSV file.", lasting=True)
    progress: Callable[[float], None] | None = _option(
        "table", ALL, "A function that is given the share of the rows that were read.", check=check_progress
    )

    labels: Iterable[Hashable] | None = _option("scores", LISTS, "One distinct name for each score.")
    sensitivity: Number | tuple[Number, Number] = _option(
        "scores", LISTS, "The most one user can move any one score.", 1.0
    )
    monotone: bool = _option("scores", LISTS, "Whether one user moves all scores the same way.", False)
    neighbours: Neighbours = _option("scores", LISTS, 'What "one user" means: added or replaced.', "add-remove")
    public: bool | None = _option("scores", LISTS, "Whether the list of candidates is public.")
    unit: str = _option("scores", ALL, "What one user is, for the record.", "user", lasting=True)

    epsilon: float | None = _option("plan", ALL, "What it may cost, as epsilon.")
    delta: float | None = _option("plan", ALL, "The delta beside epsilon; needed where the data name the items.")
    budget: Guarantee | None = _option("plan", ALL, "What it may cost, in place of epsilon.")
    method: str = _option("plan", f"{LISTS} quantile", "A mechanism by name.", "auto")
    ordered: bool = _option("plan", "top_k", "Whether the order is released too.", False, check_flag)
    values: bool = _option("plan", "top_k keys", "Whether noisy values come too.", False, check_flag, keys=True)
    gaps: bool = _option("plan", "top_k", "Whether the lead of each item over the next comes too.", False, check_flag)
    limit: int | None = _option("plan", "top_k", "How many of the largest counts may be looked at.")
    weighted: bool | None = _option("plan", "keys", "Whether each user shares one vote among the names.")
    largest: bool = _option("plan", LISTS, "False for the smallest scores.", True, check_flag)
    at_least: float | None = _option("outcome", "top_k keys", "Leave out items whose noisy value is below.")

    allow_large: bool = _option("charge", ALL, "Do not warn of an epsilon above 30.", False, check_flag)
    rng: Source | None = _option("charge", ALL, "None is the secure source of randomness.")
    ledger: Ledger | None = _option("charge", ALL, "The ledger, charged before a row is read.", lasting=True)
    purpose: str = _option("charge", ALL, "What the ledger notes.", "")

    def __post_init__(self) -> None:
        for name, default, check in CHECKS:
            value = getattr(self, name)
            if value is not default:
                set_fields(self, **{name: check(name, value)})
        if self.at_least is not None:
            if not self.values or self.method == "gumbel-values":
                raise bad_value(
                    "$at_least looks at the noisy count beside each item: write $values=True too, or leave it out"
                )
            set_fields(self, at_least=number("at_least", self.at_least))

    @classmethod
    def of(cls, call: str, words: Mapping[str, Any]) -> Query:
        """Return the query that a call with these arguments makes.

        Raises
        ------
        ValueError, TypeError
            naming the argument: for one that is not known, or is wrong by itself.
        """
        words = dict(words)
        question = words.pop("question", {})
        if not question.keys() <= GroupOptions.__annotations__.keys():
            raise _unknown(min(question.keys() - GroupOptions.__annotations__.keys()))
        source = words.pop("scores" if "scores" in words else "rows")
        one: dict[str, Any] = {"k": 1, "ordered": True} if call == "select" else {}
        is_table = call in ("keys", "quantile") or not TABLE_OPTIONS.isdisjoint(question)
        return cls(call=call, source=source, written=question, is_table=is_table, **one, **words, **question)


OPTIONS: dict[str, Option] = {
    one.name: Option(one.name, str(one.type), one.default, **one.metadata) for one in fields(Query) if one.metadata
}
"""Every option of the calls, by its name, in the order of the fields."""
CHECKS = [(one.name, one.default, one.check) for one in OPTIONS.values() if one.check is not None]
TABLE_OPTIONS = frozenset(one.name for one in OPTIONS.values() if one.part == "table")
"""Whoever writes one of these means a table."""
WITHOUT_PRICE = {name for name, one in OPTIONS.items() if one.part == "charge"} | {"progress"}
"""Options that change nothing of what runs and of what it costs."""


def options_of(call: str) -> list[Option]:
    """Return the options that a function takes."""
    return [one._replace(default=one.own.get(call, one.default)) for one in OPTIONS.values() if call in one.calls]


class ReadingOptions(TypedDict, total=False):
    """How a table is read."""

    memory: str | None
    multiline: bool
    separator: str | None
    progress: Callable[[float], None] | None


class TableOptions(ScoresOptions, ReadingOptions, total=False):
    """The options of `Scores` for plain values, and those of `count` for a table: `user` and `item` make it one."""

    user: str
    item: str | Iterable[str]
    candidates: object
    value: str | None
    clip: tuple[float, float] | None
    most: int | None
    where: str | None
    groups: Iterable[Hashable] | None
    groups_per_user: int | None


class GroupOptions(TableOptions, total=False):
    """The same, and by what the rows of a table are grouped."""

    by: str | Iterable[str] | None


def _unknown(name: str) -> TypeError:
    """The error of an argument that is not known, with the one that may be meant."""
    calls = OPTIONS[name].calls if name in OPTIONS else ()
    if "top_k" in calls and "select" not in calls:
        return bad_type(f"{name} is not for select, which releases one winner: write top_k(..., ${name}=...)")
    near = lazy_import("shortlist.pages.calls", "other_word")(name, [one.name for one in options_of("top_k")])
    return TypeError(f"{name} is no word that top_k or select know{near or '; see help(shortlist.top_k)'}")
