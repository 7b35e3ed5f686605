"""Groups in DuckDB, of files and relations: one statement reads the rows, keeps each person's groups, and counts.

The rows are held once while that is done; whoever has rows in no more groups than count, as most people do, is never
sorted. Groups have short numbers: what DuckDB puts into tables by them is most of the work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shortlist._arrays import Frame
from shortlist._files import bytewise, unnest
from shortlist.tables.candidates import known_rows
from shortlist.tables.column_types import Kind, Row, kind_of
from shortlist.tables.groups.grouping import Grouping, candidates_of_groups
from shortlist.tables.groups.held import GroupHeld, Sizes, Spot
from shortlist.tables.question import Question
from shortlist.tables.remote_scores import Column
from shortlist.tables.sql import TYPES, Run, TableSource, aggregated, capped, hashed, rows_of


@dataclass(frozen=True, slots=True)
class Names:
    """What the temporary tables are called."""

    prefix: str

    @property
    def held(self) -> str:
        """(n, item, score), perhaps with weights, of scores that are not 0; an item is its m, where it has one."""
        return f"{self.prefix}_held"

    @property
    def groups(self) -> str:
        """(n, key)."""
        return f"{self.prefix}_groups"

    @property
    def known(self) -> str:
        """(m, item), the public candidates by short numbers, in order; with n where each group has its own."""
        return f"{self.prefix}_known"

    @property
    def rows(self) -> str:
        """The rows that count, while keys from the data are numbered."""
        return f"{self.prefix}_rows"

    @property
    def all(self) -> tuple[str, ...]:
        return self.held, self.groups, self.known, self.rows


def held_groups(
    run: Run,
    source: TableSource,
    question: Question,
    candidates: object,
    known: Callable[[], str],
    names: Names,
    frame: Frame | None = None,
    before: Callable[[], None] = lambda: None,
) -> GroupHeld:
    """The groups of a table; `known` gives the statement of a list for all, and `before` runs before rows are read."""
    listed, offered, statement = listed_groups(source, question), None, None
    lists = candidates_of_groups(candidates, listed)
    if lists is not None:
        kinds = [source.kind(item) for item in question.items]
        rows = [known_rows(one, question.items, kinds, source.written) for one in lists]
        offered, statement = np.array(list(map(len, rows)), np.int64), own_lists(rows, kinds, question.keys)
    elif candidates is not None:
        statement = known()
    before()
    engine = count_groups(run, source, question, listed, names, statement, frame)
    if statement is not None and offered is None:
        assert listed is not None
        size = run(f"SELECT count(*) FROM {names.known}")[0][0]
        offered = np.full(len(listed), size, np.int64)
    return GroupHeld(engine, listed, offered)


def listed_groups(source: TableSource, question: Question) -> list[Row] | None:
    """The public keys, in the kinds of the columns; None where they come from the data."""
    assert question.grouping is not None
    return question.grouping.fitted(question.grouping.kinds(source.declared), source.written)


def count_groups(
    run: Run,
    source: TableSource,
    question: Question,
    listed: list[Row] | None,
    names: Names,
    known: str | None,
    frame: Frame | None,
) -> DuckDBGroups:
    """The counts of every group.

    `listed` are the public keys; `known` is a statement that gives the public candidates, with their group as n where
    each group has its own.
    """
    grouping = question.grouping
    assert grouping is not None
    own = known is not None and known.startswith(OWN)
    keys = ", ".join(question.keys)
    held = ("m",) if known is not None and question.cap is None else question.keys  # a cap looks at the items' names
    if known is not None:
        distinct = f"SELECT DISTINCT {'n, ' * own}{keys} FROM ({known})"
        number = f"CAST(row_number() OVER (ORDER BY {'n, ' * own}{keys}) - 1 AS INTEGER) AS m"
        run(f"CREATE TEMP TABLE {names.known} AS SELECT {number}, * FROM ({distinct})")
    rows = _named(source, question)
    if listed is not None:
        kinds = grouping.kinds(source.declared)
        run(f"CREATE TEMP TABLE {names.groups} AS SELECT {numbered_groups(listed, kinds, grouping)}")
    else:
        run(f"CREATE TEMP TABLE {names.rows} AS {rows}")
        rows = f"SELECT * FROM {names.rows}"
        key = ", ".join(grouping.keys)
        numbered = f"SELECT CAST(row_number() OVER (ORDER BY {key}) - 1 AS INTEGER) AS n, {key}"
        run(f"CREATE TEMP TABLE {names.groups} AS {numbered} FROM (SELECT DISTINCT {key} FROM {names.rows})")
    join = "JOIN" if held == ("m",) else "SEMI JOIN"
    known_here = f" {join} {names.known} USING ({'n, ' * own}{keys})" if known is not None else ""
    value = ", v" if question.value is not None else ""
    rows = (
        f"SELECT u, n, {', '.join(held)}{value} FROM ({rows}) AS found "
        f"JOIN {names.groups} USING ({', '.join(grouping.keys)}){known_here}"
    )
    run(f"CREATE TEMP TABLE {names.held} AS {_counting(rows, held, question, grouping, names, listed)}")
    if listed is None:
        run(f"DROP TABLE {names.rows}")
    return DuckDBGroups(run, names, question.keys, held, grouping.keys, own, frame, question.weighted)


OWN = "/* by group */ "
"""How a statement begins that gives candidates with their group."""


def own_lists(lists: list[list[Row]], kinds: list[Kind], keys: Sequence[str]) -> str:
    """The candidates of every group."""
    rows = [(n, *row) for n, each in enumerate(lists) for row in each]
    parts = zip(*rows, strict=True)
    types = ["INTEGER", *(TYPES[kind] for kind in kinds)]
    columns = (unnest(part, kind, name) for part, kind, name in zip(parts, types, ("n", *keys), strict=True))
    return f"{OWN}SELECT {', '.join(columns)}"


def numbered_groups(listed: list[Row], kinds: list[Kind], grouping: Grouping) -> str:
    """(n, key) of the public keys, as the columns of a SELECT."""
    columns = zip(zip(*listed, strict=True), kinds, grouping.keys, strict=True)
    parts = [unnest(cells, TYPES[kind], key) for cells, kind, key in columns]
    return ", ".join([unnest(range(len(listed)), "INTEGER", "n"), *parts])


def _named(source: TableSource, question: Question) -> str:
    """The rows of people who have a name, for whoever has none would be many; texts from memory looked at."""
    rows = rows_of(source, question)
    own = {"u": question.user} | question.labels
    texts = [name for name, column in own.items() if kind_of(source.declared[column]) == "text"]
    named = f"SELECT * FROM ({rows}) WHERE CAST(u AS VARCHAR) <> ''" if "u" in texts else rows
    if not (source.from_memory and texts):
        return named
    checked = (f"{bytewise(f'decode(encode(CAST({name} AS VARCHAR)))')} AS {name}" for name in texts)
    return f"SELECT * REPLACE ({', '.join(checked)}) FROM ({named})"


def _counting(
    rows: str, held: Sequence[str], question: Question, grouping: Grouping, names: Names, listed: list[Row] | None
) -> str:
    parts, source = kept_groups(rows, grouping, names.groups, listed)
    if question.cap is None:
        counts = aggregated(f"SELECT * FROM {source}", ("n", *held), question)
    else:
        pairs = f"SELECT DISTINCT u, n, {', '.join(question.keys)} FROM {source}"
        counts = capped(pairs, question.keys, question.cap, ("n",))
    return f"WITH {', '.join(parts)} SELECT * FROM ({counts}) WHERE score <> 0"


def kept_groups(rows: str, grouping: Grouping, groups: str, listed: list[Row] | None) -> tuple[list[str], str]:
    """(the parts of a WITH, the last of them): rows (u, n, ..) of the groups that each person keeps (grouping.py).

    `groups` is a table of (n, key).
    """
    parts = [f"found AS MATERIALIZED ({rows})"]
    if listed is not None and grouping.per_user >= len(listed):
        return parts, "found"
    order = f"many DESC, {hashed(grouping.salt, ('u', *grouping.keys))}, {', '.join(grouping.keys)}"
    place = f"row_number() OVER (PARTITION BY u ORDER BY {order}) AS place"
    parts += [
        "places AS MATERIALIZED (SELECT u, n, count(*) AS many FROM found GROUP BY u, n)",
        f"several AS (SELECT u FROM places GROUP BY u HAVING count(*) > {grouping.per_user})",
        f"ranked AS (SELECT u, n, {place} FROM places SEMI JOIN several USING (u) JOIN {groups} USING (n))",
        f"dropped AS (SELECT u, n FROM ranked WHERE place > {grouping.per_user})",
        "kept AS (SELECT * FROM found ANTI JOIN dropped USING (u, n))",
    ]
    return parts, "kept"


AT_ONCE = 10_000
"""Winners that are looked up in one statement: all of many groups would take as much memory as counting them."""


@dataclass(slots=True, eq=False, weakref_slot=True)
class DuckDBGroups:
    """Tables that DuckDB holds."""

    run: Run
    names: Names
    items: tuple[str, ...]
    held: tuple[str, ...]
    """What an item is in the table of scores: its m, or its own columns."""
    key: tuple[str, ...]
    own: bool
    """Whether each group has candidates of its own."""
    frame: Frame | None
    weighted: bool

    def classes(self, column: Column) -> Sizes:
        some = " WHERE weight > 0" if column == "weight" else ""
        rows = self.run(f"SELECT n, {column}, count(*) FROM {self.names.held}{some} GROUP BY n, {column}")
        classes = np.array(rows, np.int64).reshape(-1, 3)
        return classes[:, 0], classes[:, 1], classes[:, 2]

    def winners(self, spots: Sequence[Spot], column: Column) -> list[Row]:
        items: dict[int, Row] = {}
        columns = ", ".join(self.items)
        by_number = f" JOIN {self.names.known} USING (m)" if self.held == ("m",) else ""
        for zero in (False, True):
            wanted = [(place, *spot) for place, spot in enumerate(spots) if (spot[1] == 0) == zero]
            numbered, named = (self._zeros(), "") if zero else (self._numbered(column), by_number)
            items |= {row[0]: tuple(row[1:]) for row in self._at(wanted, column, numbered, columns, named)}
        return [items[place] for place in range(len(spots)) if place in items]

    def counts(self, spots: Sequence[Spot]) -> list[int]:
        wanted = [(place, *spot) for place, spot in enumerate(spots)]
        return [row[1] for row in sorted(self._at(wanted, "weight", self._numbered("weight"), "numbered.score"))]

    def keys(self, groups: Sequence[int]) -> list[Row]:
        if not groups:
            return []
        wanted = unnest(groups, "BIGINT", "n")
        rows = self.run(
            f"SELECT n, {', '.join(self.key)} FROM {self.names.groups} SEMI JOIN (SELECT {wanted}) USING (n)"
        )
        keys = {row[0]: tuple(row[1:]) for row in rows}
        return [keys[group] for group in groups if group in keys]

    def _numbered(self, column: Column) -> str:
        """Everything in the classes that are wanted, by rank."""
        rank = f"row_number() OVER (PARTITION BY n, {column} ORDER BY {', '.join(self.held)}) AS rank"
        classes = f"(SELECT DISTINCT n, {column} FROM wanted)"
        return f"SELECT *, {rank} FROM {self.names.held} SEMI JOIN {classes} USING (n, {column})"

    def _zeros(self) -> str:
        """What nobody has, of the candidates of the groups that are wanted, by rank."""
        items = ", ".join(self.items)
        some = "(SELECT DISTINCT n FROM wanted)"
        offered = (
            f"{self.names.known} SEMI JOIN {some} USING (n)" if self.own else f"{self.names.known} CROSS JOIN {some}"
        )
        left = f"SELECT n, m, {items} FROM {offered} ANTI JOIN {self.names.held} USING (n, {', '.join(self.held)})"
        return f"SELECT *, 0 AS score, row_number() OVER (PARTITION BY n ORDER BY m) AS rank FROM ({left})"

    def _at(self, wanted: list[Any], column: Column, numbered: str, shown: str, named: str = "") -> list[Any]:
        """(place, what is shown) of every spot: some of them at a time, for whole classes are put in order."""
        rows: list[Any] = []
        for start in range(0, len(wanted), AT_ONCE):
            cells = zip(*wanted[start : start + AT_ONCE], strict=True)
            columns = zip(cells, ("place", "n", column, "rank"), strict=True)
            table = ", ".join(unnest(part, "BIGINT", name) for part, name in columns)
            rows += self.run(
                f"WITH wanted AS MATERIALIZED (SELECT {table}) SELECT place, {shown} FROM ({numbered}) AS numbered "
                f"JOIN wanted USING (n, {column}, rank){named}"
            )
        return rows
