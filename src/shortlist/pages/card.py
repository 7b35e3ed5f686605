"""A release inside a notebook: a small table with bars, what came out and what it can give away; the rest on demand.

Colours are those of the notebook, light or dark; styles are inline, for a notebook keeps no sheet of ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shortlist._text import page_safe

BAR = "display:inline-block;height:.7em;background:#0f766e;vertical-align:baseline;margin-right:.5em"
CELL = "text-align:left;padding:.15em .8em .15em 0;vertical-align:top"
WHOLE = ";white-space:nowrap"
"""For numbers; names may need several lines."""
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
    head = "".join(f'<th style="{CELL}">{page_safe(name)}</th>' for name in columns)
    body = "".join(
        "<tr>" + "".join(_cell(name, cell, lengths, row) for name, cell in zip(columns, cells, strict=True)) + "</tr>"
        for row, cells in enumerate(zip(*columns.values(), strict=True))
    )
    rest = "".join(f"<p>{page_safe(line)}</p>" for line in more)
    return (
        f'<div><table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        f'<p style="max-width:46em"><b>{page_safe(summary)}</b></p>'
        f'{"".join(f"""<p style="max-width:46em">{page_safe(remark)}</p>""" for remark in remarks)}'
        f'<details style="max-width:46em"><summary>how it was made</summary>{rest}</details></div>'
    )


def _cell(name: str, cell: str, lengths: Sequence[float], row: int) -> str:
    bar = f'<span style="{BAR};width:{lengths[row]:.2f}em"></span>' if name == "value" and row < len(lengths) else ""
    whole = WHOLE if name in ("rank", "value") else ""
    return f'<td style="{CELL}{whole}">{bar}{page_safe(cell)}</td>'


def _lengths(values: Sequence[float]) -> list[float]:
    numbers = [value if isinstance(value, int | float) and value > 0 else 0.0 for value in values]
    most = max(numbers, default=0.0)
    return [WIDEST * number / most for number in numbers] if 0 < most < float("inf") else []
