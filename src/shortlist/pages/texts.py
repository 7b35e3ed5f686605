"""Releases as people read them: a table, column by column, and its text; and tables of text for other answers."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from shortlist._runtime import lazy_import
from shortlist._text import terminal_safe
from shortlist.pages import summary

if TYPE_CHECKING:
    from shortlist.release import GroupedRelease, Release

NUMBER_COLUMNS = ("rank", "q", "value", "margin", "gap")
"""The columns that are no part of an item; item columns of these names are renamed (`Release.columns`)."""
NO_WIDTH = ("Mn", "Me", "Cf")
"""Unicode's classes of marks upon other letters, and of what is not seen."""
NOISY = NUMBER_COLUMNS[2:]
"""Columns of noisy numbers, beside the items."""
LEAD, OVER = "lead over next", "over the threshold"
"""What a gap is, where the column says it."""

FIGURES = (*NUMBER_COLUMNS, LEAD, OVER)
"""Columns of numbers, as they are shown."""
SHOWN = 12
"""Groups that are printed; all of them are in `to_frame()`."""
SEEDED = "  [seeded randomness: for tests, not private]"


def _own_names(names: Sequence[str], taken: Collection[str], prefix: str) -> list[str]:
    """Return the names of columns, those that are ours or taken with a prefix."""
    own: list[str] = []
    for column in names:
        name = column
        while name in (*NUMBER_COLUMNS, *taken, *own):
            name = f"{prefix} {name}"
        own.append(name)
    return own


def columns_of(release: Release | GroupedRelease, most: int | None = None) -> dict[str, list[Any]]:
    """The released table, column by column; of groups those of the key first, and only the first `most` if given."""
    if not isinstance(release, Mapping):
        return _columns_of_list(release)
    tables = [(key, _columns_of_list(one)) for key, one in list(release.items())[:most]]
    names = list(dict.fromkeys(name for _, table in tables for name in table) or release.item_columns or ("item",))
    keys = _own_names(release.by or ("group",), names, "group")
    cells: dict[str, list[Any]] = {name: [] for name in (*keys, *names)}
    for key, table in tables:
        many = len(next(iter(table.values())))
        parts: Any = key if len(keys) > 1 else (key,)
        for name, part in zip(keys, parts, strict=True):
            cells[name] += [part] * many
        for name in names:
            cells[name] += table.get(name, [None] * many)
    return cells


def _columns_of_list(release: Release) -> dict[str, list[Any]]:
    items, values, margins, gaps = list(release), release.values, release.margins, release.gaps
    if release.q is not None:
        return {"q": release.q, "value": items}
    table: dict[str, list[Any]] = {"rank": list(range(1, len(items) + 1))} if release.ordered else {}
    if release.item_columns:
        names = _own_names(release.item_columns, (), "item")
        table |= {name: [item[n] for item in items] for n, name in enumerate(names)}  # type: ignore[index]
    else:
        table["item"] = items
    if values is not None:
        table["value"] = list(values)
    if margins is not None:
        table["margin"] = [margin.half_width for margin in margins]
    return table if gaps is None else {**table, "gap": list(gaps)}


def texts_of(release: Release | GroupedRelease, most: int | None = None) -> dict[str, list[str]]:
    """The table as a person reads it. What the gaps are leads over replaces "gap", where that is one thing."""
    lists: Collection[Release] = release.values() if isinstance(release, Mapping) else [release]
    noisy = () if any(one.q is not None for one in lists) else NOISY
    shown = as_texts(columns_of(release, most), noisy)
    over = {type(one.evidence).__name__ == "ThresholdGaps" for one in lists if one.gaps is not None}
    head = "gap" if len(over) != 1 else OVER if over.pop() else LEAD
    return {head if name == "gap" and head not in shown else name: cells for name, cells in shown.items()}


def line_of(release: Release | GroupedRelease) -> str:
    """Guarantee, unit of privacy and mechanism, in one line; of groups the guarantee in all of them together."""
    where = ""
    if isinstance(release, Mapping):
        groups = f"{release.groups_per_user} group{'s' * (release.groups_per_user != 1)}"
        where = f" in all groups, who is in {groups} at most,"
    unit = f"{release.guarantee} for one {release.unit} ({release.neighbours}){where} by {release.mechanism}"
    return terminal_safe(unit + ("" if release.secure else SEEDED))


def lines_of(
    release: Release | GroupedRelease, columns: dict[str, list[str]] | None, remarks: Iterable[str] | None
) -> str:
    """A table of these texts, a summary, `remarks`, and one line: guarantee, mechanism, unit."""
    # a key may have a name that is that of numbers no more
    figures = [name for name in FIGURES if not (isinstance(release, Mapping) and name in release.by)]
    table = [text_table(columns or texts_of(release, SHOWN), figures), *([] if columns else _more(release))]
    said = summary.remarks(release) if remarks is None else remarks
    below = [line_of(release), *summary.notes_in_words(release)]
    return "\n".join([*table, "", summary.in_words(release), *said, *below])


def html_of(release: Release | GroupedRelease) -> str:
    """A card for a notebook."""
    values = None if isinstance(release, Mapping) else release.extras.values
    below = [*_more(release), line_of(release), *summary.notes_in_words(release)]
    card = lazy_import("shortlist.pages.theme", "card")
    return str(card(texts_of(release, SHOWN), values, summary.in_words(release), below, summary.remarks(release)))


def _more(release: Release | GroupedRelease) -> list[str]:
    """How many groups are not printed, if any."""
    hidden = len(release) - SHOWN if isinstance(release, Mapping) else 0
    return [f".. and {hidden} more groups"] if hidden > 0 else []


def as_texts(columns: Mapping[str, Sequence[Any]], numbers: Collection[str] = NOISY) -> dict[str, list[str]]:
    """A table as a person reads it: these numbers to six digits, a margin beside its value, text fit for a terminal.

    Gaps have as many digits as the values beside them.
    """
    shown = {name: [_cell_text(cell, name in numbers) for cell in cells] for name, cells in columns.items()}
    if "margin" in numbers and "margin" in shown:
        del shown["margin"]
        shown["value"] = list(map(with_margin, columns["value"], columns["margin"]))
    if "gap" in numbers and "gap" in shown:
        shown["gap"] = _evenly(columns["gap"], columns.get("margin", ()))
    return shown


def _evenly(gaps: Sequence[float | None], margins: Sequence[float | None]) -> list[str]:
    """Gaps to the same digit: that of the margins beside them, or three digits of the largest."""
    sizes = [abs(one) for one in (*margins, *(() if any(margins) else gaps)) if one and math.isfinite(one)]
    digits = (1 if any(margins) else 2) - math.floor(math.log10(max(sizes))) if sizes else 0
    return ["" if gap is None else _to_digit(gap, digits) for gap in gaps]


def _to_digit(number: float, digits: int) -> str:
    step = Fraction(10) ** -digits
    return _decimal(round(Fraction(number) / step) * step, digits) if math.isfinite(number) else f"{number:g}"


def _cell_text(cell: Any, number: bool) -> str:
    return "" if cell is None else f"{cell:,.6g}" if number else terminal_safe(str(cell))


def with_margin(value: float | None, half_width: float | None) -> str:
    """A number and its 95% margin, to two digits of that: whatever the interval holds, the one that is shown holds too.

    Half a step for the rounding of the number is in the margin, so that equal margins are shown alike.

    >>> with_margin(2633.24, 19.4945), with_margin(2872, 415.0), with_margin(0.123456, 0.0301)
    ('2,633 ± 20 (95%)', '2,872 ± 415 (95%)', '0.123 ± 0.031 (95%)')
    """
    if value is None or half_width is None:
        return "" if value is None else f"{value:,.6g}"
    if not (math.isfinite(value) and 0 < half_width < math.inf):
        return f"{value:,.6g} ± {half_width:.6g} (95%)"
    if value == int(value) and half_width == int(half_width):
        return f"{int(value):,} ± {int(half_width):,} (95%)"
    digits = 1 - math.floor(math.log10(half_width))
    step = Fraction(10) ** -digits
    wide = math.ceil(Fraction(half_width) / step + Fraction(1, 2)) * step
    return f"{_to_digit(value, digits)} ± {_decimal(wide, digits)} (95%)"


def _decimal(number: Fraction, digits: int) -> str:
    """A multiple of 10^-digits, written out."""
    if digits <= 0:
        return f"{int(number):,}"
    whole, part = divmod(abs(int(number * 10**digits)), 10**digits)
    return f"{'-' * (number < 0)}{whole:,}.{part:0{digits}d}"


def width(text: str) -> int:
    """How many columns of a terminal it takes: wide letters take two, marks upon others none.

    >>> width("film"), width("映画"), width("e\u0301")
    (4, 4, 1)
    """
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    none = sum(unicodedata.combining(letter) != 0 or unicodedata.category(letter) in NO_WIDTH for letter in text)
    return len(text) + wide - none


def text_table(columns: dict[str, list[str]], right: Collection[str] = ()) -> str:
    """A table in plain text: the names, a rule, the rows; the columns named in `right` end where their names end.

    >>> print(text_table({"item": ["tea", "milk"], "value": ["1,204", "87"]}, right=["value"]))
    item  value
    ----  -----
    tea   1,204
    milk     87
    """
    heads = list(map(terminal_safe, columns))
    widths = [max(map(width, [head, *cells])) for head, cells in zip(heads, columns.values(), strict=True)]
    rows = [heads, ["-" * wide for wide in widths], *zip(*columns.values(), strict=True)]
    ends = [name in right for name in columns]

    def align(cell: str, wide: int, end: bool) -> str:
        blanks = " " * (wide - width(cell))
        return blanks + cell if end else cell + blanks

    return "\n".join("  ".join(map(align, row, widths, ends)).rstrip() for row in rows)
