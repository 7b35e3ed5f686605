"""The language of filters: a text becomes a tree of a few nodes, is fitted to declared types, and compiled.

Columns (`week`, `"release year"`), literals (`40`, `-1.5`, `'CH'`, `TRUE`, `DATE '2024-02-29'`), comparisons
(`= <> < <= > >=`), `IN (..)`, `BETWEEN .. AND ..`, `IS NULL`, `AND`, `OR`, `NOT`, parentheses. There is nothing that
looks at more than one row, and nothing of the text goes to an engine: whatever else it holds is refused.

There are three truth values, as in SQL: a comparison with something missing, or with what does not compare, is neither
true nor false, and a row is kept where the whole is true. NOT is carried down to the comparisons when the text is read,
so that none is left; with AND and OR alone "neither" may be taken for "false", which every engine can do.

Whether a row is kept depends on that row and on the text alone: nobody's row decides on another's (Theorem 131).
"""

from __future__ import annotations

import datetime
import functools
import math
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, NamedTuple, Self, cast

from shortlist.errors import bad_type, bad_value
from shortlist.tables.columns import RANGES, bad_column, is_float, kind_of

Op = Literal["=", "<>", "<", "<=", ">", ">="]
Value = str | bool | Fraction | datetime.date

Form = Literal["text", "integer", "unsigned", "float", "boolean", "date", "written number", "written date"]
"""How a cell is read. A written number or date is a text that looks like one; other texts do not compare with it."""

OPPOSITE: dict[Op, Op] = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
MIRRORED: dict[Op, Op] = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
COMPARE: dict[Op, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

NUMBER = r"^-?[0-9]{1,40}(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,2})?$"
NOT_IN_NUMBERS = r"[^0-9.eE+-]"
DAY = r"^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])$"
NOT_IN_DAYS = r"[^0-9-]"
"""What a written number and day look like; nothing of the second kind may be in it, for to some engines `$` is also the
place before a line's end. Every engine reads such a number as the nearest float, and a day's text sorts as the day."""
WRITTEN: dict[Form, tuple[str, str]] = {
    "written number": (NUMBER, NOT_IN_NUMBERS),
    "written date": (DAY, NOT_IN_DAYS),
}


@dataclass(frozen=True, slots=True)
class Joined:
    """AND: true if every part is; without parts it is never used. Or OR: true if one part is; without parts never."""

    every: bool
    parts: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Test:
    """A column beside a literal, or several, one of which it is (=) or none (<>); or beside another column."""

    column: str
    op: Op
    values: tuple[Any, ...] = ()
    other: str | None = None
    form: Form | None = None
    """How cells are read, once the types are known: the values have that form then."""


@dataclass(frozen=True, slots=True)
class Missing:
    """IS NULL, or IS NOT NULL."""

    column: str
    yes: bool
    form: Form | None = None
    other = None


Condition = Joined | Test | Missing
"""What engines build."""

NEVER = Joined(False, ())


def form_of(column: str, declared: str) -> Form:
    """How a column is read, by its declared type alone; or a refusal that shows the name the caller wrote."""
    form = kind_of(declared) or ("float" if is_float(declared) else None)
    if form is None:
        raise bad_column("where", column, "text, numbers (64 bits), truth values or dates")
    return form


def fit_condition(tree: Condition, form_in: Callable[[str], Form]) -> Any:
    """The condition for columns in their forms; refuses, by types alone, what could never compare."""
    if isinstance(tree, Joined):
        return Joined(tree.every, tuple(fit_condition(part, form_in) for part in tree.parts))
    form = form_in(tree.column)
    if isinstance(tree, Missing):
        return Missing(tree.column, tree.yes, form)
    if tree.other is not None:
        return _pair(tree, form, form_in(tree.other))
    parts: list[Any] = [_test(tree.column, form, tree.op, value) for value in tree.values]
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, Test) and (part.form, part.op) == (parts[0].form, tree.op) for part in parts):
        return replace(parts[0], values=tuple(dict.fromkeys(part.values[0] for part in parts)))
    return Joined(tree.op == "<>", tuple(parts))  # literals of several kinds are a test each


@dataclass(frozen=True, slots=True)
class Leaves:
    """How an engine writes a test of one cell; a test that is neither true nor false may be false."""

    read: Callable[[str, Form], Any]
    """A column in a form: missing where a cell has none."""
    value: Callable[[Any, Form], Any]
    """A literal in a form."""
    missing: Callable[[Any, bool], Any]
    """Whether a cell is missing, or is not."""
    inside: Callable[[Any, list[Any], bool], Any]
    """Whether a cell is one of several literals, or none."""
    never: Callable[[], Any]
    compare: Callable[[Op, Any, Any], Any] = lambda op, one, other: COMPARE[op](one, other)
    both: Callable[[Any, Any], Any] = operator.and_
    either: Callable[[Any, Any], Any] = operator.or_


def compile_condition(tree: Condition, leaves: Leaves) -> Any:
    """Return the condition as an engine writes it."""
    if isinstance(tree, Joined):
        parts = [compile_condition(part, leaves) for part in tree.parts]
        return functools.reduce(leaves.both if tree.every else leaves.either, parts) if parts else leaves.never()
    assert tree.form is not None
    cell = leaves.read(tree.column, tree.form)
    if isinstance(tree, Missing):
        return leaves.missing(cell, tree.yes)
    if tree.other is not None:
        return leaves.compare(tree.op, cell, leaves.read(tree.other, tree.form))
    values = [leaves.value(value, tree.form) for value in tree.values]
    if len(values) == 1:
        return leaves.compare(tree.op, cell, values[0])
    return leaves.inside(cell, values, tree.op == "=")


def leaves_of(tree: Condition) -> Iterator[Test | Missing]:
    """Return every comparison of a tree, read or fitted."""
    if isinstance(tree, Joined):
        for part in tree.parts:
            yield from leaves_of(part)
    else:
        yield tree


def readings(tree: Condition) -> Iterator[tuple[str, Any]]:
    """Return every column and the form in which it is read, as often as it is."""
    for leaf in leaves_of(tree):
        yield from ((name, leaf.form) for name in (leaf.column, leaf.other) if name is not None)


def _pair(tree: Test, form: Form, other: Form) -> Condition:
    numbers = {"integer", "unsigned", "float"}
    if form != other and not {form, other} <= numbers:
        raise bad_value(f"$where: {tree.column!r} and {tree.other!r} are of two kinds, {form} and {other}: convert one")
    if form == "boolean" and tree.op not in ("=", "<>"):
        raise bad_value(f"$where: truth values are equal (=) or not (<>): {tree.column!r} {tree.op} {tree.other!r}")
    return replace(tree, form=form if form == other else "float")


def _test(column: str, form: Form, op: Op, value: Value) -> Condition:
    """Return a literal beside a column of that form."""
    if isinstance(value, bool):
        if op not in ("=", "<>") or form not in ("boolean", "text"):
            raise bad_value(f"$where: TRUE and FALSE are equal (=) or not (<>) to truth values: {column!r} is {form}")
        wanted = value if op == "=" else not value
        return Test(column, "=", (wanted if form == "boolean" else str(wanted).lower(),), form=form)
    if isinstance(value, Fraction):
        if form in ("integer", "unsigned"):
            return _whole(column, form, op, value)
        if form in ("float", "text"):
            return Test(column, op, (float(value),), form="float" if form == "float" else "written number")
    elif form == "date":
        day = _day(value) if isinstance(value, str) else value
        if day is not None:
            return Test(column, op, (day,), form=form)
    elif form == "text":
        if isinstance(value, str):
            return Test(column, op, (value,), form=form)
        return Test(column, op, (value.isoformat(),), form="written date")
    kind = "a number" if isinstance(value, Fraction) else "that text" if isinstance(value, str) else "a date"
    raise bad_value(f"$where: {column!r} is of kind {form}, and does not compare with {kind}; write {_EXAMPLES[form]}")


def _whole(column: str, form: Form, op: Op, value: Fraction) -> Condition:
    """Whole numbers beside any number, by whole numbers of 64 bits alone."""
    low, high = RANGES[form]  # type: ignore[index]
    there: Condition = Missing(column, False, form)
    if op in ("=", "<>"):
        if value.denominator == 1 and low <= value <= high:
            return Test(column, op, (int(value),), form=form)
        return NEVER if op == "=" else there
    if op in ("<", "<="):
        most = math.ceil(value) - 1 if op == "<" else math.floor(value)
        return NEVER if most < low else there if most >= high else Test(column, "<=", (most,), form=form)
    least = math.floor(value) + 1 if op == ">" else math.ceil(value)
    return NEVER if least > high else there if least <= low else Test(column, ">=", (least,), form=form)


def _day(text: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None


_EXAMPLES: dict[Form, str] = {
    "text": "a text in single quotes, 'CH'", "integer": "a number without quotes, 40",
    "unsigned": "a number without quotes, 40", "float": "a number without quotes, 4.5",
    "boolean": "TRUE or FALSE", "date": "a day, DATE '2024-02-29'",
}  # fmt: skip


LONGEST, DEEPEST, MOST_TESTS = 20_000, 60, 100
"""Letters of a condition, and parentheses and NOTs inside each other."""
TOKENS = re.compile(
    r"""(?P<space>\s+)|(?P<text>'(?:[^']|'')*')|(?P<name>"(?:[^"]|"")+")"""
    r"""|(?P<number>(?:[0-9]{1,40}(?:\.[0-9]{1,40})?)(?:[eE][+-]?[0-9]{1,2})?(?![\w.]))|(?P<word>[^\W\d]\w*)"""
    r"""|(?P<op><=|>=|<>|!=|=(?!=)|<|>)|(?P<mark>[(),-])"""
)
WORDS = frozenset({"AND", "OR", "NOT", "IN", "BETWEEN", "IS", "NULL", "TRUE", "FALSE"})
REFUSED = {
    **dict.fromkeys(("SELECT", "EXISTS"), "a query inside a condition looks at other people's rows"),
    "OVER": "a window looks at other people's rows",
    **dict.fromkeys(("LIKE", "ILIKE"), "patterns are not part of it; write = or IN"),
    "CASE": "CASE is not part of it; write AND and OR",
    "CAST": "nothing is converted here; convert the column first",
}
PARTS = "columns, literals, = <> < <= > >=, IN, BETWEEN, IS NULL, AND, OR, NOT and parentheses"


class Token(NamedTuple):
    """`kind` is that of the pattern; a keyword is in capitals."""

    kind: str
    text: str

    def is_word(self, *words: str) -> bool:
        return self.kind == "keyword" and self.text in words


@dataclass(frozen=True, slots=True)
class Where:
    """A condition that was read. Public: the caller wrote it."""

    text: str
    tree: Any

    @classmethod
    def of(cls, text: object) -> Self:
        """Return the condition that a text says.

        Raises
        ------
        TypeError
            for anything but text: an expression of an engine could look at other rows.
        ValueError
            in one sentence, for what is not part of the language.
        """
        if not isinstance(text, str):
            raise bad_type('$where must be a condition as text, for example $where="week >= 40"; no expression')
        if len(text) > LONGEST:
            raise bad_value(f"$where must have at most {LONGEST:,} letters; put a long list into candidates or groups")
        return cls(text, _Reader(_tokens(text)).whole())

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it looks at."""
        return tuple(dict.fromkeys(name for name, _ in readings(self.tree)))

    @property
    def side_by_side(self) -> set[str]:
        """Names that are compared with another one: in their place a text may be meant."""
        return {name for leaf in leaves_of(self.tree) if leaf.other is not None for name in (leaf.column, leaf.other)}


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    place = 0
    while place < len(text):
        match = TOKENS.match(text, place)
        if match is None:
            raise bad_value(_unknown(text[place:]))
        kind, word = str(match.lastgroup), match.group()
        if kind == "word" and word.upper() in WORDS:
            kind, word = "keyword", word.upper()
        if kind != "space":
            tokens.append(Token(kind, word))
        place = match.end()
    return [*tokens, Token("end", "")]


def _unknown(rest: str) -> str:
    if rest.startswith("=="):
        return "$where: write = for equal, not =="
    if rest[0] in "'\"":
        return f"$where: a quote ({rest[0]}) is opened and never closed"
    if rest[0].isdigit():
        return "$where: a number has at most 40 digits on either side of its point, as 40, 4.5 or 1e6"
    return f"$where: {rest[0]!r} is not part of it; it has {PARTS}"


class _Reader:
    """Reads from the first token to the last. `yes` is False inside of an odd number of NOTs."""

    __slots__ = ("depth", "place", "tests", "tokens")

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.place = self.depth = self.tests = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.place]

    def next(self) -> Token:
        self.place += 1
        return self.tokens[self.place - 1]

    def took(self, *words: str) -> bool:
        """Whether the next one is that keyword or mark; then it is taken."""
        here = self.token
        taken = here.is_word(*words) or (here.kind == "mark" and here.text in words)
        self.place += taken
        return taken

    def whole(self) -> Any:
        tree = self.either(True)
        if self.token.kind != "end":
            raise bad_value(self.wrong("AND, OR or the end"))
        return tree

    def either(self, yes: bool) -> Any:
        return self.parts("OR", lambda: self.parts("AND", lambda: self.one(yes), yes), not yes)

    def parts(self, word: str, read: Callable[[], Any], every: bool) -> Any:
        parts = [read()]
        while self.took(word):
            parts.append(read())
        return parts[0] if len(parts) == 1 else Joined(every, tuple(parts))

    def one(self, yes: bool) -> Any:
        self.depth += 1
        if self.depth > DEEPEST:
            raise bad_value(f"$where: more than {DEEPEST} parentheses and NOTs inside each other; write it flat")
        if self.took("NOT"):
            tree = self.one(not yes)
        elif self.took("("):
            tree = self.either(yes)
            self.need(")")
        else:
            tree = self.test(yes)
        self.depth -= 1
        return tree

    def test(self, yes: bool) -> Any:
        self.tests += 1
        if self.tests > MOST_TESTS:
            raise bad_value(f"$where: more than {MOST_TESTS} comparisons; write a list of values as IN (...)")
        left = self.operand()
        if self.took("IS"):
            no = self.took("NOT")
            self.need("NULL")
            return Missing(self.a_column(left), yes != no)
        no = self.took("NOT")
        if self.took("IN"):
            return Test(self.a_column(left), "=" if yes != no else "<>", self.list())
        if self.took("BETWEEN"):
            low = self.operand()
            self.need("AND")
            high = self.operand()
            inside = yes != no
            return Joined(inside, (_compare(left, ">=", low, inside), _compare(left, "<=", high, inside)))
        if no or self.token.kind != "op":
            raise bad_value(self.wrong("a comparison: =, <>, <, <=, >, >=, IN, BETWEEN or IS NULL"))
        op = self.next().text
        tree = _compare(left, cast(Op, "<>" if op == "!=" else op), self.operand(), yes)
        if self.token.kind == "op":
            raise bad_value("$where: two comparisons in a row; write them with AND, or BETWEEN")
        return tree

    def operand(self) -> tuple[str | None, Value | None]:
        """(column, None) or (None, literal)."""
        here, after = self.token, self.tokens[min(self.place + 1, len(self.tokens) - 1)]
        if here.kind == "word" and here.text.upper() == "DATE" and after.kind == "text":
            self.next()
            day = _day(_unquote(self.next().text))
            if day is None:
                raise bad_value("$where: DATE takes a day of the calendar, for example DATE '2024-02-29'")
            return None, day
        if here.kind in ("word", "name"):
            if here.kind == "word":
                self.check_word(here.text, after)
            self.next()
            return here.text if here.kind == "word" else _unquote(here.text), None
        if here.kind == "text":
            return None, _check_text(_unquote(self.next().text))
        if here.kind == "number" or (here.text == "-" and after.kind == "number"):
            sign = -1 if self.took("-") else 1
            return None, sign * Fraction(self.next().text)
        if here.is_word("TRUE", "FALSE"):
            return None, self.next().text == "TRUE"
        if here.is_word("NULL"):
            raise bad_value("$where: nothing compares with NULL; write IS NULL or IS NOT NULL")
        raise bad_value(self.wrong("a column or a literal"))

    def check_word(self, word: str, after: Token) -> None:
        reason = REFUSED.get(word.upper())
        if reason is not None:
            raise bad_value(f"$where: {word} is refused: {reason}. It has {PARTS}")
        if after.kind == "mark" and after.text == "(":
            raise bad_value(f"$where: {word}(..) is refused: a condition looks at one row, and calls no functions")

    def list(self) -> tuple[Value, ...]:
        self.need("(")
        if self.token.kind == "word":
            self.check_word(self.token.text, self.tokens[self.place + 1])
        values: list[Value] = []
        while not values or self.took(","):
            column, value = self.operand()
            if column is not None or value is None:
                raise bad_value("$where: IN takes literals in parentheses, for example country IN ('CH', 'DE')")
            values.append(value)
        self.need(")")
        return tuple(values)

    def a_column(self, operand: tuple[str | None, Value | None]) -> str:
        if operand[0] is None:
            raise bad_value("$where: IN, BETWEEN and IS NULL ask about a column; write its name before them")
        return operand[0]

    def need(self, word: str) -> None:
        if not self.took(word):
            raise bad_value(self.wrong(word))

    def wrong(self, wanted: str) -> str:
        here = self.token
        if here.kind == "word" and here.text.upper() in REFUSED:
            return f"$where: {here.text} is refused: {REFUSED[here.text.upper()]}. It has {PARTS}"
        what = "it ends" if here.kind == "end" else f"{here.text!r} stands"
        return f"$where: {what} where {wanted} should be. It has {PARTS}"


def _compare(left: tuple[str | None, Any], op: Op, right: tuple[str | None, Any], yes: bool) -> Test:
    said = op if yes else OPPOSITE[op]
    if left[0] is None:
        if right[0] is None:
            raise bad_value("$where: two literals are compared, which says nothing of a row; name a column")
        return Test(right[0], MIRRORED[said], (left[1],))
    return Test(left[0], said, () if right[1] is None else (right[1],), right[0])


def _unquote(text: str) -> str:
    return text[1:-1].replace(text[0] * 2, text[0])


def _check_text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise bad_value("$where: a text holds half a character (a lone surrogate); write it as Unicode") from None
    if "\0" in text:
        raise bad_value("$where: a text holds a NUL, which not every engine can compare")
    return text
