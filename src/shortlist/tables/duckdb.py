"""DuckDB's engine: files, counted out of core, and relations, counted in the connection they belong to.

Names of columns are quoted, values are literals of our own making: nothing a table contains is ever code. The rows of a
count are read once. Public items and groups have short numbers: what DuckDB puts into tables by them is most of the
work. A user with rows in no more groups than count, as most users are, is never sorted.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from shortlist._arrays import Frame
from shortlist._files import as_text, bytewise, literal, quote_name, unnest
from shortlist.errors import bad_value
from shortlist.exact.thresholds import UNIT
from shortlist.scores import Grid
from shortlist.tables.columns import FIRST, LAST, Kind, Row, is_float, kind_of
from shortlist.tables.count import Aggregate, Column, Placed, Progress, Sizes, Table, add_places, split_by_group
from shortlist.tables.errors import TableError, fresh, in_one_sentence
from shortlist.tables.files import Run, Source, check_lines, connect, format_of, listing, runner, source_of, stamps
from shortlist.tables.question import BETWEEN, FARTHEST, LARGEST, SATURATED, Cap, Columns, Grouping, Plan, Question
from shortlist.tables.where import WRITTEN, Form, Leaves, compile_condition

WRONG = "the relation cannot be counted"
TYPES: dict[Any, str] = {
    "text": "VARCHAR", "integer": "BIGINT", "unsigned": "UBIGINT", "boolean": "BOOLEAN", "date": "DATE",
}  # fmt: skip
FORMS: dict[Form, str] = {**TYPES, "float": "DOUBLE", "written number": "DOUBLE", "written date": "VARCHAR"}
WIDE = 1 << 20
"""On grids of more points places are not grouped in the engine."""
BITS = 17
PACKED = 1 << BITS
"""A place below 2^40 and at most 2^16 tokens fit into 64 bits, and sort by place."""
AT_ONCE = 10_000
"""Winners that are looked up in one statement: all of many groups would take as much memory as counting them."""
CHANGED = "the candidates changed between the charge and the count; ask again"
EVERY = 0.1
"""Seconds between two looks at how far DuckDB is."""


class FileTable(Table):
    """Files at a path; each count has a DuckDB of its own, which goes to a private folder when memory is short."""

    def __init__(self, path: str, question: Question) -> None:
        self.path, self.memory, self.text = path, question.memory, question.text
        self.wrong = f"{path} cannot be counted"
        self._spare: Any = None
        """The connection that looked at names and types, which held no rows: rows are counted in it."""
        self._listed: tuple[str, Any] | None = None
        """The file of candidates, and what changes with its bytes: it is read again when rows are counted."""
        with self._session("spared") as connection:
            self.stamps = stamps(path)
            self.source = source_of(runner(connection, path), path, question.columns, self.text)

    def columns(self) -> Columns:
        return _columns(self.source, list(self.source.columns))

    def query(self, question: Question, kinds: tuple[Kind, ...]) -> tuple[str, int] | None:
        """Return a table file of candidates with the same kinds of columns as a statement."""
        listed = question.candidates
        if not isinstance(listed, str | os.PathLike) or format_of(path := os.fspath(listed)) is None:
            return None
        self._listed = path, stamps(path)
        with self._session("spared") as connection:
            run = runner(connection, path)
            source = listing(run, path, question.items)
            if kinds != tuple(kind_of(_declare(source.types[item])) for item in question.items):
                return None
            names = zip(question.keys, question.items, kinds, strict=True)
            parts = [f"{_label(source, item, kind)} AS {key}" for key, item, kind in names]
            present = " AND ".join(f"{key} IS NOT NULL" for key in question.keys)
            statement = f"SELECT DISTINCT * FROM (SELECT {', '.join(parts)} FROM {source.relation}) WHERE {present}"
            number = int(run(f"SELECT count(*) FROM ({statement})")[0][0])
        if not number:
            raise bad_value("$candidates must not be empty: there is nothing to choose from")
        return statement, number

    def count(self, plan: Plan, progress: Progress | None = None) -> Rows:
        """Count into tables that end with the connection, which removes its files without any code of ours."""
        with self._session("kept") as connection, self._read(connection, progress):
            return _count(runner(connection, self.path), self.source, plan, "counts", None)

    def votes(self, plan: Plan, progress: Progress | None = None) -> list[Placed]:
        with self._session("closed") as connection, self._read(connection, progress):
            return in_one_sentence(self.wrong, lambda: run_votes(connection.execute, self.source, plan))

    @contextlib.contextmanager
    def _read(self, connection: Any, progress: Progress | None) -> Iterator[None]:
        """The files that were looked at are those that the body reads."""
        check_lines(self.path, self.text)
        with _watch(connection, progress):
            yield
        if stamps(self.path) != self.stamps:
            raise TableError(f"{self.wrong}: it changed while it was read")
        if self._listed is not None and stamps(self._listed[0]) != self._listed[1]:
            raise TableError(CHANGED)

    @contextlib.contextmanager
    def _session(self, after: Literal["spared", "kept", "closed"]) -> Iterator[Any]:
        """A connection: what becomes of it after the body, which ended well, is in the word."""
        connection, self._spare = self._spare or connect(self.memory), None
        try:
            yield connection
        except BaseException:
            connection.close()  # whoever keeps the error keeps our frames, but not the rows
            raise
        if after == "spared":
            self._spare = connection
        elif after == "closed":
            connection.close()


class RelationTable(Table):
    """A relation; its counts are temporary tables of its own connection, dropped with the scores."""

    engine, kinds = "duckdb", TYPES

    def __init__(self, relation: Any) -> None:
        self.relation = relation
        self.names = list(relation.columns)
        types = dict(zip(self.names, map(str, relation.types), strict=True))
        self.source = Source("", {column: quote_name(column) for column in types}, types, from_memory=True)

    def columns(self) -> Columns:
        return _columns(self.source, self.names)

    def dry_count(self, plan: Plan) -> Rows:
        return RelationTable(self.relation.limit(0)).count(plan)

    def count(self, plan: Plan, progress: Progress | None = None) -> Rows:
        relation, view, prefix = self.relation, fresh(), fresh()

        def run(statement: str) -> list[Any]:
            result = in_one_sentence(WRONG, lambda: relation.query(view, statement))
            return [] if result is None else in_one_sentence(WRONG, result.fetchall)

        try:
            rows = _count(run, replace(self.source, relation=view), plan, prefix, self.frame(plan))
        except BaseException:
            _forget(relation, view, prefix)  # the connection lives on: no counts may stay in it
            raise
        weakref.finalize(rows, _forget, relation, view, prefix)
        return rows

    def votes(self, plan: Plan, progress: Progress | None = None) -> list[Placed]:
        relation, view = self.relation, fresh()
        try:
            return in_one_sentence(
                WRONG,
                lambda: run_votes(lambda words: relation.query(view, words), replace(self.source, relation=view), plan),
            )
        finally:
            _forget(relation, view)


def _forget(relation: Any, view: str, prefix: str = "") -> None:
    with contextlib.suppress(Exception):  # the caller may have closed the connection
        for table in ("held", "groups", "known", "rows") if prefix else ():
            relation.query(view, f"DROP TABLE IF EXISTS {prefix}_{table}")
        relation.query(view, f"DROP VIEW IF EXISTS {view}")


@contextlib.contextmanager
def _watch(connection: Any, tell: Progress | None) -> Iterator[None]:
    """While the body runs statements, a second thread tells the share of the rows that were read."""
    if tell is None:
        yield
        return
    connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
    done = threading.Event()

    def look() -> None:
        while not done.wait(EVERY):
            try:
                share = connection.query_progress()
            except Exception:  # the work was stopped, and its connection closed
                return
            if share >= 0:
                tell(min(share / 100, 1.0))

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    tell(1.0)


def _columns(source: Source, names: list[str]) -> Columns:
    types = {column: _declare(kind) for column, kind in source.types.items()}
    return Columns(tuple(names), types, source.columns if source.as_text else (), source.as_text)


def _declare(kind: str) -> str:
    """A type as columns.py reads it: an enum is its text, an array is nested."""
    return "VARCHAR" if kind.startswith("ENUM(") else "nested" if kind.endswith("]") else kind


def is_nan(number: str) -> str:
    """Whether a float is NaN. The list is there because DuckDB believes the minima and maxima in parquet files, which
    know of no NaN, and replaces isnan of a column by false."""
    return f"isnan(list_value({number})[1])"


def _day(date: str) -> str:
    """A date, and missing outside the years 1 to 9999."""
    return f"CASE WHEN {date} BETWEEN DATE '{FIRST}' AND DATE '{LAST}' THEN {date} END"


def _user(source: Source, column: str) -> str:
    """Missing floats are missing, and there is one zero."""
    expression = source.columns[column]
    if is_float(source.types[column]):
        return f"CASE WHEN {is_nan(expression)} THEN NULL ELSE {expression} + 0.0 END"
    return bytewise(expression) if source.types[column] == "VARCHAR" else expression


def _label(source: Source, column: str, kind: Kind) -> str:
    """A column of an item or a key, in the form its labels have."""
    expression = source.columns[column]
    if kind == "date":
        return _day(expression)
    cast = expression if source.types[column] == TYPES[kind] else f"CAST({expression} AS {TYPES[kind]})"
    return bytewise(cast) if kind == "text" else cast


def _decode(rows: str, texts: list[str]) -> str:
    """Look at texts from memory: they may be no UTF-8, and a sort makes other texts of such bytes."""
    if not texts:
        return rows
    decoded = (f"{bytewise(f'decode(encode(CAST({name} AS VARCHAR)))')} AS {name}" for name in texts)
    return f"SELECT * REPLACE ({', '.join(decoded)}) FROM ({rows})"


def _undecoded(source: Source, plan: Plan) -> list[str]:
    """Which of our columns are such texts."""
    return [name for name, kind in plan.forms.items() if kind == "text" and source.from_memory]


def _compile(condition: Any, source: Source) -> str:
    """The condition; a cell that cannot be read is null, no error."""
    return str(compile_condition(condition, Leaves(
        read=lambda column, form: _read(source, column, form),
        value=_value,
        missing=lambda cell, yes: f"({cell} IS {'' if yes else 'NOT '}NULL)",
        inside=lambda cell, values, yes: f"({cell} {'' if yes else 'NOT '}IN ({', '.join(values)}))",
        never=lambda: "FALSE",
        compare=lambda op, cell, other: f"({cell} {op} {other})",
        both=lambda one, other: f"({one} AND {other})",
        either=lambda one, other: f"({one} OR {other})",
    )))  # fmt: skip


def _value(value: object, form: Form) -> str:
    words = f"CAST({literal(repr(value) if isinstance(value, float) else as_text(value))} AS {FORMS[form]})"
    return bytewise(words) if FORMS[form] == "VARCHAR" else words


def _read(source: Source, column: str, form: Form) -> str:
    """A cell in a form: missing floats are missing, and there is one zero."""
    cell = source.columns[column]
    if form == "float":
        number = f"CAST({cell} AS DOUBLE)"
        return f"CASE WHEN NOT {is_nan(number)} THEN {number} + 0.0::DOUBLE END"
    if form not in WRITTEN:
        return _label(source, column, form)  # type: ignore[arg-type]
    like, unlike = map(literal, WRITTEN[form])
    words = f"CAST({cell} AS VARCHAR)"
    value = f"TRY_CAST({words} AS DOUBLE) + 0.0::DOUBLE" if form == "written number" else bytewise(words)
    return f"CASE WHEN regexp_matches({words}, {like}) AND NOT regexp_matches({words}, {unlike}) THEN {value} END"


def _rows_of(source: Source, plan: Plan) -> str:
    """The rows that count, under our own names: those without a user, an item, a value or a key are dropped."""
    question = plan.question
    wanted = {} if question.user is None else {"u": _user(source, question.user)}
    parts = zip(question.labels.items(), plan.kinds, strict=True)
    wanted |= {ours: _label(source, column, kind) for (ours, column), kind in parts}
    present = [f"{column} IS NOT NULL" for column in wanted]
    if question.value is not None:
        cell = source.columns[question.value]
        cast = "TRY_CAST" if source.as_text else "CAST"
        wanted["v"] = f"{cast}({cell} AS DOUBLE)"
        if plan.question.dated:
            wanted["v"] = f"date_diff('day', DATE '{FIRST}', {_day(f'{cast}({cell} AS DATE)')}) + 1.0::DOUBLE"
        present += ["v IS NOT NULL", f"NOT {is_nan('v')}"]
    if plan.drops_unnamed:
        present.append("CAST(u AS VARCHAR) <> ''")
    columns = ", ".join(f"{expression} AS {column}" for column, expression in wanted.items())
    where = "" if plan.where is None else f" WHERE {_compile(plan.where, source)}"
    return f"SELECT * FROM (SELECT {columns} FROM {source.relation}{where}) WHERE {' AND '.join(present)}"


def _count(run: Run, source: Source, plan: Plan, prefix: str, frame: Frame | None) -> Rows:
    """Count the rows of a table by item, in every group."""
    question, cap, grouping = plan.question, plan.question.cap, plan.question.grouping
    on, keys, rows = "n, " * plan.own, ", ".join(question.keys), _rows_of(source, plan)
    texts = _undecoded(source, plan)
    known = f"{prefix}_known" if plan.public else None
    held = ("m",) if known is not None and cap is None else question.keys  # a cap looks at the items' names
    if known is not None:
        number = f"CAST(row_number() OVER (ORDER BY {on}{keys}) - 1 AS INTEGER) AS m"
        listed = plan.query or _listing(plan.candidate_rows(), ["n"] * plan.own + list(question.keys), plan)
        run(f"CREATE TEMP TABLE {known} AS SELECT {number}, * FROM ({listed})")
        if plan.query and (run(f"SELECT count(*) FROM {known}")[0][0],) != plan.sizes:
            raise TableError(CHANGED)
    parts, last, within = list[str](), f"({rows}) AS found", () if grouping is None else ("n",)
    if grouping is not None:
        parts, last = _grouped(run, plan, prefix, _decode(rows, texts), held)
    if cap is not None:
        semi = f" SEMI JOIN {known} USING ({keys})" if known is not None and grouping is None else ""
        pairs = f"SELECT DISTINCT {', '.join(('u', *within, *question.keys))} FROM {last}{semi}"
        counts = cap_items(pairs if grouping is not None else _decode(pairs, texts), question.keys, cap, within)
    elif grouping is not None:
        counts = _aggregate(last, ("n", *held), question)
    else:
        counts = _aggregate(last, question.keys, question)
        if known is not None:
            counts = f"SELECT m, score FROM ({counts}) AS counts JOIN {known} USING ({keys})"
    number = "" if grouping is not None else "CAST(0 AS INTEGER) AS n, "
    before = f"WITH {', '.join(parts)} " if parts else ""
    run(f"CREATE TEMP TABLE {prefix}_held AS {before}SELECT {number}* FROM ({counts}) WHERE score <> 0")
    if grouping is not None and plan.groups is None:
        run(f"DROP TABLE {prefix}_rows")
    texts = [key for key in question.keys if key in texts]
    if texts and held != ("m",) and grouping is None:  # refuse now what could not be named later
        run(f"SELECT {', '.join(f'max(length(decode(encode({key}))))' for key in texts)} FROM {prefix}_held")
    return Rows(plan, frame, run, prefix, held)


def _grouped(run: Run, plan: Plan, prefix: str, rows: str, held: Sequence[str]) -> tuple[list[str], str]:
    """(the parts of a WITH, the last of them): rows (u, n, item) of the groups in which each user counts."""
    question, grouping = plan.question, plan.question.grouping
    assert grouping is not None
    by, own, keys = ", ".join(grouping.keys), "n, " * plan.own, ", ".join(question.keys)
    if plan.groups is not None:
        run(f"CREATE TEMP TABLE {prefix}_groups AS {_list_groups(plan, grouping)}")
    else:
        run(f"CREATE TEMP TABLE {prefix}_rows AS {rows}")
        rows = f"SELECT * FROM {prefix}_rows"
        number = f"SELECT CAST(row_number() OVER (ORDER BY {by}) - 1 AS INTEGER) AS n, {by}"
        run(f"CREATE TEMP TABLE {prefix}_groups AS {number} FROM (SELECT DISTINCT {by} FROM {prefix}_rows)")
    join = "JOIN" if held == ("m",) else "SEMI JOIN"
    known = f" {join} {prefix}_known USING ({own}{keys})" if plan.public else ""
    value = ", v" if question.value is not None else ""
    rows = f"SELECT u, n, {', '.join(held)}{value} FROM ({rows}) AS found JOIN {prefix}_groups USING ({by}){known}"
    return _keep_groups(rows, grouping, f"{prefix}_groups")


def _list_groups(plan: Plan, grouping: Grouping) -> str:
    """(n, key) of the public keys."""
    return _listing([(n, *key) for n, key in enumerate(plan.groups or ())], ["n", *grouping.keys], plan)


def _listing(rows: Sequence[Row], names: Sequence[str], plan: Plan) -> str:
    """A public list as a table, in the kinds of its columns."""
    kinds = (TYPES[plan.forms[name]] if name in plan.forms else "INTEGER" for name in names)
    columns = zip(zip(*rows, strict=True), kinds, names, strict=True)
    return f"SELECT {', '.join(unnest(cells, kind, name) for cells, kind, name in columns)}"


def _keep_groups(rows: str, grouping: Grouping, groups: str) -> tuple[list[str], str]:
    """(the parts of a WITH, the last of them): the rows (u, n, ..) of the groups in which each user counts.

    `groups` is a table of (n, key).
    """
    parts = [f"found AS MATERIALIZED ({rows})"]
    if grouping.listed is not None and grouping.per_user >= len(grouping.listed):
        return parts, "found"
    order = f"many DESC, {_hash(grouping.salt, ('u', *grouping.keys))}, {', '.join(grouping.keys)}"
    place = f"row_number() OVER (PARTITION BY u ORDER BY {order}) AS place"
    parts += [
        "places AS MATERIALIZED (SELECT u, n, count(*) AS many FROM found GROUP BY u, n)",
        f"several AS (SELECT u FROM places GROUP BY u HAVING count(*) > {grouping.per_user})",
        f"ranked AS (SELECT u, n, {place} FROM places SEMI JOIN several USING (u) JOIN {groups} USING (n))",
        f"dropped AS (SELECT u, n FROM ranked WHERE place > {grouping.per_user})",
        "kept AS (SELECT * FROM found ANTI JOIN dropped USING (u, n))",
    ]
    return parts, "kept"


def _hash(salt: str, columns: Sequence[str]) -> str:
    """The hash by which a user's items, or groups, are put into an order (question.py)."""
    texts = ", ".join(f"CAST({column} AS VARCHAR)" for column in columns)
    return f"md5(concat_ws(chr({ord(BETWEEN)}), '{salt}', {texts}))"


def cap_items(pairs: str, keys: Sequence[str], cap: Cap, within: Sequence[str] = ()) -> str:
    """Scores and weights of what each user keeps (question.py), in each group if the pairs are `within` groups."""
    items, user = ", ".join((*within, *keys)), ", ".join(("u", *within))
    order = f"ORDER BY {_hash(cap.salt, ('u', *keys))}, {', '.join(keys)}"
    ranked = f"SELECT {items}, row_number() OVER (PARTITION BY {user} {order}) <= {cap.most} AS keeps"
    if not cap.weighted:
        return f"SELECT {items}, count(*) AS score FROM ({ranked} FROM ({pairs})) WHERE keeps GROUP BY {items}"
    ranked += f", count(*) OVER (PARTITION BY {user}) AS held"
    weight = f"CAST(floor(sqrt(floor({float(UNIT**2)!r}::DOUBLE / least(held, {cap.most})))) AS BIGINT)"
    total = f"CAST(coalesce(sum({weight}) FILTER (WHERE keeps), 0) AS BIGINT) AS weight"
    only = " WHERE keeps" if cap.caps_scores else ""
    return f"SELECT {items}, count(*) AS score, {total} FROM ({ranked} FROM ({pairs})){only} GROUP BY {items}"


def _aggregate(rows: str, columns: Sequence[str], question: Question) -> str:
    """Distinct users, or clipped sums, for each combination of these columns."""
    keys = ", ".join(columns)
    if question.clip is None:
        return f"SELECT {keys}, count(DISTINCT u) AS score FROM {rows} GROUP BY {keys}"
    clip, most = question.clip, SATURATED * question.clip.grid  # held first, so that no quotient overflows
    value = f"least(greatest(v, {-most!r}::DOUBLE), {most!r}::DOUBLE) / {clip.grid!r}::DOUBLE"
    within = _clamp(f"sum(CAST(floor({value} + 0.5::DOUBLE) AS BIGINT))", clip.low, clip.high)
    users = f"SELECT {keys}, {within} AS part FROM {rows} GROUP BY u, {keys}"
    return f"SELECT {keys}, {_clamp('sum(part)', -LARGEST, LARGEST)} AS score FROM ({users}) GROUP BY {keys}"


def _clamp(total: str, low: int, high: int) -> str:
    return f"CAST(least(greatest({total}, {low}), {high}) AS BIGINT)"


@dataclass(slots=True, eq=False, repr=False)
class Rows(Aggregate):
    """Tables that DuckDB holds, a histogram's `Aggregate`: PREFIX_held (n, item, score), perhaps with weights, where an
    item is its m if it has one; PREFIX_groups (n, key); PREFIX_known (m, item) in order, with n where each group has
    its own candidates."""

    run: Run
    prefix: str
    held: tuple[str, ...]
    """What an item is in the table of scores: its m, or its own columns."""

    def classes(self, column: Column) -> Sizes:
        some = " WHERE weight > 0" if column == "weight" else ""
        rows = self.run(f"SELECT n, {column}, count(*) FROM {self.prefix}_held{some} GROUP BY n, {column}")
        classes = np.array(rows, np.int64).reshape(-1, 3)
        return classes[:, 0], classes[:, 1], classes[:, 2]

    def find(self, wanted: Sequence[tuple[int, ...]], column: Column, shown: tuple[str, ...], zero: bool) -> list[Row]:
        """Some of them at a time, for whole classes are put in order."""
        numbered = self._zeros() if zero else self._rank_class(column)
        named = f" JOIN {self.prefix}_known USING (m)" if self.held == ("m",) and not zero else ""
        rows: list[Row] = []
        for start in range(0, len(wanted), AT_ONCE):
            cells = zip(*wanted[start : start + AT_ONCE], strict=True)
            columns = zip(cells, ("place", "n", column, "rank"), strict=True)
            table = ", ".join(unnest(part, "BIGINT", name) for part, name in columns)
            rows += self.run(
                f"WITH wanted AS MATERIALIZED (SELECT {table}) SELECT place, {', '.join(shown)} FROM ({numbered}) AS "
                f"numbered JOIN wanted USING (n, {column}, rank){named}"
            )
        return rows

    def find_keys(self, groups: Sequence[int], key: tuple[str, ...]) -> list[Row]:
        table = f"{self.prefix}_groups SEMI JOIN (SELECT {unnest(groups, 'BIGINT', 'n')}) USING (n)"
        return self.run(f"SELECT n, {', '.join(key)} FROM {table}")

    def _rank_class(self, column: Column) -> str:
        """Everything in the classes that are wanted, by rank."""
        rank = f"row_number() OVER (PARTITION BY n, {column} ORDER BY {', '.join(self.held)}) AS rank"
        classes = f"(SELECT DISTINCT n, {column} FROM wanted)"
        return f"SELECT *, {rank} FROM {self.prefix}_held SEMI JOIN {classes} USING (n, {column})"

    def _zeros(self) -> str:
        """What nobody has, of the candidates of the groups that are wanted, by rank."""
        some, known = "(SELECT DISTINCT n FROM wanted)", f"{self.prefix}_known"
        offered = f"{known} SEMI JOIN {some} USING (n)" if self.plan.own else f"{known} CROSS JOIN {some}"
        items, held = ", ".join(self.plan.question.keys), ", ".join(self.held)
        left = f"SELECT n, m, {items} FROM {offered} ANTI JOIN {self.prefix}_held USING (n, {held})"
        return f"SELECT *, 0 AS score, row_number() OVER (PARTITION BY n ORDER BY m) AS rank FROM ({left})"


def run_votes(execute: Callable[[str], Any], source: Source, plan: Plan) -> list[Placed]:
    """Return the votes of every group; where memory is too short for lists, by windows, which go to the disk."""
    for lists in (True, False):
        try:
            columns = execute(vote_statement(source, plan, lists)).fetchnumpy()
        except Exception as error:
            if not lists or type(error).__name__ != "OutOfMemoryException":
                raise
        else:
            break
    counts = {name: np.asarray(cells, np.int64) for name, cells in columns.items()}
    if "packed" in counts:
        packed = counts["packed"]
        packed.sort()
        return [add_places(packed >> BITS, packed & (PACKED - 1))]
    groups = counts.get("n", np.zeros_like(counts["i"]))
    return split_by_group(groups, counts["i"], counts["w"], plan.number or 0)


def vote_statement(source: Source, plan: Plan, lists: bool = True) -> str:
    """(n, i, w), groups, places and weights, added up; or places and weights packed into one number each."""
    question, grouping, grid = plan.question, plan.question.grouping, plan.question.grid
    assert grid is not None
    user, group, parts = "" if question.user is None else "u, ", "", list[str]()
    rows = _decode(_rows_of(source, plan), _undecoded(source, plan))
    join = "" if grouping is None else f" JOIN listed USING ({', '.join(grouping.keys)})"
    if grouping is not None:
        group, parts = "n, ", [f"listed AS MATERIALIZED ({_list_groups(plan, grouping)})"]
    rows = f"SELECT {user}{group}{_place(question.adds, grid)} AS i FROM ({rows}){join}"
    if question.user is None:
        votes = f"SELECT {group}i, 1 AS w FROM ({rows})"
    else:
        if grouping is not None:
            steps, last = _keep_groups(rows, grouping, "listed")
            parts, rows = [*parts, *steps], f"SELECT * FROM {last}"
        parts.append(f"r AS MATERIALIZED ({rows})")
        more, votes = _votes(question, grid, lists, "u, n" if group else "u", group)
        parts += more
    before = f"WITH {', '.join(parts)} " if parts else ""
    if grid.size > WIDE and not group:  # hardly two rows have one place: numpy sorts faster than any engine groups
        return f"{before}SELECT CAST(i * {PACKED} + w AS BIGINT) AS packed FROM ({votes})"
    return f"{before}SELECT {group}i, CAST(sum(w) AS BIGINT) AS w FROM ({votes}) GROUP BY {group}i HAVING sum(w) > 0"


def _place(adds: bool, grid: Grid) -> str:
    """The place of a value v on the grid, or whole steps where they are added up."""
    low, high, step = (f"{end!r}::DOUBLE" for end in grid.ends)
    if adds:
        clamped = f"least(greatest(v / {step}, {-2.0 * FARTHEST!r}::DOUBLE), {2.0 * FARTHEST!r}::DOUBLE)"
        return f"CAST(floor({clamped} + 0.5::DOUBLE) AS BIGINT)"
    place = f"floor((least(greatest(v, {low}), {high}) - {low}) / {step} + 0.5::DOUBLE)"
    return f"CAST(least(greatest({place}, 0), {grid.size - 1}) AS BIGINT)"


def _votes(question: Question, grid: Grid, lists: bool, user: str, group: str) -> tuple[list[str], str]:
    """(more parts of a WITH, the votes): (i, w) of every user from r(u, i), by that user's rows alone, in the order of
    places. Of groups (n, i, w), from r(u, n, i)."""
    rows = f"FROM r SEMI JOIN (SELECT {user} FROM p WHERE held > 1) AS more USING ({user})"
    if lists:  # far faster than windows, but of lists all must fit into memory
        sorted_rows = f"SELECT {group}list_sort(list(i)) AS own {rows} GROUP BY {user}"
        parts = "unnest(own) AS i, generate_subscripts(own, 1) AS j, len(own) AS held"
        rank = f"SELECT {group}{parts} FROM ({sorted_rows})"
    else:
        order = f"row_number() OVER (PARTITION BY {user} ORDER BY i) AS j"
        rank = f"SELECT {group}i, {order}, count(*) OVER (PARTITION BY {user}) AS held {rows}"
    users = f"SELECT {user}, count(*) AS held, min(i) AS i FROM r GROUP BY {user}"
    own = {
        "min": "min(i)",
        "max": "max(i)",
        "mean": "CAST(sum(i) // count(*) AS BIGINT)",
        "sum": f"CAST(least(greatest(sum(i) + {grid.start}, 0), {grid.size - 1}) AS BIGINT)",
    }
    if question.per_user in own:
        return [], f"SELECT {group}{own[question.per_user]} AS i, 1 AS w FROM r GROUP BY {user}"
    whole = question.share
    weight, some = f"{whole} * j // held - {whole} * (j - 1) // held", ""
    if question.per_user == "median":
        weight, some = "1", " WHERE j = (held + 1) // 2"
    several = f"SELECT {group}i, {weight} AS w FROM ({rank}){some}"
    return [f"p AS MATERIALIZED ({users})"], f"SELECT {group}i, {whole} AS w FROM p WHERE held = 1 UNION ALL {several}"
