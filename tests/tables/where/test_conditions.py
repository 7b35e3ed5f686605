"""A condition keeps the same rows in every engine, and those that three-valued logic in plain Python keeps."""

import datetime
import math
import random
import re
from fractions import Fraction
from typing import Any

import duckdb
import ibis
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shortlist as sl
from tests.helpers.support import full_size, sized
from tests.tables.tables import found

DAYS = [datetime.date(1, 1, 1), datetime.date(1969, 12, 31), datetime.date(2024, 2, 29), datetime.date(9999, 12, 31)]
TEXTS = [
    "", "a", "A", "é", "e\u0301", "猫", "ß", "z z", "'", '"', "10", "9", "-0", "1e3", "1.50", "01", "+5", " 7", "7\n",
    "inf", "nan", "1e400", "0.1", "0.30000000000000004", "true", "false", "TRUE", "2024-02-29", "2024-2-29",
    "9999-12-31", "2024-13-01", "\x1f", "٣",
]  # fmt: skip
WHOLE = [0, 1, -1, 9, 10, 2**53, 2**53 + 1, -(2**63), 2**63 - 1]
UNSIGNED = [0, 1, 2**53 + 1, 2**63, 2**64 - 1]
REAL = [0.0, -0.0, 0.1, 1.5, -1.5, 1e300, 5e-324, math.inf, -math.inf, math.nan, float(2**53)]
CELLS = {
    "n": st.none() | st.sampled_from(WHOLE),
    "m": st.none() | st.sampled_from(WHOLE),
    "u": st.none() | st.sampled_from(UNSIGNED),
    "f": st.none() | st.sampled_from(REAL),
    "t": st.none() | st.sampled_from(TEXTS),
    "s": st.none() | st.sampled_from(TEXTS),
    "d": st.none() | st.sampled_from(DAYS),
    "b": st.none() | st.booleans(),
}
SCHEMA = {"n": pl.Int64, "m": pl.Int64, "u": pl.UInt64, "f": pl.Float64, "t": pl.String, "s": pl.String, "d": pl.Date,
          "b": pl.Boolean}  # fmt: skip
ROW = st.tuples(*CELLS.values())
OPS = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "!="])
NUMBERS = st.sampled_from([
    "0", "1", "-1", "1.5", "10", "0.1", "9007199254740993", "9223372036854775807", "1e3", "1e20", "0.30000000000000004",
    "-9223372036854775808", "-9223372036854775809", "18446744073709551615",
])  # fmt: skip
PAIRS = [("n", "m"), ("n", "f"), ("u", "f"), ("n", "u"), ("t", "s"), ("d", "d"), ("f", "f")]
QUOTED = st.sampled_from(TEXTS).map(lambda text: "'" + text.replace("'", "''") + "'")
DATED = st.sampled_from(DAYS).map(lambda day: f"DATE '{day.isoformat()}'")
LITERALS = {"n": NUMBERS, "m": NUMBERS, "u": NUMBERS, "f": NUMBERS, "t": NUMBERS | QUOTED | DATED, "s": QUOTED,
            "d": DATED | DATED.map(lambda day: day.removeprefix("DATE "))}  # fmt: skip


TEXT_COLUMNS = ("t", "s")


@st.composite
def leaves(draw, names):
    column = draw(st.sampled_from([*names, "pair"]))
    if column == "pair":
        left, right = draw(st.sampled_from([pair for pair in PAIRS if {*pair} <= {*names}]))
        return ("compare", left, draw(OPS), ("column", right))
    if draw(st.integers(0, 5)) == 0:
        return ("null", column, draw(st.booleans()))
    if column == "b":
        return ("compare", "b", draw(st.sampled_from(["=", "<>"])), draw(st.sampled_from(["TRUE", "FALSE"])))
    some = LITERALS[column]
    way = draw(st.sampled_from(["compare", "mirrored", "in", "between"]))
    if way == "in":
        return ("in", column, draw(st.booleans()), tuple(draw(st.lists(some, min_size=1, max_size=4))))
    if way == "between":
        return ("between", column, draw(st.booleans()), draw(some), draw(some))
    return (way, column, draw(OPS), draw(some))


def trees(names):
    """Conditions on columns of those names."""
    return st.recursive(
        leaves(names),
        lambda inner: st.one_of(
            st.tuples(st.just("not"), inner),
            st.tuples(st.sampled_from(["and", "or"]), inner, inner),
        ),
        max_leaves=5,
    )


TREES = trees((*LITERALS, "b"))


def written(tree):
    match tree:
        case ("not", inner):
            return f"NOT ({written(inner)})"
        case ("and" | "or" as word, one, other):
            return f"({written(one)}) {word} ({written(other)})"
        case ("compare", column, op, ("column", other)):
            return f'{column} {op} "{other}"'
        case ("compare", column, op, literal):
            return f"{column} {op} {literal}"
        case ("mirrored", column, op, literal):
            return f"{literal} {op} {column}"
        case ("in", column, no, literals):
            return f"{column} {'NOT ' * no}in ({', '.join(literals)})"
        case ("between", column, no, low, high):
            return f"{column} {'not ' * no}BETWEEN {low} AND {high}"
        case ("null", column, no):
            return f"{column} IS {'NOT ' * no}NULL"


def truth(tree, row):
    """True, False or None, after Kleene."""
    match tree:
        case ("not", inner):
            return no(truth(inner, row))
        case ("and", one, other):
            return both(truth(one, row), truth(other, row))
        case ("or", one, other):
            return no(both(no(truth(one, row)), no(truth(other, row))))
        case ("compare", column, op, ("column", other)):
            return pair(row[column], op, row[other], SCHEMA[column] == SCHEMA[other])
        case ("compare", column, op, literal):
            return compare(row[column], op, literal)
        case ("mirrored", column, op, literal):
            turned = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
            return compare(row[column], turned.get(op, op), literal)
        case ("in", column, no_, literals):
            answers = [compare(row[column], "=", literal) for literal in literals]
            found_ = True if True in answers else None if None in answers else False
            return no(found_) if no_ else found_
        case ("between", column, no_, low, high):
            inside = both(compare(row[column], ">=", low), compare(row[column], "<=", high))
            return no(inside) if no_ else inside
        case ("null", column, no_):
            return (row[column] is None or row[column] != row[column]) != no_


def no(answer):
    return None if answer is None else not answer


def both(one, other):
    return False if one is False or other is False else None if one is None or other is None else True


def pair(cell, op, other, alike):
    """Two cells, of columns of one type or not: whole numbers with a sign and without meet as floats."""
    if any(one is None or one != one for one in (cell, other)):
        return None
    if not alike:
        cell, other = float(cell), float(other)
    return decided(cell, op, other)


def compare(cell, op, literal):
    """A cell beside a literal; None where one is missing, or a text does not look like what it is compared with."""
    if cell is None or cell != cell:
        return None
    if literal in ("TRUE", "FALSE"):
        return decided(cell, op, literal == "TRUE")
    if literal.startswith("DATE "):
        day = literal.removeprefix("DATE ").strip("'")
        if isinstance(cell, str):
            looks = re.fullmatch("[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])", cell)
            return decided(cell.encode(), op, day.encode()) if looks else None
        return decided(cell.isoformat(), op, day)
    if literal.startswith("'"):
        text = literal[1:-1].replace("''", "'")
        return decided((cell.isoformat() if isinstance(cell, datetime.date) else cell).encode(), op, text.encode())
    if isinstance(cell, str):
        looks = re.fullmatch(r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,2})?", cell)
        return decided(float(cell), op, float(literal)) if looks else None
    if isinstance(cell, float):
        return decided(cell, op, float(literal))
    return decided(Fraction(cell), op, Fraction(literal))


def decided(one, op, other):
    return {"=": one == other, "<>": one != other, "!=": one != other, "<": one < other, "<=": one <= other,
            ">": one > other, ">=": one >= other}[op]  # fmt: skip


DUCK = duckdb.connect()
SOME: dict[str, list[Any]] = {
    "n": WHOLE, "m": WHOLE, "u": UNSIGNED, "f": REAL, "t": TEXTS, "s": TEXTS, "d": DAYS, "b": [True, False],
}  # fmt: skip


def rows_besides(count=80):
    """Cells of every kind and none, drawn once: each condition meets them beside the rows of its example."""
    rng = random.Random(5)
    return [tuple(rng.choice([None, *cells]) for cells in SOME.values()) for _ in range(count)]


BESIDES = rows_besides()


def tables(rows, folder):
    """The rows in every engine, one after another."""
    rows.write_parquet(folder / "rows.parquet")
    arrow = rows.to_arrow()
    yield "parquet", str(folder / "rows.parquet")
    yield "polars", rows
    yield "polars lazy", rows.lazy()
    yield "pandas", rows.to_pandas(use_pyarrow_extension_array=True)
    yield "pyarrow", arrow
    yield "duckdb", DUCK.cursor().from_arrow(arrow)
    yield "ibis", ibis.memtable(arrow)


def kept(source, where):
    """The rows that are kept: each is a person and an item of its own."""
    return set(found(sl.count(source, user="who", item="row", where=where)))


@full_size
@pytest.mark.usefixtures("one_duckdb")
@settings(max_examples=sized(15, full=1500))
@given(rows=st.lists(ROW, min_size=1, max_size=8), tree=TREES)
def test_every_engine_keeps_what_three_valued_logic_keeps(rows, tree, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    frame = pl.DataFrame(rows + BESIDES, schema=SCHEMA, orient="row").with_columns(
        row=pl.int_range(pl.len(), dtype=pl.Int64), who=pl.int_range(pl.len(), dtype=pl.Int64)
    )
    wanted = {number for number, row in enumerate(frame.to_dicts()) if truth(tree, row) is True}
    for engine, table in tables(frame, folder):
        assert kept(table, written(tree)) == wanted, (engine, written(tree))


def as_csv(cell):
    """A cell as our own dialect has it: all fields are text."""
    return "" if cell is None else '"' + str(cell).replace('"', '""') + '"'


@full_size
@pytest.mark.usefixtures("one_duckdb")
@settings(max_examples=sized(12, full=1500))
@given(
    rows=st.lists(st.tuples(CELLS["t"], CELLS["s"]), min_size=1, max_size=8),
    tree=trees(TEXT_COLUMNS),
)
def test_text_files_and_columns_of_objects_keep_the_same(rows, tree, tmp_path_factory):
    rows = rows + [row[4:6] for row in BESIDES]
    lines = [
        "who,row,t,s",
        *(f"{n},{n},{as_csv(t)},{as_csv(s)}" for n, (t, s) in enumerate(rows) if "\n" not in f"{t}{s}"),
    ]
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    path.write_text("\n".join(lines) + "\n", newline="")
    objects = pd.DataFrame([(str(n), str(n), t, s) for n, (t, s) in enumerate(rows)], columns=["who", "row", "t", "s"])
    wanted = {str(n) for n, (t, s) in enumerate(rows) if truth(tree, {"t": t, "s": s}) is True}
    single = {str(n) for n, (t, s) in enumerate(rows) if "\n" not in f"{t}{s}"}
    assert kept(str(path), written(tree)) == wanted & single, written(tree)
    for kind in ("object", "string", "category"):
        assert kept(objects.astype({"t": kind, "s": kind}), written(tree)) == wanted, (kind, written(tree))
