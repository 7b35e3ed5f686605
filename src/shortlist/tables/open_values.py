"""A table of values for quantiles, whatever engine it is in."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from shortlist._arrays import FRAMES, Engine, Frame, describe_type
from shortlist._runtime import lazy_import
from shortlist.errors import bad_type
from shortlist.scores import Grid
from shortlist.tables.dialect import TextForm
from shortlist.tables.groups.grouping import plain_key
from shortlist.tables.value_frames import groups_in_frame, look_at_frame, places_in_frame
from shortlist.tables.value_sql import (
    groups_in_files,
    groups_in_relation,
    look_at_file,
    look_at_relation,
    places_in_files,
    places_in_relation,
)
from shortlist.tables.values import Looked, Placed, ValueQuestion

Progress = Callable[[float], None]

OPTIONAL: dict[str, tuple[str, str, str, str, Engine]] = {
    "pyspark": ("shortlist.tables.value_spark", "look_at_spark", "places_in_spark", "groups_in_spark", "spark"),
    "ibis": ("shortlist.tables.value_ibis", "look_at_ibis", "places_in_ibis", "groups_in_ibis", "ibis"),
}
"""Engines whose library may not be there."""


@dataclass(frozen=True, slots=True)
class OpenValues:
    """A table whose names and types alone were looked at."""

    grid: Grid
    frame: Frame | None
    places: Callable[[Progress | None], list[Placed]]
    """Reads the rows: the votes of every group, or of all people where there are no groups."""
    keys: tuple[Hashable, ...] = ()
    """The public keys of the groups, in the kinds of their columns."""


def open_values(rows: Any, question: ValueQuestion, memory: str | None, text: TextForm) -> OpenValues:
    """What is public of a table, and how it is read, by the kind of table."""
    family = {kind.__module__.partition(".")[0] for kind in type(rows).__mro__}
    grouped = question.grouping is not None
    if isinstance(rows, str | os.PathLike):
        path = os.fspath(rows)
        files: Any = groups_in_files if grouped else places_in_files
        looked = look_at_file(path, question, memory, text)
        return _opened(question, looked, None, lambda grid, tell: files(path, question, grid, memory, text, tell))
    if memory is not None:
        raise bad_type("$memory is for files; a table in an engine or in memory has its own settings")
    text.check_unused()
    optional = next((OPTIONAL[library] for library in OPTIONAL if library in family), None)
    if optional is not None:
        module, look, place, place_groups, engine = optional
        way = place_groups if grouped else place
        looked = lazy_import(module, look)(rows, question)
        return _opened(question, looked, engine, lambda grid, tell: lazy_import(module, way)(rows, question, grid))
    if family & {"duckdb", "_duckdb"}:
        relation: Any = groups_in_relation if grouped else places_in_relation
        looked = look_at_relation(rows, question)
        return _opened(question, looked, "duckdb", lambda grid, tell: relation(rows, question, grid))
    library = next((kind for kind in FRAMES if kind in family), None)
    if library is not None:
        frame: Any = groups_in_frame if grouped else places_in_frame
        return _opened(question, look_at_frame(rows, question), library, lambda grid, tell: frame(rows, question, grid))
    raise TypeError(
        "rows must be a path, a pandas, polars or pyarrow frame, a DuckDB relation, an Ibis table, a Spark DataFrame, "
        f"or (without user and value) a list of numbers, not {describe_type(rows)}"
    )


def _opened(question: ValueQuestion, looked: Looked, engine: Engine | None, place: Callable[..., Any]) -> OpenValues:
    grid = question.fitted(looked.dated)
    frame = None if engine is None else Frame(engine, looked.types)

    def places(tell: Progress | None) -> list[Placed]:
        votes = place(grid, tell)
        return [votes] if question.grouping is None else votes

    return OpenValues(grid, frame, places, tuple(map(plain_key, looked.keys)))
