"""The report on the five papers: one page from the experiments' records, with sliders, figures and errata."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist._files import write_text
from shortlist._version import version
from shortlist.pages.theme import asset, page, table
from shortlist.reproduce.experiment import PAPERS
from shortlist.reproduce.explore import log_factorials, tables
from shortlist.reproduce.inline_svg import inline_svg

if TYPE_CHECKING:
    from shortlist.reproduce.experiment import Paper
    from shortlist.reproduce.store import Record

Erratum = dict[str, str]
GRAVE = ("UNSOUND", "breach", "FALSE")
BREACH = "A breach: a program that follows the text as printed is not private. A typo may be one of the scan we read."
GOOD = ("CONFIRMED", "SOLVED", "DECIDED", "YES")


def study_page(folder: Path, records: Sequence[Record]) -> str:
    """The whole page, from the records and their pictures in the folder."""
    errata: list[Erratum] = json.loads(asset("reproduce/errata.json"))
    papers = [paper for paper in PAPERS if any(record.paper.key == paper.key for record in records)]
    parts = [
        _contents(papers, records),
        '<main class="study">',
        _top(records, errata),
        _explorer(),
        _headlines(records),
    ]
    for paper in papers:
        own = [record for record in records if record.paper.key == paper.key]
        parts.append(f'<section class="paper" id="{paper.key}"><h2>{escape(paper.title)}</h2>')
        parts.append(f'<p class="note">{escape(paper.authors[:1].upper() + paper.authors[1:])}</p>')
        parts.extend(_experiment(folder, record) for record in own)
        parts.append(_errata(paper.key, "What we found when we checked the paper", errata))
        parts.append("</section>")
    parts += [_across(errata), _made(records), "</main>"]
    grid = {"factorials": [round(one, 9) for one in log_factorials(1000).tolist()], **tables()}
    return page(
        title="Five papers on private selection, reproduced",
        body=f'<div class="frame">{"".join(parts)}</div>',
        styles=("pages/base.css", "reproduce/study.css"),
        scripts=("reproduce/explore.js",),
        data={"tables": grid},
    )


def write_study(folder: Path, records: Sequence[Record]) -> Path:
    """The page in the folder, as `index.html`: the whole of it, or what was there before."""
    path = folder / "index.html"
    write_text(str(path), study_page(folder, records), private=False)
    return path


def _contents(papers: list[Paper], records: Sequence[Record]) -> str:
    rows = [
        '<li><a href="#top">In short</a></li><li><a href="#try">Try it: what a list costs</a></li>'
        '<li><a href="#headlines">The headlines</a></li>'
    ]
    for paper in papers:
        own = [record for record in records if record.paper.key == paper.key]
        inner = "".join(f'<li><a href="#{record.name}">{escape(record.title)}</a></li>' for record in own)
        inner += f'<li><a href="#errata-{paper.key}">Errata</a></li>'
        rows.append(f'<li><a href="#{paper.key}">{escape(_short(paper.title))}</a><ol>{inner}</ol></li>')
    rows.append('<li><a href="#across">Across the papers</a></li><li><a href="#made">How this was made</a></li>')
    return (
        '<nav class="contents screen" aria-label="Contents"><details open><summary>Contents</summary>'
        f"<ol>{''.join(rows)}</ol></details></nav>"
    )


def _short(title: str, most: int = 44) -> str:
    return title if len(title) <= most else title[: most - 1].rsplit(" ", 1)[0] + " …"


def _top(records: Sequence[Record], errata: list[Erratum]) -> str:
    claims = sum(len(record.lines) for record in records)
    grave = sum(_is_grave(one) for one in errata)
    sound = sum(one["verdict"].startswith("CONFIRMED") for one in errata)
    numbers = (
        (f"{len(records)}", "figures and tables redrawn"),
        (f"{claims}", "of their numbers beside ours"),
        (f"{sound}", "statements confirmed"),
        (f"{grave}", "that break privacy or are false as printed"),
    )
    boxes = "".join(f"<div><b>{number}</b><span>{words}</span></div>" for number, words in numbers)
    return (
        '<header class="top" id="top"><p class="mark">shortlist · reproduction</p>'
        "<h1>Five papers on private selection, reproduced</h1>"
        '<p class="lead">What a private list costs, what it risks, and what the papers got wrong. Every figure is '
        "drawn again from our own exact computations; where a paper errs, the correction stands beside it.</p>"
        f'<div class="numbers">{boxes}</div></header>'
    )


def _explorer() -> str:
    sliders = (
        ("epsilon", "Privacy spent, ε", "how much one person may move the odds: less is safer"),
        ("k", "Length of the list, k", "how many of the 1,000 items are released"),
        ("gamma", "Weight, γ", "canonical only: 0 looks at the best item left out, 1 at the worst one kept"),
    )
    rows = "".join(
        f'<div class="slider"><label for="{name}">{title}</label><output id="{name}-out" for="{name}"></output>'
        f'<input type="range" id="{name}" aria-describedby="{name}-help"><small id="{name}-help">{words}</small></div>'
        for name, title, words in sliders
    )
    return (
        '<section id="try"><h2>Try it: what a list costs</h2>'
        "<p>Counts of people, a thousand items, one person added or removed. How often does each mechanism return "
        "exactly the true top k, and how much of it on average? Every value is an exact computation, not a simulation; "
        "between the tabulated ε the log odds are interpolated.</p>"
        '<div class="explorer">'
        '<div class="choices"><label for="shape">Counts</label><select id="shape"></select>'
        '<label for="measure">Shown</label><select id="measure"><option value="0">chance of exactly the true top k'
        '</option><option value="1">expected share of the true top k</option></select>'
        '<p class="note" id="shape-text"></p></div>'
        f'<div class="sliders">{rows}</div>'
        '<div class="chart"><svg id="curves" viewBox="0 0 640 330" role="img" aria-labelledby="says"></svg></div>'
        '<table class="reading"><thead><tr><th scope="col">mechanism</th><th scope="col" class="number">at this ε</th>'
        '<th scope="col" class="number">ε for 99%</th></tr></thead><tbody id="reading"></tbody></table>'
        '<p id="says" class="says" aria-live="polite"></p>'
        "<noscript><p>The sliders need JavaScript, which this page carries with it.</p></noscript></div></section>"
    )


def _headlines(records: Sequence[Record]) -> str:
    """The first line of each experiment, with the way to the rest."""
    head = "".join(f'<th scope="col">{word}</th>' for word in ("what", "paper", "ours"))
    rows = "".join(
        f'<tr><td data-label="what"><a href="#{record.name}">{escape(record.lines[0].what)}</a></td>'
        f'<td data-label="paper">{escape(record.lines[0].paper)}</td>'
        f'<td data-label="ours">{escape(record.lines[0].ours)}</td></tr>'
        for record in records
        if record.lines
    )
    return (
        '<section id="headlines"><h2>The headlines</h2><p>One line of each experiment; the reasons stand '
        f'with its figure.</p><table class="stack headlines"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody>'
        "</table></section>"
    )


def _experiment(folder: Path, record: Record) -> str:
    svg = inline_svg((folder / record.figure).read_text(encoding="utf-8"), record.name, record.title)
    mark = ' <span class="badge badge-warn">generated data</span>' if record.generated else ""
    lines = table(
        ("what", "paper", "ours", "why"), [(line.what, line.paper, line.ours, line.why) for line in record.lines],
        "stack lines",
    )  # fmt: skip
    return (
        f'<article id="{record.name}"><h3>{escape(record.title)}</h3>'
        f'<p class="tags"><span class="badge">{escape(record.shows)}</span>{mark}</p>'
        f'<p class="question">{escape(record.question)}</p>'
        f"<figure>{_box(svg, record.title)}<figcaption><b>What to see.</b> {escape(record.see)}</figcaption></figure>"
        f'<p class="claim"><b>The paper’s claim.</b> {escape(record.claim)}</p>{lines}'
        f'<p class="note">{escape(record.caption)} Numbers: <code>{escape(record.table)}</code>, {record.rows:,} rows. '
        f"Effort: {escape(record.effort)}; seed: {record.seed}; fingerprint: <code>{escape(record.fingerprint)}</code>."
        "</p></article>"
    )


def _box(svg: str, title: str) -> str:
    """A figure that scrolls by itself on a narrow screen; reachable by keyboard, so that it can be scrolled."""
    return f'<div class="box" tabindex="0" role="region" aria-label="{escape(title)}, the figure">{svg}</div>'


def _is_grave(one: Erratum) -> bool:
    return any(word in one["verdict"] for word in GRAVE)


def _errata(key: str, title: str, errata: list[Erratum], level: str = "h3") -> str:
    own = [one for one in errata if one["paper"] == key]
    sound = [one for one in own if one["verdict"] == "CONFIRMED"]
    wrong = sorted((one for one in own if one["verdict"] != "CONFIRMED"), key=lambda one: not _is_grave(one))
    parts = [f'<article id="errata-{key}" class="errata"><{level}>{escape(title)}</{level}>']
    if wrong:
        parts.append(f'<p class="note">{BREACH}</p>{_errata_table(wrong)}')
    if sound:
        more = f"{len(sound)} statements confirmed as they stand"
        parts.append(f"<details><summary>{more}</summary>{_errata_table(sound)}</details>")
    return "".join([*parts, "</article>"])


def _errata_table(rows: list[Erratum]) -> str:
    head = "".join(f'<th scope="col">{word}</th>' for word in ("statement", "verdict", "correction", "evidence"))
    body = "".join(
        f'<tr><td data-label="statement">{escape(one["item"])}</td>'
        f'<td data-label="verdict"><span class="badge {_badge(one)}">{escape(one["verdict"].lower())}</span></td>'
        + "".join(
            f'<td data-label="{word}">{escape(one[word])}</td>' if one[word] else '<td class="none"></td>'
            for word in ("correction", "evidence")
        )
        + "</tr>"
        for one in rows
    )
    return f'<table class="stack"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _badge(one: Erratum) -> str:
    if _is_grave(one):
        return "badge-bad"
    return "badge-good" if one["verdict"].partition(" ")[0] in GOOD else "badge-warn"


def _across(errata: list[Erratum]) -> str:
    return f'<section id="across">{_errata("", "Across the papers", errata, "h2")}</section>'


def _made(records: Sequence[Record]) -> str:
    efforts = sorted({record.effort for record in records})
    seeds = sorted({record.seed for record in records})
    seconds = sum(record.seconds for record in records)
    facts: list[tuple[str, Any]] = [
        ("Command", "<code>shortlist reproduce</code>"),
        ("Version", escape(version())),
        ("Effort", escape(", ".join(efforts) or "none")),
        ("Seed", escape(", ".join(map(str, seeds)) or "none")),
        ("Time", f"{seconds:,.0f} s for {len(records)} experiments"),
        ("Data", f"{sum(record.generated for record in records)} of them on generated data, marked so"),
    ]
    listed = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in facts)
    return (
        f'<section id="made"><h2>How this was made</h2><dl class="facts">{listed}</dl>'
        '<p class="note">One file: it loads nothing and sends nothing. Each figure’s numbers lie beside it as parquet, '
        "its picture as SVG.</p></section>"
    )
