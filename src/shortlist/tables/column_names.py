"""A column that is not there: what to write instead, from names that may be told."""

from __future__ import annotations

from collections.abc import Iterable

from shortlist._text import suggest
from shortlist.errors import bad_value
from shortlist.tables.candidates import known_rows
from shortlist.tables.dialect import separator_hint

NO_NAMES = "; none of the names you gave is in its first line: has the file a line of names?"


def check_there(
    role: str, name: str, names: list[str], wanted: Iterable[str], *, declared: bool = True, as_text: bool = False
) -> None:
    """Refuse a column that is not there, or not once.

    The first line of a text file may be a row of data, so of names that are not `declared` a near one is told only if
    another name that is `wanted` stands there: then it is a line of names. With `as_text` a text may be meant.

    Raises
    ------
    ValueError
        with the name that was written, and what to write instead.
    """
    if names.count(name) == 1:
        return
    all_wanted = list(wanted)
    told = declared or not {*all_wanted}.isdisjoint(names)
    several = role == "item" and told and {part.strip() for part in name.split(",")} <= {*names}
    hints = (
        "; several columns are $item=[...]" if several else "",
        suggest(name, names) if told and name not in names else "",
        "" if declared else separator_hint(names, all_wanted),
        f"; a text goes in single quotes, as in = '{name}'" if as_text else "",
        "; write it as the table does" if told else NO_NAMES,
    )
    said = f"where: {name!r}" if role == "where" else f"{role}={name!r}"
    how, hint = "no column" if name not in names else "more than one column", next(filter(None, hints))
    raise bad_value(f"${said}: the table has {how} of that name{hint}", column=name, hint=hint)


def are_a_candidate(names: tuple[str, ...], candidates: object) -> bool:
    """Whether columns are called like one of the public candidates: the line with their names is then a row of data."""
    return names in known_rows(candidates, names, ["text"] * len(names), names)
