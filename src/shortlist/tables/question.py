"""What is asked of a table: columns, contribution bounds, filters and groups; and what its declared types make of it.

Everything here is public, and is checked before a row is read.

A user's distinct items are put into the order of (H(salt, user, item), item), and the first `most` of them count
(Theorem 195). That order depends on the user's own rows and on the salt alone, whatever H is, so nobody's rows change
what another user's count for. H is the MD5 of the texts, joined by a character that texts hardly have: it favours no
item, and is the same in every engine. The salt is public, and drawn once for a count, before a row is read.

In the same way a user's groups are ordered: those with the most rows first, of equally many by (H(salt, user, key),
key); the first `per_user` count (Theorem 229). Rows that do not count (by `where`, without a user, an item or a key,
off the list of candidates or of groups) use up no place.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Self, get_args

import numpy as np

from shortlist._arrays import Indices
from shortlist._text import suggest
from shortlist.errors import Text, bad_type, bad_value
from shortlist.exact.thresholds import LARGEST_MOST, MOST
from shortlist.sampling.entropy import SECURE
from shortlist.scores import Grid, PerUser
from shortlist.tables.columns import (
    PLAIN,
    Kind,
    Row,
    TextForm,
    as_tuples,
    bad_column,
    check_public_list,
    check_user,
    fit_list,
    fit_rows,
    is_number,
    kind_of,
)
from shortlist.tables.dialect import NO_NAMES, separator_hint
from shortlist.tables.where import Condition, Where, fit_condition, form_of

BITS = 24
"""A clipped sum has so many bits: the grid is the power of two 2^-24 below the larger end of the clip, or less."""
SATURATED = 2.0**36
"""One row counts at most so many steps of the grid, so that no engine's 64 bits overflow."""
LARGEST = 2**53
"""Sums over users are held within this many steps: exact as floats, and holding moves nobody's share upwards."""
MOST_GROUPS = 4096
"""Groups of one user."""
BETWEEN = "\x1f"
"""Stands between the texts that are hashed. A text that holds it makes two hashes equal at worst: no harm."""
FARTHEST = 1 << 32
"""Votes by sums of whole steps count from 0, and both ends of the range lie within so many steps of it. One row adds at
most twice as many to a user's sum, so that no engine's 64 bits overflow."""
TOKENS = 1 << 16
"""What one vote is shared in: whole tokens, which add up to this for every person."""
EXAMPLES = {"user": "user_id", "item": "movie", "value": "age", "by": "country"}


def fresh_salt() -> str:
    """Return 128 secure bits."""
    return "".join(f"{int(word):016x}" for word in SECURE.words(2))


@dataclass(frozen=True, slots=True)
class Clip:
    """Sums of values on a public grid, in whole steps of it: what one user adds to one item is in [low, high].

    A row's value x counts floor(x / grid + 1/2) steps. A user's steps are added up per item, then clipped, then added
    up over users, all in integers: the sensitivity is that of the arithmetic that is really used.
    """

    low: int
    high: int
    exponent: int
    """The grid is 2^exponent."""
    bounds: tuple[float, float]
    """The clip as the caller wrote it."""

    @classmethod
    def of(cls, clip: object) -> Clip:
        """Return the finest grid on which the larger end of the clip has at most 2^24 steps."""
        low, high = _read_clip(clip)
        exponent = math.frexp(max(-low, high))[1] - BITS
        step = Fraction(2) ** exponent
        least, most = math.ceil(Fraction(low) / step), math.floor(Fraction(high) / step)
        if least > most:  # no step of the grid lies in the clip: the one beside it that is nearer to 0 moves less
            least = most = least if high < 0 else most
        return cls(least, most, exponent, (low, high))

    @property
    def grid(self) -> float:
        """The size of a step, a power of two: dividing by it rounds nothing."""
        return 2.0**self.exponent

    @property
    def monotone(self) -> bool:
        """Whether all that a user can do to a score has one sign."""
        return self.bounds[0] >= 0 or self.bounds[1] <= 0

    @property
    def sensitivity(self) -> float | tuple[float, float]:
        """What adding a user can move one score by: R = max(high, 0) - min(low, 0) follows."""
        down, up = max(-self.bounds[0], 0.0), max(self.bounds[1], 0.0)
        return max(down, up) if self.monotone else (down, up)


def _read_clip(clip: object) -> tuple[float, float]:
    wrong = Text("$clip must be a pair of finite numbers (low, high), for example $clip=(0, 5)")
    if not isinstance(clip, tuple | list) or len(clip) != 2 or any(isinstance(end, bool) for end in clip):
        raise TypeError(wrong)
    try:
        low, high = (float(end) for end in clip)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(wrong) from None
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(wrong)
    if low > high or low == high == 0:
        raise bad_value("$clip=(low, high) must have low <= high, and not both 0")
    if not 2.0**-500 < max(-low, high) < 2.0**500:
        raise bad_value("$clip must be of an ordinary size: change the unit of the values")
    return low, high


@dataclass(frozen=True, slots=True)
class Cap:
    """Each user keeps `most` items at most."""

    most: int
    caps_scores: bool
    """Whether an item's score is how many users kept it; otherwise how many have it, and the cap is for weights."""
    weighted: bool
    """Whether there is a column of weights: each user adds 1 / sqrt(t) to the t items they keep.

    It is `exact.thresholds.weight`, floor(sqrt(floor(2^40 / t))), which engines compute in floats without an error for
    t up to LARGEST_MOST: 2^40 / t and the root of a whole number below 2^40 are rounded by less than what separates
    them from the next whole number, if they are none (Theorem 195).
    """
    salt: str


@dataclass(frozen=True, slots=True)
class Grouping:
    """By what the rows are grouped, which groups there are, and in how many of them one user counts."""

    by: tuple[str, ...]
    listed: tuple[Row, ...] | None
    """The public keys as they were given, a tuple each; None where they come from the data."""
    per_user: int
    salt: str = ""
    """Drawn once for a count, by `Question.with_salts`."""

    @classmethod
    def of(cls, by: object, groups: object, per_user: object) -> Self | None:
        """Return None for no groups."""
        if by is None:
            if groups is not None or per_user is not None:
                raise bad_type('$groups and $groups_per_user go with by: write $by="country"')
            return None
        several = _read_columns("by", by)
        listed = None if groups is None else _read_groups(groups, len(several))
        what = "in how many groups one person counts, for example $groups_per_user=1"
        most = _read_whole("groups_per_user", 1 if per_user is None else per_user, MOST_GROUPS, what)
        if listed is not None and most > len(listed):
            raise bad_value(f"$groups_per_user={most} is more than the {len(listed)} groups; write a smaller number")
        return cls(several, listed, most)

    @property
    def keys(self) -> tuple[str, ...]:
        """Our own names for the columns of the key."""
        return tuple(f"g{n}" for n in range(len(self.by)))

    def rows(self, kinds: Collection[Kind], written: Collection[str] = ()) -> list[Row] | None:
        """Return the public keys in the kinds of the columns, in the order given; errors may depend on them."""
        if self.listed is None:
            return None
        keys = fit_rows("groups", self.by, kinds, written, self.listed)
        if len(keys) < len(self.listed):
            raise ValueError("groups has a key twice; name each group once")
        return keys


def _read_groups(groups: object, width: int) -> tuple[Row, ...]:
    if isinstance(groups, str | bytes | Mapping) or not isinstance(groups, Iterable):
        raise bad_type('$groups must be a list of keys, for example $groups=["CH", "DE"]')
    rows = as_tuples("groups", groups.tolist() if hasattr(groups, "tolist") else groups, width)
    if not rows:
        raise bad_value("$groups must not be empty; leave it out if the groups come from the data")
    return tuple(rows)


def plain_key(row: Row) -> Hashable:
    """Return a label or the key of a group as it is shown: its part, or a tuple of several."""
    return row[0] if len(row) == 1 else row


def _read_whole(name: str, number: object, largest: int, what: str) -> int:
    """Return a whole number from 1 to the largest."""
    wrong = f"${name} must be a whole number from 1 to {largest}: {what}"
    try:
        whole = operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        raise bad_type(wrong) from None
    if isinstance(number, bool | np.bool_):
        raise bad_type(wrong)
    if not 1 <= whole <= largest:
        raise bad_value(wrong)
    return whole


def _read_column(role: str, name: object) -> str:
    if not isinstance(name, str) or not name:
        raise bad_type(f'${role} must be the name of a column, for example ${role}="{EXAMPLES[role]}"')
    return name


def _read_columns(role: str, names: object) -> tuple[str, ...]:
    """Return the names of one column, or of several."""
    several = [names] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    columns = tuple(_read_column(role, name) for name in several)
    if not columns:
        raise bad_value(f'${role} must name at least one column, for example ${role}="{EXAMPLES[role]}"')
    if len(set(columns)) < len(columns):
        raise ValueError(f"{role} names a column twice; name each once")
    return columns


def _label_kind(role: str, column: str, declared: str) -> Kind:
    """Return the kind of a column whose cells are released, or refuse it by the name the caller wrote."""
    kind = kind_of(declared)
    if kind is None:
        raise bad_column(role, column, "text, whole numbers (64 bits), truth values or dates")
    return kind


@dataclass(frozen=True, slots=True)
class Columns:
    """What a table tells of its columns before a row is read."""

    names: tuple[str, ...]
    """All of them, repeated ones too."""
    types: Mapping[str, str]
    """The declared type of each, as columns.py reads it."""
    written: Collection[str] = ()
    """Those whose cells are read as text, whatever they look like."""
    as_text: bool = False
    """Whether it is a file of text: a number must be tried, and the line of names may be a row of data."""

    def check(self, roles: Iterable[tuple[str, str]], texts: Collection[str] = ()) -> None:
        """Refuse a column that is not there, or not once. In the place of one of `texts` a text may be meant.

        Of a file of text a near name is told only if another name that was given stands there: the line has names.

        Raises
        ------
        ValueError
            with the name that was written, and what to write instead.
        """
        named = list(roles)
        for role, name in named:
            if self.names.count(name) != 1:
                raise self._missing(role, name, [one for _, one in named], role == "where" and name in texts)

    def _missing(self, role: str, name: str, wanted: list[str], may_be_text: bool) -> ValueError:
        names = list(self.names)
        told = not self.as_text or not {*wanted}.isdisjoint(names)
        several = role == "item" and told and {part.strip() for part in name.split(",")} <= {*names}
        hints = (
            "; several columns are $item=[...]" if several else "",
            suggest(name, names) if told and name not in names else "",
            separator_hint(names, wanted) if self.as_text else "",
            f"; a text goes in single quotes, as in = '{name}'" if may_be_text else "",
            "; write it as the table does" if told else NO_NAMES,
        )
        said = f"where: {name!r}" if role == "where" else f"{role}={name!r}"
        how, hint = "no column" if name not in names else "more than one column", next(filter(None, hints))
        return bad_value(f"${said}: the table has {how} of that name{hint}", column=name, hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of a table, checked as far as the words tell: counts of items, or votes on the points of a grid."""

    user: str | None
    """The column of people; None where each row is a person of its own, by the caller's word."""
    items: tuple[str, ...] = ()
    """The columns of the item."""
    candidates: object = None
    """The public list of items, as it was given but for what can be read only once."""
    value: str | None = None
    """The column to be summed, or to be voted with."""
    clip: Clip | None = None
    most: int | None = None
    """How many distinct items each user keeps; None for all of them."""
    cap: Cap | None = None
    """How that is done in one count, and where items are weighed; set by `with_salts`."""
    where: Where | None = None
    """Which rows count; None for all of them."""
    grouping: Grouping | None = None
    """By what the rows are grouped; None for one list of all."""
    grid: Grid | None = None
    """The points of a quantile."""
    per_user: PerUser = "share"
    unit: str = "user"
    memory: str | None = None
    text: TextForm = PLAIN

    @classmethod
    def of(cls, call: Any) -> Self:
        """Return the question of a call that has the options of `count` as attributes.

        Raises
        ------
        ValueError, TypeError
            naming the argument.
        """
        check_public_list("candidates", call.candidates, call.source)
        value, clip = call.value, call.clip
        items = _read_columns("item", call.item)
        user = _read_column("user", call.user)
        if user in items:
            raise bad_value("$user and $item must be different columns")
        what = "how many items of each person count, for example $most=3; to count all of them, leave it out"
        most = None if call.most is None else _read_whole("most", call.most, LARGEST_MOST, what)
        where = None if call.where is None else Where.of(call.where)
        common = _read_common(call, {user, *items})
        if most is not None and not (value is None and clip is None):
            raise bad_value("$most is for counts of people, not for sums: leave value and clip out, or most")
        if (value is None) != (clip is None):
            raise bad_type('$value and $clip go together: write $value="stars", $clip=(0, 5)')
        if value is not None:
            common |= {"value": _read_column("value", value), "clip": Clip.of(clip)}
        listed = _read_once(call.candidates)
        question = cls(user=user, items=items, candidates=listed, most=most, where=where, **common)
        if question.grouping is not None and question.grouping.listed is None and listed is not None:
            raise bad_value(
                "groups from the data do not go with public candidates: a list of k items for a group would tell that "
                "somebody is in it. Give the public groups too, $groups=[...], or leave candidates out and give a delta"
            )
        if value is not None and listed is None:
            raise ValueError("sums need candidates: no mechanism takes sums of items that only the data knows")
        return question

    @classmethod
    def of_values(cls, call: Any) -> Self:
        """Return the question of a call of `quantile`; of numbers in memory it has no column."""
        user, value, per_user = call.user, call.value, call.per_user
        common = _read_common(call, {user, value})
        grouping, in_memory = common["grouping"], not isinstance(call.source, str | os.PathLike)
        grid = Grid.of(call.lower, call.upper, call.step)
        if value is None and grouping is None and in_memory:
            if user is not None or common["memory"] is not None or common["text"] != PLAIN:
                raise bad_type('$value must be the name of a column, for example $value="age"')
            return cls(user=None, grid=grid, **common)
        value = _read_column("value", value)
        if user is not None and _read_column("user", user) == value:
            raise bad_value("$user and $value must be different columns")
        if not isinstance(per_user, str) or per_user not in get_args(PerUser):
            raise bad_value(f"$per_user must be one of {', '.join(map(repr, get_args(PerUser)))}")
        if grouping is not None and grouping.listed is None:
            raise bad_value('$groups must be listed for quantiles, for keys tell of people: write $groups=["CH", "DE"]')
        if grouping is not None and user is None and grouping.per_user > 1:
            raise bad_value("$groups_per_user must be 1 where each row is a person: a row is in one group")
        if per_user == "sum" and grid.kind == "date":
            raise bad_value('$per_user="sum" is for numbers: dates cannot be added')
        if per_user == "sum" and max(abs(grid.start), abs(grid.start - grid.size)) > FARTHEST:
            raise bad_value('step is too fine for $per_user="sum": write a larger step')
        return cls(user=user, value=value, grid=grid, per_user=per_user, **common)  # type: ignore[arg-type]

    def with_salts(self) -> Self:
        """Return the same question for one count: with fresh salts where items or groups of users are capped."""
        grouping = None if self.grouping is None else replace(self.grouping, salt=fresh_salt())
        cap, listed = None, self.candidates is not None
        if self.grid is None and self.clip is None and not (self.most is None and listed):
            cap = Cap(MOST if self.most is None else self.most, self.most is not None, not listed, fresh_salt())
        return replace(self, cap=cap, grouping=grouping)

    @property
    def adds(self) -> bool:
        """Whether a user's votes are added up: then a place is a number of whole steps from 0."""
        return self.per_user == "sum" and self.user is not None

    @property
    def dated(self) -> bool:
        """Whether values are dates; otherwise they are numbers."""
        return self.grid is not None and self.grid.kind == "date"

    @property
    def share(self) -> int:
        """What one person's votes add up to."""
        return TOKENS if self.per_user == "share" and self.user is not None else 1

    @property
    def roles(self) -> list[tuple[str, str]]:
        """(what it is for, column) for every column that is read."""
        where = () if self.where is None else self.where.columns
        by = () if self.grouping is None else self.grouping.by
        several = (("user", (self.user,)), ("item", self.items), ("value", (self.value,)), ("where", where), ("by", by))
        return [(role, name) for role, names in several for name in names if name is not None]

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is read, once."""
        return tuple(dict.fromkeys(name for _, name in self.roles))

    def in_words(self, source: object) -> str:
        """Say which columns of a table are read, for the record."""
        if self.value is None and self.grid is not None:
            return f"numbers in memory, {self.grid.in_words}"
        by = "" if self.grouping is None else f", by {' and '.join(self.grouping.by)}"
        who = "each row a person" if self.user is None else f"user {self.user}"
        table = f"{self.text.in_words(source)}: {', '.join([who, *(f'item {item}' for item in self.items)])}"
        if self.grid is not None:
            return f"{table}, value {self.value} {self.grid.in_words}, {self.per_user} of a person's rows{by}"
        ends = [] if self.clip is None else [repr(float(end)).removesuffix(".0") for end in self.clip.bounds]
        sums = f", value {self.value} from {' to '.join(ends)}" if ends else ""
        most = "" if self.most is None else f", at most {self.most} items each"
        return f"{table}{sums}{most}{by}{'' if self.where is None else f', where {self.where.text}'}"

    @property
    def keys(self) -> tuple[str, ...]:
        """Our own names for the item's columns."""
        return tuple(f"i{n}" for n in range(len(self.items)))

    @property
    def labels(self) -> dict[str, str]:
        """Our own name for every column that makes an item or the key of a group, and that column."""
        own = dict(zip(self.keys, self.items, strict=True))
        return own if self.grouping is None else own | dict(zip(self.grouping.keys, self.grouping.by, strict=True))


def _read_common(call: Any, others: set[Any]) -> dict[str, Any]:
    """Return what counts and quantiles have in common."""
    check_public_list("groups", call.groups, call.source)
    grouping = Grouping.of(call.by, call.groups, call.groups_per_user)
    if grouping is not None and others & {*grouping.by}:
        raise bad_value("$by must name other columns than user")
    if not isinstance(call.unit, str) or not call.unit:
        raise bad_value('$unit must be a word, for example $unit="user"')
    text = TextForm.of(call.multiline, call.separator)
    return {"grouping": grouping, "unit": call.unit, "memory": call.memory, "text": text}


def _read_once(listed: object) -> object:
    """Return the same public list, or a list for each group, that can be read twice: counted by and noted."""
    if isinstance(listed, Mapping):
        return {key: _read_once(one) for key, one in listed.items()}
    return list(listed) if isinstance(listed, Iterator) else listed


Query = Callable[[Question, tuple[Kind, ...]], tuple[Any, int] | None]
"""Candidates that stay in the engine and how many there are; None for a list that is read here."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A question and what the declared types of a table make of it; its public lists fit the columns."""

    question: Question
    types: Mapping[str, str] = field(default_factory=dict)
    kinds: tuple[Kind, ...] = ()
    """Of the columns of the item, then of those of the key of a group."""
    where: Condition | None = None
    groups: list[Row] | None = None
    """The public keys, in order; None where there are no groups, or their keys come from the data."""
    lists: list[list[Row]] | None = None
    """The public candidates, distinct: one list for all groups, or one for each."""
    query: Any = None
    """Or what the engine calls them."""
    sizes: tuple[int, ...] | None = None
    """How many candidates there are in these lists; None where they come from the data."""

    @classmethod
    def of(cls, question: Question, columns: Columns, query: Query) -> Plan:
        """Refuse what may not be counted, by names, types and public lists alone."""
        where, grouping, types = question.where, question.grouping, columns.types
        columns.check(question.roles, set() if where is None else where.side_by_side)
        if question.user is not None:
            check_user(question.user, types[question.user])
        condition = None if where is None else fit_condition(where.tree, lambda name: form_of(name, types[name]))
        labels = [(role, name) for role, name in question.roles if role in ("item", "by")]
        kinds = tuple(_label_kind(role, name, types[name]) for role, name in labels)
        items, by = kinds[: len(question.items)], kinds[len(question.items) :]
        if question.value is not None and not columns.as_text:
            _check_value(question.value, types[question.value], question.grid)
        groups = None if grouping is None else grouping.rows(by, columns.written)
        plan, candidates = cls(question, types, kinds, condition, groups), question.candidates
        if candidates is None:
            return plan
        several = None if grouping is None else _candidates_of_groups(candidates, groups)
        stays = query(question, items) if several is None else None
        if stays is not None:
            return replace(plan, query=stays[0], sizes=(stays[1],))
        lists = [fit_list(one, question.items, items, columns.written) for one in several or [candidates]]
        return replace(plan, lists=lists, sizes=tuple(map(len, lists)))

    @property
    def public(self) -> bool:
        """Whether the candidates are."""
        return self.sizes is not None

    @property
    def own(self) -> bool:
        """Whether each group has candidates of its own."""
        return self.lists is not None and len(self.lists) > 1

    @property
    def forms(self) -> dict[str, Kind | None]:
        """The kind of the user and of every column of an item or a key, by our own name; None for a user of others."""
        own: dict[str, Kind | None] = dict(zip(self.question.labels, self.kinds, strict=True))
        return own if self.question.user is None else {"u": kind_of(self.types[self.question.user])} | own

    @property
    def number(self) -> int | None:
        """How many groups there are: one list is one group. None where only the data knows."""
        return 1 if self.question.grouping is None else None if self.groups is None else len(self.groups)

    @property
    def candidate_counts(self) -> Indices | None:
        """How many candidates each group has, where they are public."""
        if self.sizes is None:
            return None
        return np.array(self.sizes * (self.number or 0 if len(self.sizes) == 1 else 1), np.int64)

    def candidate_rows(self) -> list[Row]:
        """Return the public candidates, with the number of their group before them where each has its own."""
        assert self.lists is not None
        return [(n, *row) for n, one in enumerate(self.lists) for row in one] if self.own else self.lists[0]

    @property
    def drops_unnamed(self) -> bool:
        """Whether users without a name are nobody: where users are capped or vote, all of them would be one."""
        question = self.question
        bounded = any(one is not None for one in (question.cap, question.grouping, question.grid))
        return bounded and self.forms.get("u") == "text"


def _check_value(column: str, declared: str, grid: Grid | None) -> None:
    """Refuse what cannot be added up, or voted with: dates go with dates, numbers with numbers."""
    dated = grid is not None and kind_of(declared) == "date"
    if not dated and not is_number(declared):
        also = " or dates (without a time)" * (grid is not None)
        raise bad_value(f"$value={column!r} must be a column of numbers{also}; convert it first")
    if grid is not None and (grid.kind == "date") != dated:
        other = "dates" if dated else "numbers"
        raise bad_type(f"$value={column!r} is a column of {other}: give lower and upper as {other} too")


def _candidates_of_groups(candidates: object, groups: list[Row] | None) -> list[Any] | None:
    """Return the public list of each group, where there is one for each: a mapping from key to list; None otherwise."""
    if not isinstance(candidates, Mapping):
        return None
    if groups is None:
        raise bad_value("candidates for each group need public groups too: write $groups=[...]")
    keys = [plain_key(group) for group in groups]
    if set(candidates) != set(keys):
        raise ValueError("candidates as a mapping must have exactly the groups as its keys, each with a list")
    return [candidates[key] for key in keys]
