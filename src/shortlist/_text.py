"""Text for people: terminals, tables, advice and near misses."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

JOINERS = "\u200c\u200d"
"""Parts of words and of pictures in many scripts; they move nothing."""

NO_WIDTH = ("Mn", "Me", "Cf")
"""Unicode's classes of marks upon other letters, and of what is not seen."""

STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode's classes of control and format characters, half characters, and breaks of lines and paragraphs."""


def terminal_safe(text: str) -> str:
    """On one line, with a space for every character that steers instead of showing.

    These are control characters (escape sequences begin with one), line breaks, the marks that turn the direction of
    writing, other invisible marks, and halves of characters.

    >>> terminal_safe("red \\x1b[31m alert\\nsecond line \\u202etxt.exe")
    'red  [31m alert second line  txt.exe'
    """
    if text.isprintable():  # almost all are
        return text
    return "".join(letter if is_shown(letter) else " " for letter in text)


def is_shown(letter: str) -> bool:
    return letter in JOINERS or unicodedata.category(letter) not in STEERING


def about(number: float) -> str:
    """A number to three digits, written out.

    >>> about(6312.4), about(14.93), about(0.5)
    ('6,310', '14.9', '0.5')
    """
    return f"{float(f'{number:.3g}'):,.10g}"


def ordinal(n: int) -> str:
    """1st, 2nd, 3rd, 11th.

    >>> ordinal(1), ordinal(11), ordinal(1022)
    ('1st', '11th', '1,022nd')
    """
    last = {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n:,}{'th' if n % 100 in (11, 12, 13) else last}"


NOISY = ("value", "margin", "gap")
"""Columns of noisy numbers, beside the items."""
LEAD, OVER = "lead over next", "over the threshold"
"""What a gap is, where the column says it."""


def as_texts(columns: Mapping[str, Sequence[Any]], numbers: Collection[str] = NOISY) -> dict[str, list[str]]:
    """A table as a person reads it: these numbers to six digits, a margin beside its value, text fit for a terminal.

    Gaps have as many digits as the values beside them.
    """
    shown = {
        name: [f"{cell:,.6g}" if name in numbers and cell is not None else _cell_text(cell) for cell in cells]
        for name, cells in columns.items()
    }
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


def _cell_text(cell: object) -> str:
    return "" if cell is None else terminal_safe(str(cell))


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
    near = round(Fraction(value) / step) * step
    wide = math.ceil(Fraction(half_width) / step + Fraction(1, 2)) * step
    return f"{_decimal(near, digits)} ± {_decimal(wide, digits)} (95%)"


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


def suggest(word: str, known: Iterable[str]) -> str:
    """What somebody may have meant who wrote `word`, as the end of a sentence; empty if nothing is near.

    >>> suggest("epsilom", ["epsilon", "delta"])
    "; did you mean 'epsilon'?"
    >>> suggest("colour", ["epsilon", "delta"])
    ''
    """
    names = list(known)
    alike = [name for name in names if name.strip().casefold() == word.strip().casefold()]
    begun = [name for name in names if len(word) > 2 and name.startswith(word)]
    near = alike or get_close_matches(word, names, n=1, cutoff=0.7) or (begun if len(begun) == 1 else [])
    return f"; did you mean {near[0]!r}?" if near else ""


SAID: dict[str, str] = {
    "sep": "; write separator=",
    "delimiter": "; write separator=",
    "smallest": "; write largest=False",
    "bottom_k": "; write top_k(..., largest=False)",
    "median": "; write quantile(..., q=0.5)",
}
"""What others call it, and what to write here, where that is no near spelling."""


def other_word(word: str, known: Iterable[str], said: Mapping[str, str] = SAID) -> str:
    """What to write instead of a word that is not known, as the end of a sentence; empty if nobody can tell.

    >>> other_word("sep", ["separator"]), other_word("itm", ["item", "user"])
    ('; write separator=', "; did you mean 'item'?")
    """
    names = list(known)
    other = said.get(word, "")
    told = re.match(r"; write (\w+)", other)
    return other if told is not None and told[1] in names else suggest(word, names)


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
