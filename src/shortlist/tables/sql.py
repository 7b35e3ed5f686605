"""The two queries of DuckDB: count and hold, then name the winners. Files and relations share them.

Names of columns are quoted, values are literals of our own making: nothing a table contains is ever code.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from shortlist._arrays import Frame
from shortlist._files import bytewise, unnest
from shortlist.errors import bad_value
from shortlist.exact.thresholds import UNIT
from shortlist.tables.caps import BETWEEN, Cap
from shortlist.tables.column_types import FIRST, LAST, Kind, Row, check_user, is_float, is_number, item_kind, kind_of
from shortlist.tables.question import LARGEST, SATURATED, Clip, Question
from shortlist.tables.remote_scores import Column, Place
from shortlist.tables.where.conditions import form_of
from shortlist.tables.where.in_duckdb import in_duckdb

Run = Callable[[str], list[Any]]
"""Runs one statement in the engine and returns its rows."""

TYPES: dict[Kind, str] = {
    "text": "VARCHAR", "integer": "BIGINT", "unsigned": "UBIGINT", "boolean": "BOOLEAN", "date": "DATE",
}  # fmt: skip


def is_nan(number: str) -> str:
    """Whether a float is NaN. The list is there because DuckDB believes the minima and maxima in parquet files, which
    know of no NaN, and replaces isnan of a column by false."""
    return f"isnan(list_value({number})[1])"


def declared(kind: str) -> str:
    """A type as column_types.py reads it: an enum is its text, an array is nested."""
    return "VARCHAR" if kind.startswith("ENUM(") else "nested" if kind.endswith("]") else kind


@dataclass(frozen=True, slots=True)
class TableSource:
    """A table as a statement sees it: what to select from, the expression and the type of each column."""

    relation: str
    columns: dict[str, str]
    types: dict[str, str]
    as_text: bool = False
    """Whether the fields are text whatever they look like, so that a number must be tried."""
    from_memory: bool = False
    """Whether texts may be no UTF-8, which only `decode` looks at, and of which a sort makes other texts."""

    @property
    def written(self) -> Collection[str]:
        """The columns of which `as_text` is true."""
        return self.columns if self.as_text else ()

    def kind(self, item: str) -> Kind:
        """The kind of an item column; an enum is its text."""
        return item_kind(item, declared(self.types[item]))

    @property
    def declared(self) -> dict[str, str]:
        """The types as column_types.py reads them."""
        return {column: declared(kind) for column, kind in self.types.items()}

    def user(self, column: str) -> str:
        """Missing floats are missing, and there is one zero."""
        expression = self.columns[column]
        if is_float(self.types[column]):
            return f"CASE WHEN {is_nan(expression)} THEN NULL ELSE {expression} + 0.0 END"
        return bytewise(expression) if self.types[column] == "VARCHAR" else expression

    def item(self, column: str) -> str:
        """In the form its labels have."""
        expression, kind = self.columns[column], self.kind(column)
        if kind == "date":
            return f"CASE WHEN {expression} BETWEEN DATE '{FIRST}' AND DATE '{LAST}' THEN {expression} END"
        cast = expression if self.types[column] == TYPES[kind] else f"CAST({expression} AS {TYPES[kind]})"
        return bytewise(cast) if kind == "text" else cast

    def number(self, column: str) -> str:
        return f"{'TRY_CAST' if self.as_text else 'CAST'}({self.columns[column]} AS DOUBLE)"

    def filtered(self, question: Question) -> str:
        """The rows that count, as a condition; nothing for all of them."""
        if question.where is None:
            return ""
        condition = question.where.typed(lambda name: form_of(name, self.declared[name]))
        return f" WHERE {in_duckdb(condition, self.columns)}"

    def check(self, question: Question) -> None:
        """From the types alone (column_types.py); the value must be a number."""
        check_user(question.user, declared(self.types[question.user]))
        self.filtered(question)
        for item in question.items:
            self.kind(item)
        if question.grouping is not None:
            question.grouping.kinds(self.declared)
        if question.value is not None and not self.as_text and not is_number(self.types[question.value]):
            raise bad_value(f"$value={question.value!r} must be a column of numbers; convert it first")


def counting(source: TableSource, question: Question, known: str | None = None) -> str:
    """Distinct users per item, or clipped sums; exact, in the engine. Of known items alone, if that matters."""
    rows = rows_of(source, question)
    if question.cap is not None:
        return capped(_pairs(source, rows, known, question), question.keys, question.cap)
    return aggregated(rows, question.keys, question)


def aggregated(rows: str, columns: Sequence[str], question: Question) -> str:
    """Distinct users, or clipped sums, for each combination of these columns."""
    keys = ", ".join(columns)
    if question.clip is None:
        return f"SELECT {keys}, count(DISTINCT u) AS score FROM ({rows}) GROUP BY {keys}"
    within = _held(f"sum({_steps(question.clip)})", question.clip.low, question.clip.high)
    persons = f"SELECT {keys}, {within} AS part FROM ({rows}) GROUP BY u, {keys}"
    return f"SELECT {keys}, {_held('sum(part)', -LARGEST, LARGEST)} AS score FROM ({persons}) GROUP BY {keys}"


def _pairs(source: TableSource, rows: str, known: str | None, question: Question) -> str:
    """Each person's distinct items. Whoever has no name would be many people, and items off the list use up no cap."""
    keys = ", ".join(question.keys)
    listed = "" if known is None else f" SEMI JOIN (SELECT DISTINCT {keys} FROM ({known})) AS known USING ({keys})"
    texts = [kind_of(declared(source.types[column])) == "text" for column in (question.user, *question.items)]
    named = " WHERE CAST(u AS VARCHAR) <> ''" if texts[0] else ""
    pairs = f"SELECT DISTINCT u, {keys} FROM ({rows}) AS found{listed}{named}"
    if not (source.from_memory and any(texts)):
        return pairs
    columns = zip(("u", *question.keys), texts, strict=True)
    checked = (
        f"{bytewise(f'decode(encode(CAST({name} AS VARCHAR)))')} AS {name}" if text else name for name, text in columns
    )
    return f"SELECT {', '.join(checked)} FROM ({pairs})"


def hashed(salt: str, columns: Sequence[str]) -> str:
    """The hash by which a person's items, or groups, are put into an order (caps.py)."""
    texts = ", ".join(f"CAST({column} AS VARCHAR)" for column in columns)
    return f"md5(concat_ws(chr({ord(BETWEEN)}), '{salt}', {texts}))"


def capped(pairs: str, keys: Sequence[str], cap: Cap, within: Sequence[str] = ()) -> str:
    """Scores and weights of what each person keeps (caps.py), in each group if the pairs are `within` groups."""
    items, person = ", ".join((*within, *keys)), ", ".join(("u", *within))
    order = f"ORDER BY {hashed(cap.salt, ('u', *keys))}, {', '.join(keys)}"
    ranked = f"SELECT {items}, row_number() OVER (PARTITION BY {person} {order}) <= {cap.most} AS keeps"
    if not cap.weighted:
        return f"SELECT {items}, count(*) AS score FROM ({ranked} FROM ({pairs})) WHERE keeps GROUP BY {items}"
    ranked += f", count(*) OVER (PARTITION BY {person}) AS held"
    weight = f"CAST(floor(sqrt(floor({float(UNIT**2)!r}::DOUBLE / least(held, {cap.most})))) AS BIGINT)"
    total = f"CAST(coalesce(sum({weight}) FILTER (WHERE keeps), 0) AS BIGINT) AS weight"
    only = " WHERE keeps" if cap.caps_scores else ""
    return f"SELECT {items}, count(*) AS score, {total} FROM ({ranked} FROM ({pairs})){only} GROUP BY {items}"


def rows_of(source: TableSource, question: Question) -> str:
    """The rows that count, under our own names: those without a user, an item, a value or a key are dropped."""
    wanted = {"u": source.user(question.user)}
    wanted |= {ours: source.item(column) for ours, column in question.labels.items()}
    present = [f"{column} IS NOT NULL" for column in wanted]
    if question.value is not None:
        wanted["v"] = source.number(question.value)
        present += ["v IS NOT NULL", f"NOT {is_nan('v')}"]
    columns = ", ".join(f"{expression} AS {column}" for column, expression in wanted.items())
    relation = f"{source.relation}{source.filtered(question)}"
    return f"SELECT * FROM (SELECT {columns} FROM {relation}) WHERE {' AND '.join(present)}"


def _steps(clip: Clip) -> str:
    most = SATURATED * clip.grid  # held first, so that no product overflows
    held = f"least(greatest(v, {-most!r}::DOUBLE), {most!r}::DOUBLE) * {clip.steps!r}::DOUBLE"
    return f"CAST(floor({held} + 0.5::DOUBLE) AS BIGINT)"


def _held(total: str, low: int, high: int) -> str:
    return f"CAST(least(greatest({total}, {low}), {high}) AS BIGINT)"


def listed(rows: list[Row], source: TableSource, question: Question) -> str:
    """A public list as a table of the items' own kinds."""
    columns = zip(*rows, strict=True)
    parts = [
        unnest(column, TYPES[source.kind(item)], key)
        for column, key, item in zip(columns, question.keys, question.items, strict=True)
    ]
    return f"SELECT {', '.join(parts)}"


def matched(counted: str, known: str | None, question: Question) -> str:
    """The counts of the known candidates, 0 where there are none; or all counts."""
    if known is None:
        return counted
    keys = ", ".join(question.keys)
    return (
        f"SELECT {keys}, coalesce(score, 0) AS score FROM (SELECT DISTINCT {keys} FROM ({known})) AS known "
        f"LEFT JOIN ({counted}) AS found USING ({keys})"
    )


@dataclass(slots=True, eq=False, weakref_slot=True)
class DuckDBCounts:
    """A table of (item, score), perhaps with weights, that DuckDB holds."""

    run: Run
    table: str
    keys: tuple[str, ...]
    frame: Frame | None
    weighted: bool = False

    def classes(self, column: Column = "score") -> list[tuple[int, int]]:
        some = " WHERE weight > 0" if column == "weight" else ""
        return self.run(f"SELECT {column}, count(*) FROM {self.table}{some} GROUP BY {column}")

    def winners(self, places: Sequence[Place], column: Column = "score") -> list[tuple[object, ...]]:
        return self._at(places, column, ", ".join(self.keys))

    def counts(self, places: Sequence[Place]) -> list[int]:
        return [row[0] for row in self._at(places, "weight", "numbered.score")]

    def _at(self, places: Sequence[Place], column: Column, shown: str) -> list[Any]:
        keys = ", ".join(self.keys)
        wanted = ", ".join(f"({n}, {score}, {rank})" for n, (score, rank) in enumerate(places))
        scores = ", ".join(str(score) for score in sorted({score for score, _ in places}))
        numbered = (
            f"SELECT *, row_number() OVER (PARTITION BY {column} ORDER BY {keys}) AS rank "
            f"FROM {self.table} WHERE {column} IN ({scores})"
        )
        return self.run(
            f"SELECT {shown} FROM ({numbered}) AS numbered "
            f"JOIN (VALUES {wanted}) AS wanted(n, {column}, rank) USING ({column}, rank) ORDER BY n"
        )
