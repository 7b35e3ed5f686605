"""A release inside a notebook: a small table with bars, what came out and what it can give away; the rest on demand.

Colours are those of the notebook, light or dark; styles are inline, for a notebook keeps no sheet of ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from shortlist._text import page_safe

BAR = "display:inline-block;height:.7em;background:#0f766e;vertical-align:baseline;margin-right:.5em"
CELL = "text-align:left;padding:.15em .8em .15em 0;vertical-align:top"
WHOLE = "white-space:nowrap"
"""For numbers, which go below their bars where there is no room beside them. Names may need several lines, and break
anywhere if they must: a card fits a phone."""
SCROLLS, TEXT = "overflow-x:auto", "max-width:46em"
HEAD = f"{CELL};overflow-wrap:normal"
MOST = 30
"""Letters of a number."""
WIDEST = 6.0
"""Of a bar, in letters."""


def card(
    columns: Mapping[str, Sequence[str]],
    values: Sequence[float] | None,
    summary: str,
    more: Sequence[str],
    remarks: Sequence[str] = (),
) -> str:
    """These texts as a table, a bar beside each of the `values`; `summary` and `remarks` below, `more` on demand."""
    lengths = _lengths(values or ())
    head = "".join(f'<th style="{HEAD}">{page_safe(name)}</th>' for name in columns)
    body = "".join(
        "<tr>" + "".join(_cell(name, cell, lengths, row) for name, cell in zip(columns, cells, strict=True)) + "</tr>"
        for row, cells in enumerate(zip(*columns.values(), strict=True))
    )
    rest = "".join(f"<p>{page_safe(line)}</p>" for line in more)
    return (
        f'<div style="overflow-wrap:anywhere"><div style="{SCROLLS}">'
        f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        f'<p style="{TEXT}"><b>{page_safe(summary)}</b></p>'
        f"{_lines(remarks)}"
        f'<details style="{TEXT}"><summary>how it was made</summary>{rest}</details></div>'
    )


def _cell(name: str, cell: str, lengths: Sequence[float], row: int) -> str:
    bar = f'<span style="{BAR};{_long(lengths[row])}"></span>' if name == "value" and row < len(lengths) else ""
    text = page_safe(cell)
    number = len(cell) <= MOST and not any(map(str.isalpha, cell))
    whole = f'<span style="{WHOLE}">{text}</span>' if number else text
    return f'<td style="{CELL}">{bar}{whole}</td>'


def _long(letters: float) -> str:
    """Of a bar: on a phone no longer than an eighth of it."""
    return f"max-width:{2 * letters:.2f}vw;width:{letters:.2f}em"


def _lines(texts: Sequence[str]) -> str:
    return "".join(f'<p style="{TEXT}">{page_safe(text)}</p>' for text in texts)


def printed(table: str, above: Sequence[str] = (), below: Sequence[str] = ()) -> str:
    """A table as it is printed, which scrolls where it is too wide, between lines that wrap."""
    return f'<div>{_lines(above)}<pre style="{SCROLLS};white-space:pre">{escape(table)}</pre>{_lines(below)}</div>'


def _lengths(values: Sequence[float]) -> list[float]:
    numbers = [value if isinstance(value, int | float) and value > 0 else 0.0 for value in values]
    most = max(numbers, default=0.0)
    return [WIDEST * number / most for number in numbers] if 0 < most < float("inf") else []
