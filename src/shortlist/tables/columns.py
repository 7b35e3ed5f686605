"""The columns of pandas, polars and pyarrow frames in the few kinds that are counted, from their declared types alone.

What narwhals says of a pandas column of objects depends on its cells, so such columns are read here, cell by cell.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from shortlist._arrays import FrameKind
from shortlist.errors import bad_value
from shortlist.tables.column_types import (
    FIRST,
    LAST,
    Kind,
    check_user,
    is_float,
    is_number,
    item_kind,
    kind_of,
    text_of,
)
from shortlist.tables.question import Question
from shortlist.tables.where.conditions import Condition, form_of, readings
from shortlist.tables.where.in_frames import in_frames

OBJECTS = "objects"
"""A pandas column of Python objects or categories: text, cell by cell (`column_types.text_of`)."""

WIDE = {"integer": nw.Int64, "unsigned": nw.UInt64}


def names_of(source: Any, library: FrameKind) -> list[str]:
    """The names of the columns, repeated ones too."""
    if library == "polars":
        return list(source.collect_schema().names())
    return list(source.schema.names if library == "pyarrow" else source.columns)


def declared_types(source: Any, library: FrameKind) -> dict[str, str]:
    """The type of each column by its name, as column_types.py reads it."""
    if library == "polars":
        return {name: _polars_type(str(kind)) for name, kind in source.collect_schema().items()}
    if library == "pyarrow":
        return {field.name: _arrow_type(field.type) for field in source.schema}
    return {name: _pandas_type(kind) for name, kind in zip(source.columns, source.dtypes, strict=True)}


def check_types(types: dict[str, str], question: Question) -> list[Kind]:
    """The kinds of the item columns; refuses what may not be counted."""
    named = by_name(types)
    check_user(question.user, named[question.user])
    condition_of(types, question)
    group_kinds(types, question)
    kinds = [item_kind(item, named[item]) for item in question.items]
    value = question.value
    if value is not None and not is_number(types[value]):
        raise bad_value(f"$value={value!r} must be a column of numbers; convert it first")
    return kinds


def condition_of(types: dict[str, str], question: Question) -> Condition | None:
    """Which rows count, for columns of these types; None for all of them."""
    named = by_name(types)
    return None if question.where is None else question.where.typed(lambda name: form_of(name, named[name]))


def group_kinds(types: dict[str, str], question: Question) -> list[Kind]:
    """The kinds of the columns that make groups, if any do."""
    return [] if question.grouping is None else question.grouping.kinds(by_name(types))


def by_name(types: dict[str, str]) -> dict[str, str]:
    """Columns of objects are read as text."""
    return {name: "string" if kind == OBJECTS else kind for name, kind in types.items()}


def written(types: dict[str, str]) -> set[str]:
    """Columns of objects: what they hold is read as text, whatever it is."""
    return {name for name, kind in types.items() if kind == OBJECTS}


def is_text(declared: str) -> bool:
    """Of a type as `declared_types` has it."""
    return declared == OBJECTS or kind_of(declared) == "text"


def kept_rows(source: Any, library: FrameKind, types: dict[str, str], kinds: list[Kind], question: Question) -> Any:
    """A frame of our own names (u, the keys, v): rows with a missing user, item, key of a group or value dropped."""
    forms = dict(zip(question.labels, [*kinds, *group_kinds(types, question)], strict=True))
    names = {"u": question.user} | question.labels
    names |= {} if question.value is None else {"v": question.value}
    condition = condition_of(types, question)
    read = [] if condition is None else dict.fromkeys((name, form == "float") for name, form in readings(condition))
    looked = {key: f"{'v' if key[1] else 'w'}{n}" for n, key in enumerate(read)}
    frame = own_columns(source, library, types, names | {ours: name for (name, _), ours in looked.items()})
    if condition is not None:
        frame = frame.filter(in_frames(condition, looked))
    wanted = {"u": nw.col("u")}
    if is_float(types[question.user]):
        wanted["u"] = nw.col("u") + 0.0  # one zero
    for key, kind in forms.items():
        wanted[key] = nw.col(key).cast(WIDE[kind]) if kind in WIDE else nw.col(key)
    if question.value is not None:
        wanted["v"] = nw.col("v").cast(nw.Float64)
    rows = frame.select(**wanted).drop_nulls()
    floats = [name for name in ("u", "v") if name in names and (name == "v" or is_float(types[names[name]]))]
    dates = [nw.col(key).is_between(FIRST, LAST) for key, kind in forms.items() if kind == "date"]
    filters = [*(~nw.col(name).is_nan() for name in floats), *dates]
    return rows.filter(*filters) if filters else rows


def own_columns(source: Any, library: FrameKind, types: dict[str, str], names: dict[str, str]) -> Any:
    """A frame of these columns under our own names; those that begin with v are read as floats."""
    if library == "polars":
        import polars as pl

        return nw.from_native(
            source.select(**{ours: _polars(pl.col(name), types[name]) for ours, name in names.items()})
        )
    if library == "pyarrow":
        import pyarrow as pa

        return nw.from_native(
            pa.table({ours: _arrow(source[name], ours.startswith("v")) for ours, name in names.items()})
        )
    import pandas as pd

    columns = {ours: _pandas(source[name], types[name], ours.startswith("v")) for ours, name in names.items()}
    return nw.from_native(pd.DataFrame(columns))


def _polars_type(name: str) -> str:
    return "string" if name.startswith(("Categorical", "Enum")) else name


def _polars(column: Any, declared: str) -> Any:
    """Text by way of its bytes, for only that looks whether they are UTF-8: others could be counted, and not named."""
    import polars as pl

    return column.cast(pl.String).cast(pl.Binary).cast(pl.String) if kind_of(declared) == "text" else column


def _arrow_type(kind: Any) -> str:
    """A dictionary is its values."""
    return str(kind.value_type) if str(kind).startswith("dictionary<") else str(kind)


def _arrow(column: Any, number: bool) -> Any:
    """Decoded, and in types that arrow can group. Numbers are rounded to floats, where its own cast would stop."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if number:
        if pa.types.is_decimal(column.type):  # its own cast is not to the nearest float, as every other engine's is
            column = column.cast(pa.string())
        whole = column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column
        return whole.cast(pa.float64(), safe=False)
    better = {"string_view": pa.large_string(), "date64[ms]": pa.date32()}.get(str(column.type))
    array = column if better is None else column.cast(better, safe=False)
    if str(array.type) in ("string", "large_string"):
        array.validate(full=True)  # bytes that are no UTF-8 could be counted, and not be named
    return array


def _pandas_type(kind: Any) -> str:
    if hasattr(kind, "pyarrow_dtype"):
        return _arrow_type(kind.pyarrow_dtype)
    if hasattr(kind, "categories"):
        within = _pandas_type(kind.categories.dtype)
        return OBJECTS if is_text(within) or kind_of(within) else "categories"
    return {"object": OBJECTS, "str": "string"}.get(str(kind), str(kind))


def _pandas(column: Any, declared: str, number: bool) -> Any:
    import pandas as pd

    if hasattr(column.dtype, "pyarrow_dtype"):
        import pyarrow as pa

        array = _arrow(pa.chunked_array(pa.array(column)), number)
        return pd.Series(pd.arrays.ArrowExtensionArray(array), index=column.index)
    if getattr(column.dtype, "storage", None) == "pyarrow":
        import pyarrow as pa

        _arrow(pa.chunked_array(pa.array(column)), number)  # for its check alone
        return column
    if not is_text(declared):
        return column
    if hasattr(column.dtype, "categories"):
        names = [*(text_of(name) for name in column.cat.categories), None]  # code -1 is the missing one
        cells = np.array(names, object)[column.cat.codes.to_numpy()]
    else:
        cells = [text_of(cell) for cell in column.to_numpy(dtype=object)]
    return pd.Series(cells, index=column.index, dtype="string")


def typed_frame(columns: dict[str, list[Any]], like: Any, library: FrameKind) -> Any:
    """A frame of these cells in the very types of another, for some libraries join no two types of text."""
    if library == "polars":
        import polars as pl

        return pl.DataFrame(columns, schema=like.schema)
    if library == "pyarrow":
        import pyarrow as pa

        return pa.table(columns, schema=like.schema)
    import pandas as pd

    return pd.DataFrame({name: pd.Series(cells, dtype=like.dtypes[name]) for name, cells in columns.items()})


def type_names(items: Any, library: FrameKind) -> list[str]:
    """What the library calls the types of a frame's columns."""
    if library == "pyarrow":
        return list(map(str, items.schema.types))
    return list(map(str, items.dtypes))
