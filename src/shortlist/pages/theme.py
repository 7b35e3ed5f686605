"""What all pages share."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from shortlist._runtime import version
from shortlist._text import terminal_safe
from shortlist.accounting.guarantees import Guarantee
from shortlist.pages.summary import Risk, caution, in_short, percent


def asset(name: str | Path) -> str:
    """Return the text of a style sheet or script: "pages/base.css" is in `pages/assets`; other files have a path."""
    if isinstance(name, Path):
        return name.read_text(encoding="utf-8")
    folder, _, file = name.partition("/")
    return Path(str(files("shortlist") / folder / "assets" / file)).read_text(encoding="utf-8")


def page(
    *,
    title: str,
    body: str,
    styles: tuple[str | Path, ...] = ("pages/base.css",),
    scripts: tuple[str | Path, ...] = (),
    data: dict[str, Any] | None = None,
    talks: bool = False,
) -> str:
    """A whole page. Its policy lets it run its own scripts, fetch nothing and send nothing.

    Parameters
    ----------
    title
        Of the window; plain text.
    body
        HTML.
    styles, scripts
        Assets of the package by name, or files.
    data
        For the scripts, as JSON in elements named by the keys.
    talks
        Whether it may ask the server it came from.
    """
    code, style = "\n".join(map(asset, scripts)), "\n".join(map(asset, styles))
    origin = f"'sha256-{base64.b64encode(sha256(code.encode()).digest()).decode()}'" if code else "'none'"
    talk = " connect-src 'self';" if talks else ""
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {origin}; img-src data:;{talk} base-uri 'none'"
    element = '<script type="application/json" id="{}">{}</script>\n'
    elements = "".join(element.format(escape(name), encode_json(value)) for name, value in (data or {}).items())
    script = f"<script>{code}</script>" if code else ""
    words = {"title": escape(title), "style": style, "body": body, "elements": elements, "script": script}
    return Template(asset("pages/page.html")).substitute(policy=f"{policy}; form-action 'none'", **words)


def encode_json(value: Any) -> str:
    """JSON that cannot end the element it stands in."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def document(mark: str, heading: str, lead: str, parts: Sequence[str], footer: str, *styles: str) -> str:
    """A page to hand on: a heading, a first sentence, parts and a last sentence, as HTML but for the heading."""
    body = [
        f'<main>\n<header class="top"><p class="mark">shortlist · {mark}</p><h1>{page_safe(heading)}</h1>',
        f'<p class="lead">{lead}</p></header>',
        *parts,
        f'</main>\n<footer><p class="note">Written by shortlist {page_safe(version())}{footer}</p></footer>',
    ]
    return page(title=heading, body="\n".join(body), styles=("pages/base.css", "pages/release.css", *styles))


def warning(text: str) -> str:
    """A text as HTML that nobody may overlook; empty if there is none."""
    return f'<p class="warning" role="note">{text}</p>' if text else ""


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]], kind: str = "") -> str:
    """A table of plain texts, in a box that scrolls by itself where the page is narrow."""
    heads, tags = [escape(word) for word in head], [f'<td data-label="{escape(word)}">' for word in head]
    cells = [[f"{tag}{escape(cell)}</td>" for tag, cell in zip(tags, row, strict=True)] for row in rows]
    return _grid([f'<th scope="col">{word}</th>' for word in heads], cells, f'class="{kind}"')


def _grid(heads: Sequence[str], rows: Sequence[Sequence[str]], how: str = "") -> str:
    """A table of cells that are HTML already."""
    body = "".join(f"<tr>{''.join(cells)}</tr>" for cells in rows)
    return f"<table{how and ' '}{how}><thead><tr>{''.join(heads)}</tr></thead><tbody>{body}</tbody></table>"


LIST = "pages/references.json"
BIBTEX = {"article": ("article", "journal"), "conference-paper": ("inproceedings", "booktitle")}
"""The kind of an entry and the field of its venue; all others are `misc` with a note."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One publication; identifiers that are not known for sure are left out."""

    key: str
    type: str
    """As the Citation File Format has it."""
    authors: tuple[str, ...]
    """Each as "Family, Given", or one name."""
    title: str
    venue: str
    year: int | None = None
    doi: str = ""
    arxiv: str = ""
    url: str = ""

    @property
    def bibtex(self) -> str:
        """Its entry for BibTeX."""
        kind, field = BIBTEX.get(self.type, ("misc", "note"))
        fields: dict[str, Any] = {"author": " and ".join(self.authors), "title": f"{{{self.title}}}", "year": self.year}
        fields |= {field: self.venue, "doi": self.doi, "eprint": self.arxiv}
        fields |= {"archiveprefix": "arXiv" if self.arxiv else "", "url": self.url}
        lines = [f"  {name:13} = {{{value}}}," for name, value in fields.items() if value]
        return "\n".join([f"@{kind}{{{self.key},", *lines, "}"])


@cache
def references() -> dict[str, Reference]:
    """All of them by key."""
    table: dict[str, dict[str, Any]] = json.loads(asset(LIST))["references"]
    return {key: Reference(key=key, **row | {"authors": tuple(row["authors"])}) for key, row in table.items()}


@cache
def mechanisms() -> tuple[tuple[str, str, tuple[Reference, ...]], ...]:
    """How the names of a mechanism begin, with # for every number; its page in the docs; where it comes from."""
    rows = json.loads(asset(LIST))["mechanisms"]
    return tuple((row["name"], row["page"], tuple(references()[key] for key in row["sources"])) for row in rows)


def sources(mechanism: str) -> tuple[Reference, ...]:
    """Where the mechanism with that name in a release comes from; nothing for a name that is not ours.

    >>> [one.key for one in sources("joint top-10")], sources("counted by hand")
    (['gillenwater2022'], ())
    """
    name = re.sub(r"\d+", "#", mechanism)
    begins = [row for row in mechanisms() if name.startswith(row[0])]
    return max(begins, key=lambda row: len(row[0]))[2] if begins else ()


def caution_in(guarantee: Guarantee) -> str:
    """A gentle warning of an epsilon that promises little; empty for others."""
    return warning(page_safe(caution(guarantee)))


def price_in(guarantee: Guarantee) -> str:
    """What was paid, on one line of the page."""
    return f'<span class="whole">{page_safe(in_short(guarantee))}</span>'


def risk_box(bounds: Risk, before: str, after: str) -> str:
    """Return the probabilities as HTML; `before` and `after` are the labels of the two bars, as HTML."""
    bars = "".join(
        f'<div class="row {kind}"><span>{words}</span><b>{percent(chance)}</b>'
        f'<div class="bar"><i style="width:{100 * chance:.1f}%"></i></div></div>'
        for words, chance, kind in ((before, 0.5, ""), (after, bounds.guess, "after"))
    )
    priors = [(percent(prior), percent(posterior)) for prior, posterior in bounds.posterior]
    rates = [(f"{rate:.0%}", percent(power)) for rate, power in bounds.power]
    heads = ("prior probability that the user is in the data", "posterior, at most")
    posterior = table(heads, priors) if priors else ""
    power = table(("false positive rate of an attack", "true positive rate, at most"), rates)
    return f'<div class="risk keep">{bars}{posterior}{power}</div>'


def meter(share: float) -> str:
    """How much of a budget is booked."""
    return (
        f'<div class="meter" role="img" aria-label="{share:.0%} of the budget is spent">'
        f'<i style="width:{100 * share:.1f}%"></i></div>'
    )


def facts(rows: list[tuple[str, str]]) -> str:
    """Names and texts side by side, as HTML."""
    return '<dl class="facts">' + "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows) + "</dl>"


BAR = "display:inline-block;height:.7em;background:#0f766e;vertical-align:baseline;margin-right:.5em"
CELL = "text-align:left;padding:.15em .8em .15em 0;vertical-align:top"
WHOLE = "white-space:nowrap"
"""For numbers, which go below their bars where there is no room beside them. Names may need several lines, and break
anywhere if they must: a card fits a phone."""
SCROLLS, TEXT = "overflow-x:auto", "max-width:46em"
COLLAPSED = 'style="border-collapse:collapse"'
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
    lengths = [value if isinstance(value, int | float) and value > 0 else 0.0 for value in values or ()]
    most = max(lengths, default=0.0)
    bars = [WIDEST * one / most for one in lengths] if 0 < most < math.inf else []
    heads = [f'<th style="{HEAD}">{page_safe(name)}</th>' for name in columns]
    many = range(max(map(len, columns.values()), default=0))
    rows = [[_cell(name, cells[row], bars[row : row + 1]) for name, cells in columns.items()] for row in many]
    rest = "".join(f"<p>{page_safe(line)}</p>" for line in more)
    return (
        f'<div style="overflow-wrap:anywhere"><div style="{SCROLLS}">'
        f"{_grid(heads, rows, COLLAPSED)}</div>"
        f'<p style="{TEXT}"><b>{page_safe(summary)}</b></p>'
        f"{_lines(remarks)}"
        f'<details style="{TEXT}"><summary>how it was made</summary>{rest}</details></div>'
    )


def _cell(name: str, cell: str, bars: Sequence[float]) -> str:
    """A cell of a card; on a phone its bar is no longer than an eighth of it."""
    width = [f"max-width:{2 * letters:.2f}vw;width:{letters:.2f}em" for letters in bars if name == "value"]
    bar = "".join(f'<span style="{BAR};{one}"></span>' for one in width)
    text, is_number = page_safe(cell), len(cell) <= MOST and not any(map(str.isalpha, cell))
    whole = f'<span style="{WHOLE}">{text}</span>' if is_number else text
    return f'<td style="{CELL}">{bar}{whole}</td>'


def _lines(texts: Sequence[str]) -> str:
    return "".join(f'<p style="{TEXT}">{page_safe(text)}</p>' for text in texts)


def print_table(table: str, above: Sequence[str] = (), below: Sequence[str] = ()) -> str:
    """A table as it is printed, which scrolls where it is too wide, between lines that wrap."""
    return f'<div>{_lines(above)}<pre style="{SCROLLS};white-space:pre">{escape(table)}</pre>{_lines(below)}</div>'


def page_safe(text: str) -> str:
    """A text as part of an HTML page."""
    return escape(terminal_safe(text))


def html_table(columns: Mapping[str, Sequence[str]], lines: Sequence[str]) -> str:
    """A table of these texts as part of a page, and lines below it."""
    rows = [[f"<td>{page_safe(cell)}</td>" for cell in row] for row in zip(*columns.values(), strict=True)]
    below = "".join(f"<p>{page_safe(line)}</p>" for line in lines)
    return f"{_grid([f'<th>{page_safe(name)}</th>' for name in columns], rows)}{below}"


PASSWORDS = re.compile(r"(:/{1,2}[^\s:@/]*:)\S*@|(\b(?:ssl)?password\s*=\s*)[^\s&'\"]+", re.IGNORECASE)
"""What stands behind a user's name in an address, and behind the word; as far as it may go."""


def without_passwords(text: str) -> str:
    """The same where it repeats the address of a server, without what may be a password in it.

    >>> without_passwords("there is no postgresql://anna:secret@db/base?password=secret&name=q4 here")
    'there is no postgresql://anna:...@db/base?password=...&name=q4 here'
    """
    return PASSWORDS.sub(lambda match: f"{match[1]}...@" if match[1] else f"{match[2]}...", text)
