"""Text that may come from strangers, made fit to be shown: on a terminal, on a page, in a spreadsheet.

A label may hold whatever somebody typed. Where it is *shown*, what would act instead of being read is taken out. Where
it is *stored* (JSON, parquet, frames) it stays as it is (docs/release-format.md#what-is-shown).
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from typing import Any

JOINERS = "\u200c\u200d"
"""Parts of words and of pictures in many scripts; they move nothing."""

STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode's classes of control and format characters, half characters, and breaks of lines and paragraphs."""

FORMULA = re.compile(rf"[\s\"{JOINERS}]*[=+\-@＝＋－＠]")
"""So begins what a spreadsheet computes, and which may call other programs; what stands in front may go away."""

NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def terminal_safe(text: str) -> str:
    """On one line, with a space for every character that steers instead of showing.

    These are control characters (escape sequences begin with one), line breaks, the marks that turn the direction of
    writing, other invisible marks, and halves of characters.

    >>> terminal_safe("red \\x1b[31m alert\\nsecond line \\u202etxt.exe")
    'red  [31m alert second line  txt.exe'
    """
    if text.isprintable():  # almost all are
        return text
    return "".join(letter if _shows(letter) else " " for letter in text)


def _shows(letter: str) -> bool:
    return letter in JOINERS or unicodedata.category(letter) not in STEERING


def page_safe(text: str) -> str:
    """The same as part of an HTML page."""
    return escape(terminal_safe(text))


def spreadsheet_safe(cell: object) -> object:
    """A cell of a CSV file that no spreadsheet takes for a formula: numbers and truth values stay what they are.

    Text is made `terminal_safe`; if it then begins like a formula, an apostrophe goes in front, which spreadsheets read
    as "this is text". Where a semicolon separates cells (as in many countries), so does a part after one. Text that is
    a number is left alone.

    >>> [spreadsheet_safe(cell) for cell in ("=1+1", "-5", -5, "@home", "tea")]
    ["'=1+1", '-5', -5, "'@home", 'tea']
    >>> spreadsheet_safe("tea; =1+1")
    "tea;' =1+1"
    """
    if type(cell) in (int, float, bool, type(None)):
        return cell
    text = terminal_safe(str(cell))
    return ";".join(f"'{part}" if _computes(part) else part for part in text.split(";"))


def _computes(cell: str) -> bool:
    return FORMULA.match(cell) is not None and not NUMBER.fullmatch(cell)


def csv_table(columns: Mapping[str, Sequence[object]]) -> str:
    """A table as CSV, every cell `spreadsheet_safe`."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(map(spreadsheet_safe, columns))
    writer.writerows(map(spreadsheet_safe, row) for row in zip(*columns.values(), strict=True))
    return text.getvalue()


def as_texts(columns: Mapping[str, Iterable[Any]], numbers: Collection[str]) -> dict[str, list[str]]:
    """A table as a person reads it: these numbers to six digits, all else fit for a terminal."""
    return {
        name: [f"{cell:.6g}" if name in numbers else terminal_safe(str(cell)) for cell in cells]
        for name, cells in columns.items()
    }


def html_table(columns: Mapping[str, Sequence[str]], lines: Sequence[str]) -> str:
    """A table of these texts as part of a page, and lines below it."""
    head = "".join(f"<th>{page_safe(name)}</th>" for name in columns)
    rows = zip(*columns.values(), strict=True)
    body = "".join("<tr>" + "".join(f"<td>{page_safe(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    below = "".join(f"<p>{page_safe(line)}</p>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def text_table(columns: dict[str, list[str]]) -> str:
    """A table in plain text: the names, a rule, the rows."""
    heads = list(map(terminal_safe, columns))
    widths = [max(map(len, [head, *cells])) for head, cells in zip(heads, columns.values(), strict=True)]
    rows = [heads, ["-" * width for width in widths], *zip(*columns.values(), strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


TOKENS = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|.""", re.DOTALL)
"""Of how a mechanism is written: texts in quotes, and other characters one by one."""
READ, SHOWN = 20_000, 300
"""Characters of it that are read, and shown."""


def without_arguments(mechanism: str) -> str:
    """The names of mechanisms and what they are for, without how they are set.

    >>> without_arguments("k=1 by NoisyMax(budget=PureDP(epsilon=1.0)) for 'CH', 'a (b'; 1 per user")
    "k=1 by NoisyMax for 'CH', 'a (b'; 1 per user"
    """
    shown, depth, before = "", 0, ""
    for token in TOKENS.findall(mechanism[:READ]):
        if token == "(" and (depth or before.isalnum()):
            depth += 1
        elif token == ")" and depth:
            depth -= 1
        elif not depth:
            shown += token
        before = token
    return shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 1]}…"
