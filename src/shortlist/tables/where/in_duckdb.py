"""Conditions for DuckDB. Values are literals of our own making, and a cell that cannot be read is null, no error."""

from __future__ import annotations

from shortlist._files import as_text, bytewise, literal
from shortlist.tables.column_types import FIRST, LAST
from shortlist.tables.where.conditions import WRITTEN, Condition, Form, Leaf, Missing, Pair, built

TYPES: dict[Form, str] = {
    "text": "VARCHAR", "integer": "BIGINT", "unsigned": "UBIGINT", "float": "DOUBLE", "boolean": "BOOLEAN",
    "date": "DATE", "written number": "DOUBLE", "written date": "VARCHAR",
}  # fmt: skip


def in_duckdb(condition: Condition, columns: dict[str, str]) -> str:
    """The condition over these expressions, one for each column."""

    def leaf(one: Leaf) -> str:
        assert one.form is not None
        cell = _read(columns[one.column], one.form)
        if isinstance(one, Missing):
            return f"({cell} IS {'' if one.yes else 'NOT '}NULL)"
        if isinstance(one, Pair):
            return f"({cell} {one.op} {_read(columns[one.other], one.form)})"
        values = [_value(value, one.form) for value in one.values]
        if len(values) == 1:
            return f"({cell} {one.op} {values[0]})"
        return f"({cell} {'' if one.op == '=' else 'NOT '}IN ({', '.join(values)}))"

    return built(condition, leaf, lambda a, b: f"({a} AND {b})", lambda a, b: f"({a} OR {b})", lambda: "FALSE")


def _value(value: object, form: Form) -> str:
    words = f"CAST({literal(repr(value) if isinstance(value, float) else as_text(value))} AS {TYPES[form]})"
    return bytewise(words) if TYPES[form] == "VARCHAR" else words


def _read(cell: str, form: Form) -> str:
    """Missing floats are missing, and there is one zero. The list is there for the reason told in `sql.is_nan`."""
    if form == "date":
        return f"CASE WHEN {cell} BETWEEN DATE '{FIRST}' AND DATE '{LAST}' THEN {cell} END"
    if form == "float":
        number = f"CAST({cell} AS DOUBLE)"
        return f"CASE WHEN NOT isnan(list_value({number})[1]) THEN {number} + 0.0::DOUBLE END"
    if form not in WRITTEN:
        return bytewise(f"CAST({cell} AS VARCHAR)") if form == "text" else f"CAST({cell} AS {TYPES[form]})"
    like, unlike = map(literal, WRITTEN[form])
    words = f"CAST({cell} AS VARCHAR)"
    read_value = f"TRY_CAST({words} AS DOUBLE) + 0.0::DOUBLE" if form == "written number" else bytewise(words)
    return f"CASE WHEN regexp_matches({words}, {like}) AND NOT regexp_matches({words}, {unlike}) THEN {read_value} END"
