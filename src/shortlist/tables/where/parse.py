"""The text of a condition, read into a tree of a few nodes; whatever else it holds is refused, in words.

Columns (`week`, `"release year"`), literals (`40`, `-1.5`, `'CH'`, `TRUE`, `DATE '2024-02-29'`), comparisons
(`= <> < <= > >=`), `IN (..)`, `BETWEEN .. AND ..`, `IS NULL`, `AND`, `OR`, `NOT`, parentheses. There is nothing that
looks at more than one row, and nothing of the text goes to an engine.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Self, cast

from shortlist.errors import bad_type, bad_value
from shortlist.tables.where.conditions import (
    MIRRORED,
    OPPOSITE,
    All,
    Compared,
    Condition,
    Form,
    Listed,
    Missing,
    Op,
    Some,
    Value,
    columns_of,
    paired,
    typed,
)

LONGEST, DEEPEST, MOST_TESTS = 20_000, 60, 100
"""Letters of a condition, and parentheses and NOTs inside each other."""
TOKENS = re.compile(
    r"""(?P<space>\s+)|(?P<text>'(?:[^']|'')*')|(?P<name>"(?:[^"]|"")+")"""
    r"""|(?P<number>(?:[0-9]{1,40}(?:\.[0-9]{1,40})?)(?:[eE][+-]?[0-9]{1,2})?(?![\w.]))|(?P<word>[^\W\d]\w*)"""
    r"""|(?P<op><=|>=|<>|!=|=(?!=)|<|>)|(?P<mark>[(),-])"""
)
WORDS = frozenset({"AND", "OR", "NOT", "IN", "BETWEEN", "IS", "NULL", "TRUE", "FALSE"})
REFUSED = {
    "SELECT": "a query inside a condition looks at other people's rows",
    "EXISTS": "a query inside a condition looks at other people's rows",
    "OVER": "a window looks at other people's rows",
    "LIKE": "patterns are not part of it; write = or IN",
    "ILIKE": "patterns are not part of it; write = or IN",
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
    def of(cls, text: object) -> Self | None:
        """None for none.

        Raises
        ------
        TypeError
            for anything but text: an expression of an engine could look at other rows.
        ValueError
            in one sentence, for what is not part of the language.
        """
        if text is None:
            return None
        if not isinstance(text, str):
            raise bad_type(
                '$where must be a condition as text, for example $where="week >= 40"; expressions of an engine are not '
                "taken, for they may look at more than one row"
            )
        if len(text) > LONGEST:
            raise bad_value(f"$where must have at most {LONGEST:,} letters; put a long list into candidates or groups")
        return cls(text, _Reader(_tokens(text)).whole())

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it looks at."""
        return tuple(dict.fromkeys(columns_of(self.tree)))

    @property
    def side_by_side(self) -> set[str]:
        """Names that are compared with another one: in their place a text may be meant."""
        return set(paired(self.tree))

    def typed(self, form: Callable[[str], Form]) -> Condition:
        """What it means for columns of these forms."""
        return typed(self.tree, {name: form(name) for name in self.columns})


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
        self.place = 0
        self.depth = self.tests = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.place]

    def next(self) -> Token:
        self.place += 1
        return self.tokens[self.place - 1]

    def took(self, *words: str) -> bool:
        """Whether the next one is that keyword or mark; then it is taken."""
        here = self.token
        if here.is_word(*words) or (here.kind == "mark" and here.text in words):
            self.place += 1
            return True
        return False

    def whole(self) -> Any:
        tree = self.either(True)
        if self.token.kind != "end":
            raise bad_value(self.wrong("AND, OR or the end"))
        return tree

    def either(self, yes: bool) -> Any:
        parts = [self.both(yes)]
        while self.took("OR"):
            parts.append(self.both(yes))
        return parts[0] if len(parts) == 1 else (Some if yes else All)(tuple(parts))

    def both(self, yes: bool) -> Any:
        parts = [self.one(yes)]
        while self.took("AND"):
            parts.append(self.one(yes))
        return parts[0] if len(parts) == 1 else (All if yes else Some)(tuple(parts))

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
            return Listed(self.a_column(left), self.list(), yes != no)
        if self.took("BETWEEN"):
            low = self.operand()
            self.need("AND")
            high = self.operand()
            inside = yes != no
            ends = (_compared(left, ">=", low, inside), _compared(left, "<=", high, inside))
            return All(ends) if inside else Some(ends)
        if no or self.token.kind != "op":
            raise bad_value(self.wrong("a comparison: =, <>, <, <=, >, >=, IN, BETWEEN or IS NULL"))
        op = self.next().text
        tree = _compared(left, cast(Op, "<>" if op == "!=" else op), self.operand(), yes)
        if self.token.kind == "op":
            raise bad_value("$where: two comparisons in a row; write them with AND, or BETWEEN")
        return tree

    def operand(self) -> tuple[str | None, Value | None]:
        """(column, None) or (None, literal)."""
        here, after = self.token, self.tokens[min(self.place + 1, len(self.tokens) - 1)]
        if here.kind == "word" and here.text.upper() == "DATE" and after.kind == "text":
            self.next()
            return None, _date(_unquoted(self.next().text))
        if here.kind in ("word", "name"):
            if here.kind == "word":
                self.check_word(here.text, after)
            self.next()
            return here.text if here.kind == "word" else _unquoted(here.text), None
        if here.kind == "text":
            return None, _checked(_unquoted(self.next().text))
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
            raise bad_value(
                f"$where: {word}(..) is refused: a condition looks at one row, and calls no functions, aggregates or "
                f"windows. It has {PARTS}"
            )

    def list(self) -> tuple[Value, ...]:
        self.need("(")
        if self.token.kind == "word":
            self.check_word(self.token.text, self.tokens[self.place + 1])
        values = []
        while True:
            column, value = self.operand()
            if column is not None or value is None:
                raise bad_value("$where: IN takes literals in parentheses, for example country IN ('CH', 'DE')")
            values.append(value)
            if not self.took(","):
                break
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


def _compared(left: tuple[str | None, Any], op: Op, right: tuple[str | None, Any], yes: bool) -> Compared:
    said = op if yes else OPPOSITE[op]
    if left[0] is None:
        if right[0] is None:
            raise bad_value("$where: two literals are compared, which says nothing of a row; name a column")
        return Compared(right[0], MIRRORED[said], left[1])
    return Compared(left[0], said, right[1], right[0])


def _unquoted(text: str) -> str:
    return text[1:-1].replace(text[0] * 2, text[0])


def _checked(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise bad_value("$where: a text holds half a character (a lone surrogate); write it as Unicode") from None
    if "\0" in text:
        raise bad_value("$where: a text holds a NUL, which not every engine can compare")
    return text


def _date(text: str) -> datetime.date:
    try:
        if len(text) == 10:
            return datetime.date.fromisoformat(text)
    except ValueError:
        pass
    raise bad_value("$where: DATE takes a day of the calendar, for example DATE '2024-02-29'")
